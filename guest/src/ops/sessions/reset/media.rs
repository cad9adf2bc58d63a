//! S4: the media of the old session go: those its messages name, and those that nobody names and that lay
//! there before its last activity. What the new session names, or lines that came late and go there, or the
//! caller keeps, stays.

use std::collections::BTreeSet;

use super::Call;
use crate::format::live_log::{What, parse};
use crate::format::message::{MediaSource, Message};
use crate::layout::gsv::{Place, media_prefix};
use crate::limits::{LOG_PAGE_BYTES_MAX, LOG_PAGE_ENTRIES_MAX, WAVE_REQUESTS_MAX};
use crate::ops::media::uploaded_ms;
use crate::ops::sessions::live::Live;
use crate::ops::sessions::state::Owner;
use crate::protocol::log::Forward;
use crate::store::{Answer, ListRequest, Request};
use crate::types::Result;

/// Bytes of the log that are looked through at once.
const RUN_BYTES: u64 = 4 << 20;
/// Late segments that are in memory at once.
const LATE_AT_ONCE: usize = 4;

/// Delete them; answers whether all are gone.
pub fn delete(call: &mut Call<'_>, owner: &Owner) -> Result<bool> {
    let prefix = media_prefix(&owner.key);
    let first = call.store.list(ListRequest {
        prefix: prefix.clone(),
        ..ListRequest::default()
    })?;
    if first.entries.is_empty() && first.cursor.is_none() {
        return Ok(true);
    }
    let mut kept: BTreeSet<String> = call.reset.keep_media.iter().cloned().collect();
    // What came late first: brought on meanwhile, it is in the new log when that is read.
    keep_named_late(call, owner, &mut kept)?;
    keep_named_by_the_new(call, owner, &mut kept)?;
    delete_named(call, owner, &kept)?;
    delete_orphans(call, &prefix, &kept)?;
    Ok(true)
}

/// Media in a line of the log, under this session key.
fn named_in(owner: &Owner, content: &[u8]) -> Vec<String> {
    let Ok(line) = parse(content) else {
        return Vec::new();
    };
    let What::Message(json) = line.what else {
        return Vec::new();
    };
    let Ok(message) = Message::parse(json) else {
        return Vec::new();
    };
    let stored = message.media().filter_map(|media| match &media.source {
        MediaSource::Stored(key) => Some(key.clone().into_owned()),
        _ => None,
    });
    let is_own = |key: &String| matches!(Place::parse(key), Some(Place::Media { session, .. }) if session == owner.key);
    stored.filter(is_own).collect()
}

/// Lines that came late to the old log are in no session yet: the sweep brings them to the new one.
fn keep_named_late(call: &Call<'_>, owner: &Owner, kept: &mut BTreeSet<String>) -> Result<()> {
    let old = Live::of(call.store, owner, &call.reset.old)?;
    for segments in old.log().leftover()?.late.chunks(LATE_AT_ONCE) {
        for (_, entries) in old.log().entries_of(segments)? {
            for entry in entries {
                kept.extend(named_in(owner, entry.bytes.trim_ascii_end()));
            }
        }
    }
    Ok(())
}

/// All messages of the new session, however many came while the reset waited; only keys stay in memory.
fn keep_named_by_the_new(
    call: &Call<'_>,
    owner: &Owner,
    kept: &mut BTreeSet<String>,
) -> Result<()> {
    let live = Live::of(call.store, owner, &call.reset.new)?;
    let mut before = None;
    loop {
        let page = live.page(LOG_PAGE_ENTRIES_MAX, LOG_PAGE_BYTES_MAX, before)?;
        for entry in &page.entries {
            kept.extend(named_in(owner, &entry.content));
        }
        before = page.before;
        if before.is_none() {
            return Ok(());
        }
    }
}

fn delete_named(call: &mut Call<'_>, owner: &Owner, kept: &BTreeSet<String>) -> Result<()> {
    let live = Live::of(call.store, owner, &call.reset.old)?;
    let Some(forward) = Forward::of(live.log())? else {
        return Ok(());
    };
    let mut at = None;
    loop {
        let run = forward.run_at(at, RUN_BYTES)?;
        let entries = run.entries.iter();
        let mut named: Vec<String> = entries
            .flat_map(|entry| named_in(owner, &entry.content))
            .filter(|key| !kept.contains(key))
            .collect();
        named.sort();
        named.dedup();
        // A name that nothing lies under deletes nothing, and is not counted.
        for keys in named.chunks(WAVE_REQUESTS_MAX) {
            let heads = keys.iter().map(|key| Request::Head(key.clone())).collect();
            let there = call.store.read(heads)?;
            let keys = keys.iter().zip(there);
            let keys = keys.filter(|(_, head)| !matches!(head, Ok(Answer::Head(None))));
            delete_keys(call, keys.map(|(key, _)| key.clone()).collect())?;
        }
        at = run.next;
        if at.is_none() {
            return Ok(());
        }
    }
}

fn delete_orphans(call: &mut Call<'_>, prefix: &str, kept: &BTreeSet<String>) -> Result<()> {
    let store = call.store;
    store.each_page(prefix, |listing| {
        for entries in listing.entries.chunks(WAVE_REQUESTS_MAX) {
            let heads = entries.iter().map(|entry| Request::Head(entry.key.clone()));
            let answers = call.store.read(heads.collect())?;
            let mut orphans = Vec::new();
            for (entry, answer) in entries.iter().zip(answers) {
                let Answer::Head(Some(stat)) = answer.map_err(|error| error.about(&entry.key))?
                else {
                    continue;
                };
                let is_media = matches!(Place::parse(&entry.key), Some(Place::Media { .. }));
                let is_older = uploaded_ms(&entry.key, &stat, &mut call.problems)
                    < call.reset.last_activity_ms;
                if is_media && is_older && !kept.contains(&entry.key) {
                    orphans.push(entry.key.clone());
                }
            }
            delete_keys(call, orphans)?;
        }
        Ok(())
    })
}

fn delete_keys(call: &mut Call<'_>, keys: Vec<String>) -> Result<()> {
    if keys.is_empty() {
        return Ok(());
    }
    let answers = call.store.delete(keys.clone())?;
    for (key, answer) in keys.iter().zip(answers) {
        answer.map_err(|error| error.about(key))?;
        call.deleted_media += 1;
    }
    Ok(())
}
