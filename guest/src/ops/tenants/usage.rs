//! What a user takes, counted from lists in calls that each have a budget. The figures so far travel in the cursor,
//! so that the last call has counted everything.

use serde::{Deserialize, Serialize};

use super::tenant::Tenant;
use super::{Category, CategoryUsage, UsageAnswer, UsageRequest};
use crate::format::user_meta::counted;
use crate::layout::concept::Concept;
use crate::layout::moltbot::{category_of, user_prefix};
use crate::limits::{TENANT_PROBLEMS_MAX, USAGE_PAGES_DEFAULT, USAGE_PAGES_MAX};
use crate::ops::problems::Problems;
use crate::protocol::document::{Change, settle};
use crate::store::{ListRequest, Metered, Store};
use crate::transform::tier::{Limits, Tier};
use crate::types::{Error, Problem, ProblemKind, Result};

/// A count on its way.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Count {
    /// The last key that was counted; none at the beginning.
    after: Option<String>,
    categories: Vec<CategoryUsage>,
}

impl Count {
    fn begin() -> Self {
        let none = |category| CategoryUsage {
            category,
            objects: 0,
            size_bytes: 0,
        };
        Self {
            after: None,
            categories: Category::ALL.map(none).to_vec(),
        }
    }

    /// `invalid` unless an earlier call for this user answered it.
    fn parse(tenant: &Tenant, cursor: &str) -> Result<Self> {
        let count: Option<Self> = serde_json::from_str(cursor).ok();
        let prefix = user_prefix(&tenant.user);
        let is_whole = |count: &Self| {
            let categories = count.categories.iter().map(|usage| usage.category);
            let after = count.after.as_deref().unwrap_or_default();
            categories.eq(Category::ALL) && after.starts_with(&prefix)
        };
        count.filter(is_whole).ok_or_else(|| {
            let shown: String = cursor.chars().take(80).collect();
            Error::invalid(format!(
                "{shown:?} is no cursor of a count of user {}; pass the `next` that a call gave, or none to begin",
                tenant.user
            ))
        })
    }

    fn add(&mut self, category: Category, size_bytes: u64) {
        let mut categories = self.categories.iter_mut();
        if let Some(usage) = categories.find(|usage| usage.category == category) {
            usage.objects = usage.objects.saturating_add(1);
            usage.size_bytes = usage.size_bytes.saturating_add(size_bytes);
        }
    }

    fn sum(&self, of: impl Fn(&CategoryUsage) -> u64) -> u64 {
        let figures = self.categories.iter().map(of);
        figures.fold(0, u64::saturating_add)
    }
}

pub fn usage(store: &dyn Store, request: &UsageRequest) -> Result<UsageAnswer> {
    let store = Metered::new(store);
    let tenant = Tenant::of(&request.home, Concept::Usage)?;
    let limits = request
        .tier
        .as_ref()
        .map_or(Ok(Limits::default()), Tier::limits)?;
    let mut count = match &request.cursor {
        Some(cursor) => Count::parse(&tenant, cursor)?,
        None => Count::begin(),
    };
    let mut problems = Problems::up_to(TENANT_PROBLEMS_MAX);
    let mut stored_bytes = stored(&store, &tenant, request.repair, &mut problems)?;
    let pages = request.pages.unwrap_or(USAGE_PAGES_DEFAULT);
    let pages = pages.clamp(1, USAGE_PAGES_MAX);
    let is_whole = read_pages(&store, &tenant, pages, &mut count, &mut problems)?;
    let size_bytes = count.sum(|usage| usage.size_bytes);
    let objects = count.sum(|usage| usage.objects);
    if is_whole && objects == 0 {
        return Err(tenant.absent());
    }
    let mut repaired = false;
    if is_whole && request.repair {
        (repaired, stored_bytes) = repair(&store, &tenant, &count)?;
    }
    let next =
        match is_whole {
            true => None,
            false => Some(serde_json::to_string(&count).map_err(|error| {
                Error::invalid(format!("the cursor cannot be written: {error}"))
            })?),
        };
    Ok(UsageAnswer {
        left_bytes: limits.left_bytes(size_bytes).filter(|_| is_whole),
        categories: count.categories,
        objects,
        size_bytes,
        stored_bytes,
        repaired,
        next,
        problems: problems.into_told(),
        cost: store.cost(),
    })
}

/// The figure that stands there. A document that cannot be read is a problem of a count, and an error where the count
/// is to be written into it.
fn stored(
    store: &Metered<'_>,
    tenant: &Tenant,
    repair: bool,
    problems: &mut Problems,
) -> Result<Option<u64>> {
    let found = tenant.get(store)?;
    let read = found.map(|blob| tenant.read(blob.body.as_bytes()));
    match read {
        Some(Ok((_, meta))) => {
            if repair {
                tenant.check_state(&meta, None)?;
            }
            Ok(meta.storage_used_bytes)
        }
        None if repair => Err(tenant.absent()),
        None => Ok(None),
        Some(Err(error)) if repair => Err(error),
        Some(Err(error)) => {
            problems.push(tenant.unreadable(&error.message));
            Ok(None)
        }
    }
}

/// Count up to so many pages; answers whether that was all.
fn read_pages(
    store: &Metered<'_>,
    tenant: &Tenant,
    pages: u32,
    count: &mut Count,
    problems: &mut Problems,
) -> Result<bool> {
    for _ in 0..pages {
        let listing = store.list(ListRequest {
            prefix: user_prefix(&tenant.user),
            start_after: count.after.clone(),
            ..ListRequest::default()
        })?;
        let last = listing.last_key().cloned();
        for entry in &listing.entries {
            count.add(category_of(&tenant.user, &entry.key), entry.size_bytes);
        }
        let skipped = listing.skipped.into_iter();
        problems.extend(
            skipped.map(|skipped| Problem::new(ProblemKind::Skipped, skipped.key, skipped.cause)),
        );
        if listing.cursor.is_none() || last.is_none() {
            return Ok(true);
        }
        count.after = last;
    }
    Ok(false)
}

/// Write what was counted. Whether it was another figure, and the new one.
fn repair(store: &Metered<'_>, tenant: &Tenant, count: &Count) -> Result<(bool, Option<u64>)> {
    let others = count.categories.iter();
    let others = others.filter(|usage| usage.category != Category::Meta);
    let other_bytes = others.fold(0_u64, |sum, usage| sum.saturating_add(usage.size_bytes));
    let mut stored_bytes = None;
    let edited = settle(store, &tenant.meta_key, "application/json", |current| {
        let body = current.body.ok_or_else(|| tenant.absent())?;
        let (text, meta) = tenant.read(body)?;
        tenant.check_state(&meta, None)?;
        let text = counted(&text, other_bytes)?;
        let used = other_bytes.saturating_add(text.len() as u64);
        stored_bytes = Some(used);
        Ok(Change::Write(text.into_bytes()))
    })?;
    Ok((edited.changed, stored_bytes))
}
