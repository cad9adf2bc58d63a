//! `/api/storage/usage`: what a user takes, by what it is. Counted from lists; writes nothing.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::Owner;
use crate::store::check::error;
use crate::store::{Answer, BlobStore, Error, ErrorCode, ListRequest, Request};

/// The folders below a user that are told apart, and what is in none of them.
const CATEGORIES: [&str; 5] = ["config", "sessions", "workspace", "skills", OTHER];
const OTHER: &str = "other";

/// Objects, and their bytes.
#[derive(Clone, Copy, Default)]
struct Count {
    objects: u64,
    bytes: u64,
}

/// `{"userId", "objects", "sizeBytes", "categories": {"config": {"objects", "sizeBytes"}, …}}`; none where nothing is.
pub async fn usage(store: Arc<dyn BlobStore>, owner: &Owner) -> Result<Option<Value>, Error> {
    let mut counts = CATEGORIES.map(|name| (name, Count::default()));
    let mut request = ListRequest {
        prefix: owner.prefix.clone(),
        delimiter: false,
        start_after: None,
        cursor: None,
        limit: None,
    };
    loop {
        let answer = store.read(vec![Request::List(request.clone())]).await.pop();
        let Some(Answer::Listing(page)) = answer.transpose()? else {
            let message = "a list was answered by something else";
            return Err(error(ErrorCode::Other, message));
        };
        for entry in page.entries {
            let below = entry.key.strip_prefix(&owner.prefix).unwrap_or_default();
            let folder = below.split_once('/').map_or(OTHER, |(folder, _)| folder);
            let at = counts.iter().position(|(name, _)| *name == folder);
            let (_, count) = &mut counts[at.unwrap_or(CATEGORIES.len() - 1)];
            count.objects += 1;
            count.bytes += entry.size_bytes;
        }
        match page.cursor {
            Some(cursor) => request.cursor = Some(cursor),
            None => break,
        }
    }
    let shown = |Count { objects, bytes }: Count| json!({ "objects": objects, "sizeBytes": bytes });
    let objects: u64 = counts.iter().map(|(_, count)| count.objects).sum();
    let bytes: u64 = counts.iter().map(|(_, count)| count.bytes).sum();
    let categories: Map<String, Value> = counts
        .iter()
        .map(|(name, count)| ((*name).to_owned(), shown(*count)))
        .collect();
    Ok((objects > 0).then(|| {
        json!({
            "userId": owner.user,
            "objects": objects,
            "sizeBytes": bytes,
            "categories": categories,
        })
    }))
}
