//! What all requests share: the engine, the store, and how much may be under way at once.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use axum::body::Body;
use axum::http::{Response, StatusCode};
use futures_util::StreamExt;
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::ServeOptions;
use super::answer::{self, Refusal};
use super::signature::Secret;
use crate::archive::Export;
use crate::store::{BlobStore, MemoryStore};
use crate::{Engine, Owner};

pub struct Served {
    engine: Engine,
    pub store: Arc<dyn BlobStore>,
    pub secret: Option<Secret>,
    pub options: ServeOptions,
    requests: Arc<Semaphore>,
    exports: Arc<Semaphore>,
    exporting: Arc<Mutex<HashSet<String>>>,
}

impl Served {
    pub fn new(
        engine: Engine,
        store: Arc<dyn BlobStore>,
        secret: Option<Secret>,
        options: ServeOptions,
    ) -> Self {
        Served {
            engine,
            store,
            secret,
            requests: Arc::new(Semaphore::new(options.requests_at_once)),
            exports: Arc::new(Semaphore::new(options.exports_at_once)),
            exporting: Arc::default(),
            options,
        }
    }

    /// A place among the requests at work, given back when dropped.
    pub fn place(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        self.requests.clone().try_acquire_owned().map_err(|_| {
            Refusal::busy(
                StatusCode::SERVICE_UNAVAILABLE,
                "busy",
                format!(
                    "{} requests are being answered already; try again in a moment",
                    self.options.requests_at_once
                ),
            )
        })
    }

    pub async fn owner(&self, user: &str) -> Result<Owner, Refusal> {
        // No call of this one reads a store.
        let none = Arc::new(MemoryStore::new(false));
        let key = self.call(none, "layout", "key-of", Owner::question(user));
        let key = key.await?;
        let owner = key.as_str().and_then(|key| Owner::of_meta_key(user, key));
        owner.ok_or_else(|| Refusal::internal(format!("the key of a user is {key}")))
    }

    pub async fn call(
        &self,
        store: Arc<dyn BlobStore>,
        interface: &str,
        function: &str,
        arguments: Value,
    ) -> Result<Value, Refusal> {
        let call = self
            .engine
            .call_json(store, interface, function, &arguments);
        let mut answer = call.await.map_err(|error| Refusal::of_call(&error))?;
        if let Some(error) = answer.get("error") {
            let text = |name: &str| error.get(name).and_then(Value::as_str).unwrap_or_default();
            return Err(Refusal::of_contract(text("code"), text("message")));
        }
        Ok(answer["ok"].take())
    }

    async fn in_time<T>(
        &self,
        work: impl Future<Output = Result<T, crate::store::Error>>,
    ) -> Result<T, Refusal> {
        let done = tokio::time::timeout(self.options.deadline, work).await;
        let done = done.map_err(|_| Refusal::late())?;
        done.map_err(|error| Refusal::of_store(&error))
    }

    pub async fn export(
        &self,
        store: Arc<dyn BlobStore>,
        owner: Owner,
    ) -> Result<Response<Body>, Refusal> {
        let question = owner.status_question();
        let status = self.call(store.clone(), "tenants", "status", question);
        if let Ok(status) = status.await
            && let Some(why) = owner.elsewhere(&status)
        {
            return Err(Refusal::new(StatusCode::CONFLICT, "conflict", why));
        }
        let exporting = Exporting::begin(self, &owner.user)?;
        let export = self.in_time(Export::open(store, owner.clone())).await?;
        let export = export.ok_or_else(|| no_user(&owner))?;
        // Kept until the last piece is taken, or nobody takes any more.
        let stream = export.stream().map(move |piece| {
            let _ = &exporting;
            piece
        });
        let name = format!("{}.tar.gz", owner.user);
        Ok(answer::download(stream, "application/gzip", &name))
    }
}

/// A place among the exports, given back when dropped.
struct Exporting {
    user: String,
    users: Arc<Mutex<HashSet<String>>>,
    _place: OwnedSemaphorePermit,
}

impl Exporting {
    fn begin(served: &Served, user: &str) -> Result<Self, Refusal> {
        let place = served.exports.clone().try_acquire_owned().map_err(|_| {
            Refusal::busy(
                StatusCode::SERVICE_UNAVAILABLE,
                "busy",
                format!(
                    "{} exports are under way already; try again later",
                    served.options.exports_at_once
                ),
            )
        })?;
        let users = served.exporting.clone();
        let mut set = users.lock().unwrap_or_else(|lock| lock.into_inner());
        if !set.insert(user.to_owned()) {
            return Err(Refusal::busy(
                StatusCode::TOO_MANY_REQUESTS,
                "too-many",
                "an export of this user is under way already; take that to its end first",
            ));
        }
        drop(set);
        Ok(Exporting {
            user: user.to_owned(),
            users,
            _place: place,
        })
    }
}

impl Drop for Exporting {
    fn drop(&mut self) {
        let mut users = self.users.lock().unwrap_or_else(|lock| lock.into_inner());
        users.remove(&self.user);
    }
}

pub fn no_user(owner: &Owner) -> Refusal {
    let message = format!("there is no data of user {}", owner.user);
    Refusal::new(StatusCode::NOT_FOUND, "not-found", message)
}
