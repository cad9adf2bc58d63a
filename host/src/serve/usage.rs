//! `/api/storage/usage`: what a user takes, by what it is, as the component counts it. Writes nothing.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::answer::Refusal;
use super::served::{Served, no_user};
use crate::Owner;
use crate::store::BlobStore;

/// A page of the component's count.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Page {
    categories: Vec<Category>,
    objects: u64,
    size_bytes: u64,
    stored_bytes: Option<u64>,
    next: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Category {
    category: String,
    objects: u64,
    size_bytes: u64,
}

/// `{"userId", "objects", "sizeBytes", "storedBytes", "categories": {"config": {"objects", "sizeBytes"}, …}}`.
pub async fn usage(
    served: &Served,
    store: Arc<dyn BlobStore>,
    owner: &Owner,
) -> Result<Value, Refusal> {
    let mut cursor: Option<String> = None;
    loop {
        let request = json!({
            "home": { "system": "moltbot", "id": owner.user },
            "cursor": cursor,
            "repair": false,
        });
        let arguments = json!({ "request": request });
        let answer = served
            .call(store.clone(), "tenants", "usage", arguments)
            .await;
        let answer = answer.map_err(|refusal| match refusal.code {
            "not-found" => no_user(owner),
            _ => refusal,
        })?;
        let page: Page = serde_json::from_value(answer)
            .map_err(|error| Refusal::internal(format!("a usage: {error}")))?;
        cursor = page.next.clone();
        if cursor.is_none() {
            return Ok(shown(owner, page));
        }
    }
}

fn shown(owner: &Owner, page: Page) -> Value {
    let categories: Map<String, Value> = page
        .categories
        .into_iter()
        .map(|it| {
            let counted = json!({ "objects": it.objects, "sizeBytes": it.size_bytes });
            (it.category, counted)
        })
        .collect();
    json!({
        "userId": owner.user,
        "objects": page.objects,
        "sizeBytes": page.size_bytes,
        "storedBytes": page.stored_bytes,
        "categories": categories,
    })
}
