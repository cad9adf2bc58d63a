//! What `--store` names: a directory or a bucket. Pure; opens nothing, reads no environment.

use std::path::PathBuf;

use super::check::error;
use super::key::{check_key, shown};
use super::{Error, ErrorCode};

/// Where a store lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A path, or a `file:///…` URL.
    Directory(PathBuf),
    /// `s3://BUCKET[/PREFIX]` or `r2://ACCOUNT/BUCKET[/PREFIX]`.
    Bucket(BucketAddress),
}

/// A bucket, or what of it lies below a prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketAddress {
    pub bucket: String,
    /// Of the store's keys; without a slash at its end, empty for the whole bucket.
    pub prefix: String,
    /// Where the address itself says it, as `r2://` does.
    pub endpoint: Option<String>,
    pub region: Option<String>,
}

impl Address {
    /// Read what a person typed. `invalid` for a form that is known and misspelt, `unsupported` for a
    /// scheme that is not known.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let Some((scheme, rest)) = text.split_once("://") else {
            return match text {
                "" => Err(invalid(
                    "--store is empty: give a directory or a bucket's URL",
                )),
                path => Ok(Address::Directory(path.into())),
            };
        };
        match scheme {
            "file" if rest.starts_with('/') && !rest.contains('%') => {
                Ok(Address::Directory(rest.into()))
            }
            "file" => Err(invalid(format!(
                "--store {text}: write the directory's path instead of this URL"
            ))),
            "s3" => bucket(scheme, rest).map(Address::Bucket),
            "r2" => {
                let (account, rest) = rest.split_once('/').unwrap_or((rest, ""));
                check_account(account)?;
                let mut address = bucket(scheme, rest)?;
                address.endpoint = Some(format!("https://{account}.r2.cloudflarestorage.com"));
                address.region = Some("auto".to_owned());
                Ok(Address::Bucket(address))
            }
            _ => Err(error(
                ErrorCode::Unsupported,
                format!(
                    "--store begins with {scheme}://, which this version does not open; it opens \
                     directories, file:///…, s3://BUCKET and r2://ACCOUNT/BUCKET"
                ),
            )),
        }
    }
}

fn invalid(message: impl Into<String>) -> Error {
    error(ErrorCode::Invalid, message)
}

/// The hexadecimal account id of R2.
fn check_account(account: &str) -> Result<(), Error> {
    let digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if account.len() == 32 && account.bytes().all(digit) {
        return Ok(());
    }
    // What stands there may be a key that was pasted in the wrong place: it is not shown.
    Err(invalid(
        "--store r2://ACCOUNT/BUCKET: an account is 32 digits and letters a to f, as the R2 overview \
         shows it; for another endpoint use s3://BUCKET with --endpoint",
    ))
}

fn bucket(scheme: &str, rest: &str) -> Result<BucketAddress, Error> {
    let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    if bucket.contains('@') || bucket.contains(':') {
        return Err(invalid(format!(
            "--store {scheme}://: a bucket's URL takes neither credentials nor a port; credentials come \
             from the environment or a profile, the port belongs to --endpoint"
        )));
    }
    let letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let inner = |byte: u8| letter(byte) || byte == b'-' || byte == b'.';
    let ends =
        bucket.bytes().next().is_some_and(letter) && bucket.bytes().last().is_some_and(letter);
    if !(3..=63).contains(&bucket.len()) || !ends || !bucket.bytes().all(inner) {
        return Err(invalid(format!(
            "--store {scheme}://: {} is no bucket name: 3 to 63 lower-case letters, digits, hyphens \
             and dots, with a letter or digit at both ends",
            shown(bucket)
        )));
    }
    let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
    if !prefix.is_empty() {
        check_key(prefix).map_err(|cause| {
            invalid(format!(
                "--store {scheme}://{bucket}/…: as a prefix, {}",
                cause.message
            ))
        })?;
    }
    Ok(BucketAddress {
        bucket: bucket.to_owned(),
        prefix: prefix.to_owned(),
        endpoint: None,
        region: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACCOUNT: &str = "0123456789abcdef0123456789abcdef";

    fn s3(bucket: &str, prefix: &str) -> Address {
        Address::Bucket(BucketAddress {
            bucket: bucket.to_owned(),
            prefix: prefix.to_owned(),
            endpoint: None,
            region: None,
        })
    }

    #[test]
    fn addresses() {
        for (text, expected) in [
            ("store", Address::Directory("store".into())),
            ("./a b", Address::Directory("./a b".into())),
            ("file:///var/store", Address::Directory("/var/store".into())),
            ("s3://bucket", s3("bucket", "")),
            ("s3://bucket/", s3("bucket", "")),
            ("s3://my.bucket-1/a/b c/é", s3("my.bucket-1", "a/b c/é")),
            ("s3://bucket/a%20b/", s3("bucket", "a%20b")),
        ] {
            assert_eq!(Address::parse(text).unwrap(), expected, "{text}");
        }
        let r2 = Address::parse(&format!("r2://{ACCOUNT}/bucket/a/b")).unwrap();
        let Address::Bucket(r2) = r2 else {
            panic!("{r2:?}")
        };
        assert_eq!((r2.bucket.as_str(), r2.prefix.as_str()), ("bucket", "a/b"));
        let endpoint = format!("https://{ACCOUNT}.r2.cloudflarestorage.com");
        assert_eq!(r2.endpoint, Some(endpoint));
        assert_eq!(r2.region.as_deref(), Some("auto"));
    }

    #[test]
    fn misspelt_addresses_say_what_is_wrong() {
        for (text, word) in [
            ("", "empty"),
            ("file://store", "path"),
            ("file:///a%20b", "path"),
            ("s3://", "bucket name"),
            ("s3://ab", "3 to 63"),
            ("s3://Bucket", "lower-case"),
            ("s3://-bucket", "both ends"),
            ("s3:///bucket", "bucket name"),
            ("s3://bucket//a", "slash"),
            ("s3://bucket/../a", "prefix"),
            ("s3://bucket/.haversack/x", "belongs to the store"),
            ("s3://bucket/e\u{301}", "normal form"),
            ("s3://localhost:9000/bucket", "--endpoint"),
            ("r2://bucket", "account"),
            ("r2://bucket/prefix", "account"),
            ("gs://bucket", "gs://"),
        ] {
            let message = Address::parse(text).unwrap_err().message;
            assert!(message.contains(word), "{text}: {message}");
        }
    }

    #[test]
    fn a_secret_in_an_address_is_not_repeated() {
        for text in [
            "s3://AKIAEXAMPLE:hush@bucket",
            "r2://hush/bucket",
            "r2://AKIAEXAMPLE:hush@bucket/x",
        ] {
            let message = Address::parse(text).unwrap_err().message;
            assert!(!message.contains("hush"), "{message}");
            assert!(!message.contains("AKIA"), "{message}");
        }
    }
}
