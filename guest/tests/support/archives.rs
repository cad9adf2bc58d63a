//! Archives and compactions as they lie in a bucket, for tests of sessions.
#![allow(dead_code)]

use haversack_core::format::gzip;
use haversack_core::format::live_log::{Compaction, compaction_line, summary_id};
use haversack_core::ops::sessions::live::Live;
use haversack_core::ops::sessions::state::Owner;
use haversack_core::protocol::log::NewEntry;
use haversack_core::store::{Body, Condition, Metered, PutOptions, Store};

use crate::bucket::Bucket;
use crate::talk::{KEY, home, status_of};

/// Put an archive as another program would, and answer its key.
pub fn archived(bucket: &Bucket, name: &str, raw: &[u8], metadata: &[(&str, &str)]) -> String {
    let pieces = gzip::compress(raw).unwrap();
    let bytes = pieces.into_iter().flat_map(|piece| piece.bytes).collect();
    put_archive(bucket, name, bytes, metadata)
}

pub fn put_archive(
    bucket: &Bucket,
    name: &str,
    bytes: Vec<u8>,
    metadata: &[(&str, &str)],
) -> String {
    let metadata = metadata
        .iter()
        .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()));
    let options = PutOptions {
        condition: Condition::Always,
        content_type: None,
        metadata: metadata.collect(),
    };
    let key = format!("agents/hera/sessions/{name}.jsonl.gz");
    bucket.put(&key, Body::Binary(bytes), options).unwrap();
    key
}

/// The part that a compaction would leave of what it removes; its key.
pub fn part(bucket: &Bucket, removed: &[String], part_ms: u64) -> String {
    let name = format!("{}-part{part_ms}", status_of(bucket).session_id);
    archived(bucket, &name, removed.join("\n").as_bytes(), &[])
}

/// As a compaction commits: a part of what is removed, then the entry.
pub fn compact(bucket: &Bucket, removed: &[String], first_kept: Option<&str>, part_ms: u64) {
    let session_id = status_of(bucket).session_id;
    part(bucket, removed, part_ms);
    let (store, owner) = (Metered::new(bucket), Owner::of(&home(), KEY).unwrap());
    let live = Live::of(&store, &owner, &session_id).unwrap();
    let id = summary_id(part_ms);
    let compaction = Compaction {
        summary: format!("sum{part_ms}"),
        first_kept: first_kept.map(str::to_owned),
        part_ms,
        request: None,
    };
    let bytes = compaction_line(&id, &compaction);
    live.log()
        .append(&[NewEntry { id, bytes }], part_ms)
        .unwrap();
}
