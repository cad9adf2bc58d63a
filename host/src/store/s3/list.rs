//! Lists of a bucket, by requests of our own: object_store fails on a page with one foreign key, and
//! takes a folder's marker (`a/`) for an object.

use http::Method;

use super::bucket::{Bucket, decoded, encoded};
use super::failure::Failure;
use super::{stat, xml};
use crate::store::check::{self, LIST_PAGE_MAX};
use crate::store::key::{KEY_BYTES_MAX, RESERVED, key_problem, shown};
use crate::store::{Entry, Error, ErrorCode, ListRequest, Listing, Skipped, value};

/// The greatest character: a few of them behind a folded prefix come after every key below it that is
/// likely, and what is below it and still comes is passed over.
const GREATEST: &str = "\u{10ffff}";

impl Bucket {
    /// One page. Its cursor is its last thing in hexadecimal: a key, or a folded prefix with its slash.
    /// Tokens of the bucket's own would be answered with an error of its own when they are made up.
    pub async fn page(&self, request: ListRequest) -> Result<Listing, Error> {
        check::check_list(&request)?;
        let last = match &request.cursor {
            None => String::new(),
            Some(cursor) => value::unhex(cursor)
                .and_then(|last| String::from_utf8(last).ok())
                .filter(|last| last.starts_with(&request.prefix))
                .ok_or_else(|| check::not_a_cursor(cursor))?,
        };
        let mut listing = check::empty_page();
        if !is_possible(&request.prefix) {
            return Ok(listing);
        }
        let after = request.start_after.clone().unwrap_or_default();
        let answer = self
            .ask(&request, &behind(&request, &last).max(after.clone()))
            .await?;
        let page = Page::read(&answer).map_err(|what| {
            let what = format!("a list of {}: {what}", shown(&request.prefix));
            check::error(ErrorCode::Other, what)
        })?;
        let mut end = String::new();
        for (full, entry) in page.things {
            let Some(key) = self.short(&full) else {
                continue;
            };
            // A folded prefix may come again behind its own end.
            if key <= last.as_str() && !last.is_empty() || entry.is_some() && key <= after.as_str()
            {
                continue;
            }
            if end.as_str() < key {
                key.clone_into(&mut end);
            }
            if key.split('/').next() == Some(RESERVED) {
                continue;
            }
            let (plain, folded) = match key.strip_suffix('/') {
                Some(folder) if entry.is_none() => (folder, true),
                _ => (key, false),
            };
            match (key_problem(plain), entry) {
                (Some((_, rule)), _) => listing.skipped.push(Skipped {
                    key: key.to_owned(),
                    cause: rule.to_owned(),
                }),
                (None, _) if folded => listing.prefixes.push(key.to_owned()),
                (None, Some(entry)) => listing.entries.push(Entry {
                    key: key.to_owned(),
                    ..entry
                }),
                (None, None) => {}
            }
        }
        if page.goes_on {
            if end.is_empty() {
                let message = format!(
                    "a list of {}: the bucket has more of it and does not say where",
                    shown(&request.prefix)
                );
                return Err(check::error(ErrorCode::Other, message));
            }
            listing.cursor = Some(value::hex(end.as_bytes()));
        }
        listing.entries.sort_by(|a, b| a.key.cmp(&b.key));
        listing.prefixes.sort();
        Ok(listing)
    }

    async fn ask(&self, request: &ListRequest, after: &str) -> Result<String, Error> {
        let mut query = vec![
            ("list-type", "2".to_owned()),
            ("encoding-type", "url".to_owned()),
            ("prefix", self.full(&request.prefix)),
            (
                "max-keys",
                request.limit.unwrap_or(LIST_PAGE_MAX).to_string(),
            ),
        ];
        if request.delimiter {
            query.push(("delimiter", "/".to_owned()));
        }
        if !after.is_empty() {
            query.push(("start-after", self.full(after)));
        }
        let query: Vec<String> = query
            .iter()
            .map(|(name, value)| format!("{name}={}", encoded(value).replace('/', "%2F")))
            .collect();
        let query = format!("?{}", query.join("&"));
        let failed =
            |failure: Failure| failure.error(&format!("a list of {}", shown(&request.prefix)));
        let mut tries = self.retry.tries();
        loop {
            match self.send(Method::GET, &query, &[]).await {
                Ok(answer) => return Ok(String::from_utf8_lossy(answer.body()).into_owned()),
                Err(failure) if tries.again(&failure).await => {}
                Err(failure) => return Err(failed(failure)),
            }
        }
    }
}

