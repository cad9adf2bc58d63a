//! A user starts: it is created from a template, or what it has is told with the places where it belongs.
//!
//! meta.json is written first, create-only, and says that the user is being created until the whole template is
//! there: so whoever starts meanwhile, or after a stop, goes on with it, and nobody takes half for the whole.

use super::tenant::{Tenant, check_now};
use super::{OpenAnswer, OpenRequest, Placement};
use crate::format::user_meta::{UserMeta, adopted, begun, fresh};
use crate::format::user_state::UserState;
use crate::layout::concept::Concept;
use crate::layout::moltbot::{place_on_disk, placed_prefixes, template_key, user_prefix};
use crate::limits::{
    CONFLICT_TRIES_MAX, PAGES_PER_CALL_MAX, TEMPLATE_BYTES_MAX, TEMPLATE_FILES_MAX,
    TENANT_PROBLEMS_MAX,
};
use crate::ops::problems::Problems;
use crate::protocol::document::{Change, settle};
use crate::store::{Body, Condition, ListRequest, Metered, PutOptions, Store, StoreError};
use crate::types::{Error, Problem, ProblemKind, Result};

pub fn open(store: &dyn Store, request: &OpenRequest) -> Result<OpenAnswer> {
    let store = Metered::new(store);
    let tenant = Tenant::of(&request.home, Concept::Tenants)?;
    check_now(request.now_ms)?;
    let template = check_template(&tenant, request)?;
    let prefixes = placed_prefixes(&tenant.user, request.workspace);
    let from = check_cursor(&prefixes, request.cursor.as_deref())?;
    let mut problems = Problems::up_to(TENANT_PROBLEMS_MAX);
    let created = begin(&store, &tenant, request.now_ms, &template, &mut problems)?;
    let (files, next) = placements(&store, &tenant, &prefixes, from, &mut problems)?;
    Ok(OpenAnswer {
        created,
        files,
        next,
        problems: problems.into_told(),
        cost: store.cost(),
    })
}

/// The template's files by key.
fn check_template<'r>(tenant: &Tenant, request: &'r OpenRequest) -> Result<Vec<(String, &'r str)>> {
    let files = &request.template;
    let bytes: usize = files.iter().map(|file| file.text.len()).sum();
    if files.len() > TEMPLATE_FILES_MAX || bytes > TEMPLATE_BYTES_MAX {
        return Err(Error::too_large(format!(
            "a template of {} files and {bytes} bytes, over {TEMPLATE_FILES_MAX} or {TEMPLATE_BYTES_MAX}; open the \
             user with what it needs to start, and write the rest afterwards",
            files.len()
        )));
    }
    let mut keyed: Vec<(String, &str)> = Vec::new();
    for file in files {
        let key = template_key(&tenant.user, &file.path)?;
        for (other, _) in &keyed {
            let (shorter, longer) = match other.len() < key.len() {
                true => (other, &key),
                false => (&key, other),
            };
            let rest = longer.strip_prefix(shorter.as_str());
            let what = match rest {
                Some("") => "twice",
                Some(rest) if rest.starts_with('/') => "as a file and as a directory",
                _ => continue,
            };
            let shown = shorter.strip_prefix(&user_prefix(&tenant.user));
            return Err(Error::invalid(format!(
                "the template has {:?} {what}",
                shown.unwrap_or(shorter)
            )));
        }
        keyed.push((key, &file.text));
    }
    Ok(keyed)
}

/// Make sure that the user is there, and may start; answers whether it was new.
fn begin(
    store: &Metered<'_>,
    tenant: &Tenant,
    now_ms: u64,
    template: &[(String, &str)],
    problems: &mut Problems,
) -> Result<bool> {
    let meta = match tenant.load(store)? {
        Some((_, meta)) if !is(&meta, UserState::Purged) => meta,
        Some(_) => write_document(store, tenant, now_ms, false)?.0,
        None => {
            let has_files = has_files(store, tenant)?;
            let (meta, written) = write_document(store, tenant, now_ms, has_files)?;
            if has_files && written {
                problems.push(Problem::new(
                    ProblemKind::Repaired,
                    &tenant.meta_key,
                    "the user had files and no meta.json; one was made, the template was not written, and nobody has \
                     counted what there is",
                ));
            }
            meta
        }
    };
    tenant.check_state(&meta, Some(now_ms))?;
    if !is(&meta, UserState::Creating) {
        return Ok(false);
    }
    for (key, text) in template {
        create(store, key, text)?;
    }
    let template_bytes: u64 = template.iter().map(|(_, text)| text.len() as u64).sum();
    settle(store, &tenant.meta_key, "application/json", |current| {
        let body = current.body.ok_or_else(|| tenant.absent())?;
        let (text, meta) = tenant.read(body)?;
        if !is(&meta, UserState::Creating) {
            return Ok(Change::Nothing);
        }
        // Chats may have begun meanwhile.
        let bytes = template_bytes.saturating_add(meta.storage_used_bytes.unwrap_or_default());
        Ok(Change::Write(begun(&text, bytes)?.into_bytes()))
    })?;
    Ok(true)
}

