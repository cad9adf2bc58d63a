//! From `--store` and its flags to a store. Knows which store an address means, not what is done with it.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use haversack_host::store::address::{Address, BucketAddress};
use haversack_host::store::check::error;
use haversack_host::store::credentials::{self, Named};
use haversack_host::store::disk::DiskOptions;
use haversack_host::store::s3::{REQUESTS_AT_ONCE, REQUESTS_AT_ONCE_MAX, Retry, S3Options};
use haversack_host::store::{BlobStore, DiskStore, Error, ErrorCode, S3Store};

use super::exit::{Code, Failure};

/// Where AWS looks for a region when nobody says one; R2 and most others take it too.
const USUAL_REGION: &str = "us-east-1";

/// How to reach a bucket. There is no flag for secrets, because every user of a machine sees flags.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Buckets")]
pub struct BucketFlags {
    /// Address of a bucket's S3 service, such as https://HOST [env: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL]
    #[arg(long, global = true, value_name = "URL")]
    endpoint: Option<String>,

    /// Region of a bucket [env: AWS_REGION, AWS_DEFAULT_REGION]
    #[arg(long, global = true, value_name = "NAME")]
    region: Option<String>,

    /// Sign with this section of the AWS profile files, whatever the environment says [env: AWS_PROFILE]
    #[arg(long, global = true, value_name = "NAME")]
    profile: Option<String>,

    /// Read profiles from this file instead of ~/.aws/credentials [env: AWS_SHARED_CREDENTIALS_FILE]
    #[arg(long, global = true, value_name = "FILE")]
    credentials_file: Option<PathBuf>,

    /// Sign with this key; its secret comes from AWS_SECRET_ACCESS_KEY [env: AWS_ACCESS_KEY_ID]
    #[arg(long, global = true, value_name = "ID")]
    access_key_id: Option<String>,

    /// Requests to a bucket, and objects of a copy, that run at the same time
    #[arg(long, global = true, value_name = "N", default_value_t = REQUESTS_AT_ONCE, value_parser = requests_at_once)]
    pub requests_at_once: usize,
}

impl BucketFlags {
    /// The same, signed with another profile where one is named.
    pub fn with_profile(&self, profile: Option<&String>) -> Self {
        let mut flags = self.clone();
        if let Some(profile) = profile {
            flags.profile = Some(profile.clone());
            flags.access_key_id = None;
        }
        flags
    }

    /// The service, bucket and prefix that an address means with these flags: two addresses of one place
    /// have the same.
    pub fn resolved(&self, address: &BucketAddress) -> Vec<String> {
        let found = credentials::find(&self.named(), &|name| std::env::var(name).ok()).ok();
        let endpoint = address.endpoint.clone().or(self.endpoint.clone());
        let endpoint = endpoint.or(found.and_then(|found| found.endpoint));
        let mut place = vec![
            "bucket".to_owned(),
            endpoint
                .unwrap_or_default()
                .trim_end_matches('/')
                .to_owned(),
            address.bucket.clone(),
        ];
        let segments = address.prefix.split('/').filter(|part| !part.is_empty());
        place.extend(segments.map(str::to_owned));
        place
    }

    fn named(&self) -> Named {
        Named {
            profile: self.profile.clone(),
            credentials_file: self.credentials_file.clone(),
            access_key_id: self.access_key_id.clone(),
        }
    }
}

fn requests_at_once(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number) if (1..=REQUESTS_AT_ONCE_MAX).contains(&number) => Ok(number),
        _ => Err(format!("a number from 1 to {REQUESTS_AT_ONCE_MAX}")),
    }
}

/// The store at an address that a command names.
pub fn open_store(location: &str, flags: &BucketFlags) -> anyhow::Result<Arc<dyn BlobStore>> {
    open(location, flags, None)
}

/// The store at `location`. Hard links are refused for run-agent, whose reference does not allow them.
pub fn open(
    location: &str,
    flags: &BucketFlags,
    system: Option<&str>,
) -> anyhow::Result<Arc<dyn BlobStore>> {
    let address = Address::parse(location).map_err(|error| failure(error, Code::Invalid))?;
    match address {
        Address::Directory(path) => {
            let options = DiskOptions {
                deny_hard_links: system == Some("run-agent"),
                ..DiskOptions::default()
            };
            let store = DiskStore::open_with(path, options);
            Ok(Arc::new(
                store.map_err(|error| failure(error, Code::NoStore))?,
            ))
        }
        Address::Bucket(address) => {
            let store = open_bucket(address, flags);
            Ok(Arc::new(
                store.map_err(|error| failure(error, Code::Invalid))?,
            ))
        }
    }
}

fn open_bucket(address: BucketAddress, flags: &BucketFlags) -> Result<S3Store, Error> {
    let found = credentials::find(&flags.named(), &|name| std::env::var(name).ok())?;
    if let (Some(own), Some(flag)) = (&address.endpoint, &flags.endpoint) {
        return Err(error(
            ErrorCode::Invalid,
            format!(
                "the address says {own} and --endpoint says {flag}; leave one of them out (s3://BUCKET takes \
                 --endpoint)"
            ),
        ));
    }
    let region = address.region.or(flags.region.clone()).or(found.region);
    S3Store::connect(S3Options {
        endpoint: address
            .endpoint
            .or(flags.endpoint.clone())
            .or(found.endpoint),
        region: region.unwrap_or_else(|| USUAL_REGION.to_owned()),
        bucket: address.bucket,
        prefix: address.prefix,
        credentials: found.credentials,
        requests_at_once: flags.requests_at_once,
        retry: Retry::default(),
        connector: None,
    })
}

/// `otherwise` is the exit code of what has no code of its own.
fn failure(error: Error, otherwise: Code) -> Failure {
    let code = match error.code {
        ErrorCode::Denied => Code::Unreadable,
        ErrorCode::Unsupported => Code::Unsupported,
        _ => otherwise,
    };
    Failure::new(code, error.message)
}