/// Where a page goes on behind `last`: a folded prefix is passed with all keys below it.
fn behind(request: &ListRequest, last: &str) -> String {
    let mut after = last.to_owned();
    // A foreign key may end with a slash too, and is passed alone.
    if request.delimiter && last.ends_with('/') && last != request.prefix {
        let room = KEY_BYTES_MAX.saturating_sub(last.len()) / GREATEST.len();
        after.push_str(&GREATEST.repeat(room.clamp(1, 8)));
    }
    after
}

/// Whether any key can begin so. What cannot need not be asked for, and some of it cannot be.
fn is_possible(prefix: &str) -> bool {
    let (folders, rest) = match prefix.rsplit_once('/') {
        Some((folders, rest)) => (Some(folders), rest),
        None => (None, prefix),
    };
    let is_key = |folders: &str| key_problem(folders).is_none();
    prefix.len() <= KEY_BYTES_MAX
        && folders.is_none_or(is_key)
        && !rest.contains('\\')
        && !rest.chars().any(char::is_control)
}

/// An answer: keys with their entries and folded prefixes without, in the bucket's spelling.
struct Page {
    things: Vec<(String, Option<Entry>)>,
    goes_on: bool,
}

impl Page {
    fn read(answer: &str) -> Result<Self, &'static str> {
        const GARBLED: &str = "the bucket's answer is not understood; check the endpoint";
        if !answer.contains("<ListBucketResult") {
            return Err(GARBLED);
        }
        let is_encoded = xml::text(answer, "EncodingType").as_deref() == Some("url");
        let key = |text: String| {
            if is_encoded {
                decoded(&text)
            } else {
                Some(text)
            }
        };
        let mut things = Vec::new();
        for object in xml::elements(answer, "Contents") {
            let name = xml::text(object, "Key").and_then(key).ok_or(GARBLED)?;
            let size = xml::text(object, "Size").and_then(|size| size.parse().ok());
            let modified = xml::text(object, "LastModified")
                .and_then(|time| time.parse::<jiff::Timestamp>().ok())
                .map_or(0, jiff::Timestamp::as_second);
            let entry = Entry {
                key: String::new(),
                size_bytes: size.ok_or(GARBLED)?,
                // Headers have whole seconds, and both should say the same.
                modified_ms: u64::try_from(modified).unwrap_or(0) * 1_000,
                version: xml::text(object, "ETag").map(|tag| stat::version(&tag)),
            };
            things.push((name, Some(entry)));
        }
        for folded in xml::elements(answer, "CommonPrefixes") {
            let name = xml::text(folded, "Prefix").and_then(key).ok_or(GARBLED)?;
            things.push((name, None));
        }
        let goes_on = xml::text(answer, "IsTruncated").as_deref() == Some("true");
        Ok(Page { things, goes_on })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_as_buckets_write_them() {
        let answer = "<?xml version=\"1.0\"?><ListBucketResult xmlns=\"x\"><Name>b</Name>\
            <Contents><Key>a+b%2Bc</Key><Size>3</Size>\
            <LastModified>2026-02-20T09:30:01.999Z</LastModified><ETag>&quot;abc&quot;</ETag></Contents>\
            <CommonPrefixes><Prefix>%C3%A9/</Prefix></CommonPrefixes><EncodingType>url</EncodingType>\
            <Prefix>not+this</Prefix><IsTruncated>true</IsTruncated></ListBucketResult>";
        let page = Page::read(answer).unwrap_or_else(|what| panic!("{what}"));
        assert!(page.goes_on);
        let names: Vec<_> = page.things.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["a b+c", "é/"]);
        let entry = page.things[0].1.as_ref().unwrap();
        assert_eq!(entry.version.as_deref(), Some("abc"));
        assert_eq!(
            (entry.size_bytes, entry.modified_ms),
            (3, 1_771_579_801_000)
        );
        assert!(Page::read("<html>").is_err());
        assert!(Page::read("<ListBucketResult><Contents></Contents></ListBucketResult>").is_err());
    }

    #[test]
    fn prefixes_that_no_key_has() {
        for (prefix, possible) in [
            ("", true),
            ("a", true),
            ("a/", true),
            ("a/.", true),
            (".haversac", true),
            (".haversack", true),
            (".haversack/", false),
            ("/", false),
            ("a//", false),
            ("../", false),
            ("..", true),
            ("a\n", false),
            ("\\", false),
        ] {
            assert_eq!(is_possible(prefix), possible, "{prefix:?}");
        }
        assert!(!is_possible(&"x/".repeat(600)));
    }
}
