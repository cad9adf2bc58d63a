//! The bucket's store on a server that fails: on miniflare, with faults in between on order. What holds
//! of every store is in the contract; this is what holds of this one.

mod parts;
mod reads;
mod refusals;
mod writes;

use std::pin::Pin;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use haversack_host::store::s3::faults::Faults;
use haversack_host::store::s3::{Retry, S3Options, S3Store};
use haversack_host::store::{
    Answer, Blob, BlobStore, Body, BodyKind, Condition, Error, GetRequest, PutOptions, Range,
    Request, value,
};
use haversack_tests::server::Server;
use haversack_tests::table::{Table, Verdict, wanted};

/// A test's own place in the bucket, with faults in between, and the same place without.
pub struct Place<'a> {
    pub server: &'a Server,
    pub faults: Faults,
    pub store: S3Store,
    pub direct: S3Store,
    prefix: &'static str,
}

pub type Tested = anyhow::Result<()>;
type Test = for<'a> fn(&'a Place<'a>) -> Pin<Box<dyn Future<Output = Tested> + 'a>>;

/// A table of tests out of functions.
macro_rules! tests {
    ($($group:ident { $($test:ident,)+ })+) => {
        &[$($((
            concat!(stringify!($group), "/", stringify!($test)),
            (|place| Box::pin($group::$test(place))) as Test,
        ),)+)+]
    };
}

const TESTS: &[(&str, Test)] = tests! {
    writes {
        throttled,
        one_write_a_second,
        failed_before,
        failed_after,
        cut_before_and_after,
        another_writer_after_a_lost_answer,
        conflicts_that_are_certain,
        gone_after_a_failed_condition,
        bounds,
        bounds_of_lost_answers,
        eight_writers,
    }
    reads {
        failures_in_a_wave,
        short_bodies,
        at_most_so_many_at_once,
        full_waves_in_order,
        foreign_names,
        prefixes_are_apart,
    }
    parts {
        copies_stay_in_the_bucket,
        copies_that_the_bucket_refuses,
        parts_that_fail,
        a_lost_completion,
        somebody_was_faster,
        uploads_that_end_early,
        uploads_of_every_size,
        deletes,
    }
    refusals {
        nothing_is_sent,
        secrets_stay_secret,
        no_such_bucket,
    }
};

#[tokio::main]
async fn main() -> ExitCode {
    let mut table = Table::default();
    if !TESTS.iter().any(|(name, _)| wanted(name)) {
        return table.finish();
    }
    let server = match Server::start() {
        Ok(server) => server,
        Err(verdict) => {
            table.add("s3_faults", verdict, Duration::ZERO);
            return table.finish();
        }
    };
    for (name, test) in TESTS.iter().filter(|(name, _)| wanted(name)) {
        let start = Instant::now();
        let verdict = match Place::new(&server, name) {
            Ok(place) => match test(&place).await {
                Ok(()) => Verdict::Passed,
                Err(cause) => Verdict::Failed(format!("{cause:#}")),
            },
            Err(cause) => Verdict::Failed(cause.message),
        };
        table.add(*name, verdict, start.elapsed());
    }
    table.finish()
}

impl<'a> Place<'a> {
    fn new(server: &'a Server, prefix: &'static str) -> Result<Self, Error> {
        let faults = Faults::default();
        Ok(Place {
            server,
            store: S3Store::connect(quick(server.faulty_options(prefix, &faults)))?,
            direct: S3Store::connect(server.options(prefix))?,
            faults,
            prefix,
        })
    }

    /// A store here with other options.
    pub fn store_with(&self, change: impl FnOnce(&mut S3Options)) -> Result<S3Store, Error> {
        let mut options = quick(self.server.faulty_options(self.prefix, &self.faults));
        change(&mut options);
        S3Store::connect(options)
    }

    /// How many requests were made with that method, below that part of a path.
    pub fn requests(&self, method: &str, part: &str) -> usize {
        let requests = self.faults.requests();
        requests
            .iter()
            .filter(|(made, path)| made.as_str() == method && path.contains(part))
            .count()
    }
}

/// Waits so short that tests do not.
fn quick(options: S3Options) -> S3Options {
    S3Options {
        retry: Retry {
            tries_max: 5,
            unreached_tries_max: 5,
            throttled_delay: Duration::from_millis(2),
            failed_delay: Duration::from_millis(1),
            ..Retry::default()
        },
        ..options
    }
}

pub fn options(condition: Condition) -> PutOptions {
    PutOptions {
        condition,
        content_type: Some("text/plain".to_owned()),
        metadata: vec![("who".to_owned(), "Zoë".to_owned())],
    }
}

pub async fn put(
    store: &S3Store,
    key: &str,
    text: &str,
    condition: Condition,
) -> Result<String, Error> {
    let body = Body::Text(text.to_owned());
    store.put(key.to_owned(), body, options(condition)).await
}

/// Without its message an error is of no help in a test's report.
pub fn told(error: Error) -> anyhow::Error {
    anyhow::anyhow!("{:?}: {}", error.code, error.message)
}

pub fn whole(key: &str) -> Request {
    Request::Get(GetRequest {
        key: key.to_owned(),
        range: Range::Whole,
        kind: BodyKind::Text,
    })
}

/// An object's text and version.
pub async fn get(store: &S3Store, key: &str) -> anyhow::Result<Option<(String, String)>> {
    let answer = store.read(vec![whole(key)]).await.remove(0).map_err(told)?;
    let Answer::Blob(blob) = answer else {
        anyhow::bail!("not a blob");
    };
    let text = |Blob { body, stat }| {
        let text = String::from_utf8_lossy(value::bytes(&body)).into_owned();
        (text, stat.version)
    };
    Ok(blob.map(text))
}
