//! A copy inside the bucket: no byte passes through here. Its source is conditional, its target is not.

use http::Method;
use object_store::path::Path;

use super::bucket::{Bucket, encoded};
use super::failure::{Effect, Failure};
use super::{stat, words, xml};
use crate::store::PutOptions;

impl Bucket {
    /// Copy that version of `from` over whatever is at `to`, and answer its version there. None where
    /// the bucket cannot, or answers with a tag that another content has.
    pub async fn copy(
        &self,
        from: &Path,
        version: &str,
        to: &Path,
        options: &PutOptions,
    ) -> Result<Option<String>, Failure> {
        let Some(tag) = stat::tag(version) else {
            return Ok(None);
        };
        let names: Vec<String> = options
            .metadata
            .iter()
            .map(|(name, _)| format!("x-amz-meta-{}", name.to_ascii_lowercase()))
            .collect();
        let mut headers = vec![
            ("x-amz-copy-source", self.with_name(from)),
            ("x-amz-copy-source-if-match", tag),
            ("x-amz-metadata-directive", "REPLACE".to_owned()),
        ];
        if let Some(content_type) = &options.content_type {
            headers.push(("content-type", content_type.clone()));
        }
        for (name, (_, value)) in names.iter().zip(&options.metadata) {
            headers.push((name, words::encode(value)));
        }
        let target = format!("/{}", encoded(to.as_ref()));
        // The worst that any try may have done.
        let mut effect = Effect::None;
        let mut tries = self.retry.tries();
        loop {
            let failure = match self.send(Method::PUT, &target, &headers).await {
                Ok(answer) => {
                    let answer = String::from_utf8_lossy(answer.body()).into_owned();
                    match xml::text(&answer, "ETag").map(|tag| stat::version(&tag)) {
                        Some(copied) => return Ok(are_equal(version, &copied).then_some(copied)),
                        // S3 says so, with status 200, of a copy that failed on its way.
                        None => Failure {
                            code: xml::code(&answer),
                            sent: true,
                            ..Failure::default()
                        },
                    }
                }
                Err(failure) if failure.is_not_known() => return Ok(None),
                Err(failure) => failure,
            };
            effect = effect.max(failure.effect());
            if !tries.again(&failure).await {
                // What follows writes the same bytes, and settles what became of them.
                let is_certain = effect == Effect::None;
                return if is_certain { Err(failure) } else { Ok(None) };
            }
        }
    }
}

/// Two tags that are hashes of content must be the same; of tags of any other form nothing follows.
fn are_equal(source: &str, copied: &str) -> bool {
    let is_hash = |tag: &str| tag.len() == 32 && tag.bytes().all(|byte| byte.is_ascii_hexdigit());
    !(is_hash(source) && is_hash(copied)) || source == copied
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_of_copies() {
        let (one, other) = ("a".repeat(32), "b".repeat(32));
        assert!(are_equal(&one, &one));
        assert!(!are_equal(&one, &other));
        assert!(are_equal(&format!("{one}-3"), &other));
    }
}
