//! A store that can only be read, and only below one prefix, under the keys that it has. Everything else is
//! refused before the store inside is asked. Knows nothing of that store.

use std::sync::Arc;

use super::check::error;
use super::key::shown;
use super::*;

pub struct FencedStore {
    inner: Arc<dyn BlobStore>,
    /// With its slash, so that `a/` never covers `ab/`.
    prefix: String,
}

impl FencedStore {
    /// What lies below `prefix`, which ends in a slash.
    pub fn new(inner: Arc<dyn BlobStore>, prefix: String) -> Result<Self, Error> {
        if prefix.ends_with('/') {
            return Ok(FencedStore { inner, prefix });
        }
        let message = format!("the prefix {} does not end in a slash", shown(&prefix));
        Err(error(ErrorCode::Invalid, message))
    }

    fn check(&self, request: &Request) -> Result<(), Error> {
        let asked = match request {
            Request::Get(get) => &get.key,
            Request::Head(key) => key,
            Request::List(list) => &list.prefix,
        };
        if asked.starts_with(&self.prefix) {
            return Ok(());
        }
        let message = format!(
            "{} lies outside {}, which is all that may be read here",
            shown(asked),
            shown(&self.prefix)
        );
        Err(error(ErrorCode::Denied, message))
    }
}

fn read_only(key: &str) -> Error {
    let message = format!("key {}: nothing may be written here", shown(key));
    error(ErrorCode::Denied, message)
}

impl BlobStore for FencedStore {
    fn describe(&self) -> Vec<(String, String)> {
        self.inner.describe()
    }

    /// One request outside the prefix refuses the whole wave: whoever made it asks for what is not his.
    fn read(&self, wave: Vec<Request>) -> BoxFuture<'_, Vec<Result<Answer, Error>>> {
        match wave.iter().try_for_each(|request| self.check(request)) {
            Ok(()) => self.inner.read(wave),
            Err(error) => {
                let refused = wave.iter().map(|_| Err(error.clone())).collect();
                Box::pin(std::future::ready(refused))
            }
        }
    }

    fn put(&self, key: String, _: Body, _: PutOptions) -> BoxFuture<'_, Result<String, Error>> {
        Box::pin(std::future::ready(Err(read_only(&key))))
    }

    fn append(&self, key: String, _: Body, _: u64) -> BoxFuture<'_, Result<u64, Error>> {
        Box::pin(std::future::ready(Err(read_only(&key))))
    }

    fn concat(
        &self,
        _: Vec<Source>,
        to: String,
        _: PutOptions,
    ) -> BoxFuture<'_, Result<String, Error>> {
        Box::pin(std::future::ready(Err(read_only(&to))))
    }

    fn delete(&self, keys: Vec<String>) -> BoxFuture<'_, Vec<Result<(), Error>>> {
        let refused = keys.iter().map(|key| Err(read_only(key))).collect();
        Box::pin(std::future::ready(refused))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(key: &str) -> Request {
        Request::Head(key.to_owned())
    }

    fn list(prefix: &str) -> Request {
        Request::List(ListRequest {
            prefix: prefix.to_owned(),
            delimiter: false,
            start_after: None,
            cursor: None,
            limit: None,
        })
    }

    #[tokio::test]
    async fn nothing_outside_is_asked_for_and_nothing_written() -> Result<(), Error> {
        let inner = Arc::new(MemoryStore::new(true));
        let plain = || check::plain(Condition::Always);
        for key in ["users/a/x", "users/ab/x", "users/b/x"] {
            let body = Body::Text(key.to_owned());
            inner.put(key.to_owned(), body, plain()).await?;
        }
        let fenced = FencedStore::new(inner.clone(), "users/a/".to_owned())?;
        for outside in [
            head("users/ab/x"),
            head("users/a"),
            list("users/"),
            list("users/a"),
            list(""),
            list("users/b/"),
        ] {
            let shown = format!("{outside:?}");
            let wave = vec![head("users/a/x"), outside];
            for answer in fenced.read(wave).await {
                let code = answer.map(drop).map_err(|error| error.code);
                assert_eq!(code, Err(ErrorCode::Denied), "{shown}");
            }
        }
        for answer in fenced.read(vec![head("users/a/x"), list("users/a/")]).await {
            match answer? {
                Answer::Head(stat) => assert!(stat.is_some()),
                Answer::Listing(page) => assert_eq!(page.entries.len(), 1),
                other => panic!("{other:?}"),
            }
        }
        let key = || "users/a/y".to_owned();
        let denied = Some(ErrorCode::Denied);
        let body = || Body::Text("y".to_owned());
        let put = fenced.put(key(), body(), plain()).await;
        assert_eq!(put.err().map(|error| error.code), denied);
        let append = fenced.append(key(), body(), 0).await;
        assert_eq!(append.err().map(|error| error.code), denied);
        let concat = fenced.concat(Vec::new(), key(), plain()).await;
        assert_eq!(concat.err().map(|error| error.code), denied);
        let deleted = fenced.delete(vec!["users/a/x".to_owned()]).await;
        assert!(deleted.iter().all(Result::is_err));
        let upload = fenced.upload(key(), plain()).await;
        assert!(upload.is_err());
        assert!(FencedStore::new(inner, "users/a".to_owned()).is_err());
        Ok(())
    }
}