fn is(meta: &UserMeta, state: UserState) -> bool {
    UserState::parse(meta.state.as_deref()) == Some(state)
}

/// Write the document of a user that begins, unless another one is there. Answers the one that is, and whether this
/// call is known to have written it.
fn write_document(
    store: &Metered<'_>,
    tenant: &Tenant,
    now_ms: u64,
    has_files: bool,
) -> Result<(UserMeta, bool)> {
    let user = tenant.user.as_str();
    let mut there = UserMeta::default();
    let edited = settle(store, &tenant.meta_key, "application/json", |current| {
        let text = match current.body {
            None if has_files => adopted(user, now_ms),
            None => fresh(user, now_ms),
            Some(body) => {
                there = tenant.read(body)?.1;
                if !is(&there, UserState::Purged) {
                    return Ok(Change::Nothing);
                }
                fresh(user, now_ms)
            }
        };
        there = UserMeta::parse(&text)?;
        Ok(Change::Write(text.into_bytes()))
    })?;
    Ok((there, edited.changed))
}

/// Whether anything lies there that belongs on disk.
fn has_files(store: &Metered<'_>, tenant: &Tenant) -> Result<bool> {
    let placed = placed_prefixes(&tenant.user, true);
    let mut list = ListRequest {
        prefix: user_prefix(&tenant.user),
        delimiter: true,
        ..ListRequest::default()
    };
    loop {
        let listing = store.list(list.clone())?;
        if listing
            .prefixes
            .iter()
            .any(|prefix| placed.contains(prefix))
        {
            return Ok(true);
        }
        list.cursor = listing.cursor;
        if list.cursor.is_none() {
            return Ok(false);
        }
    }
}

/// Write a file of the template unless one is there.
fn create(store: &Metered<'_>, key: &str, text: &str) -> Result<()> {
    let mut last = None;
    for _ in 0..CONFLICT_TRIES_MAX {
        let options = PutOptions {
            condition: Condition::IfAbsent,
            content_type: key
                .ends_with(".json")
                .then(|| "application/json".to_owned()),
            metadata: Vec::new(),
        };
        match store.put(key, Body::Text(text.to_owned()), options) {
            Ok(_) => return Ok(()),
            Err(error) if error.is_unsure() => last = Some(error),
            Err(error) => return Err(error.about(key)),
        }
        if store.head(key)?.is_some() {
            return Ok(());
        }
    }
    Err(StoreError::given_up(last, key))
}

/// Which prefix a cursor is in; it is the last key of the page before.
fn check_cursor<'c>(
    prefixes: &[String],
    cursor: Option<&'c str>,
) -> Result<Option<(usize, &'c str)>> {
    let Some(cursor) = cursor else {
        return Ok(None);
    };
    let found = prefixes
        .iter()
        .position(|prefix| cursor.starts_with(prefix.as_str()));
    let found = found.map(|at| Some((at, cursor)));
    found.ok_or_else(|| {
        let shown: String = cursor.chars().take(80).collect();
        Error::invalid(format!(
            "{shown:?} is no cursor of this user; pass the `next` that a page gave, with the same `workspace`, or none \
             to begin"
        ))
    })
}

/// What lies below the prefixes, page by page, and where to go on. The first page of each is asked for at once.
fn placements(
    store: &Metered<'_>,
    tenant: &Tenant,
    prefixes: &[String],
    from: Option<(usize, &str)>,
    problems: &mut Problems,
) -> Result<(Vec<Placement>, Option<String>)> {
    let (first, mut after) = from.map_or((0, None), |(at, key)| (at, Some(key.to_owned())));
    let list = |prefix: &String, start_after| ListRequest {
        prefix: prefix.clone(),
        start_after,
        ..ListRequest::default()
    };
    let prefixes = prefixes.get(first..).unwrap_or_default();
    let lists = prefixes.iter().map(|prefix| list(prefix, after.take()));
    let lists: Vec<ListRequest> = lists.collect();
    let mut pages = lists.len();
    let mut files = Vec::new();
    for (prefix, listing) in prefixes.iter().zip(store.lists(lists)?) {
        let mut listing = listing;
        loop {
            let more = listing.cursor.is_some();
            let last = listing.last_key().cloned().filter(|_| more);
            let placed = listing.entries.into_iter().filter_map(|entry| {
                Some(Placement {
                    path: place_on_disk(&tenant.user, &entry.key)?,
                    key: entry.key,
                    size_bytes: entry.size_bytes,
                })
            });
            files.extend(placed);
            let skipped = listing.skipped.into_iter();
            problems.extend(
                skipped
                    .map(|skipped| Problem::new(ProblemKind::Skipped, skipped.key, skipped.cause)),
            );
            match last {
                Some(last) if pages >= PAGES_PER_CALL_MAX => return Ok((files, Some(last))),
                Some(last) => {
                    pages += 1;
                    listing = store.list(list(prefix, Some(last)))?;
                }
                None => break,
            }
        }
    }
    Ok((files, None))
}
