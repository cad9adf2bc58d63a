//! Sessions of any length that look real, the same for every run: what a user asks, what a model says and calls,
//! what tools answer. For benchmarks and for tests of what is large; knows no expectation.

use std::io::Write;
use std::path::Path;

use anyhow::Context;
use haversack_core::format::live_log::message_line;
use haversack_core::layout::log::LogKeys;
use haversack_core::ops::compaction::Session;
use haversack_core::ops::sessions::state::{Owner, load};
use haversack_core::ops::sessions::{AppendRequest, append};
use haversack_core::store::{Metered, Store};
use haversack_core::types::Home;
use haversack_host::store::check::plain;
use haversack_host::store::memory::{Object, Objects};
use haversack_host::store::{Condition, DiskStore, MemoryStore};
use serde_json::{Value, json};

use crate::bridge::Bridge;

pub const NOW_MS: u64 = 1_771_579_800_000;

/// Messages of one turn: a question, two calls with their results, an answer.
pub const TURN_MESSAGES: usize = 6;

/// The session that all of these are of.
pub fn session() -> Session {
    Session {
        home: Home {
            system: "gsv".into(),
            id: "hera".into(),
        },
        session_key: "agent:hera:main".into(),
    }
}

/// The log of the session that a store holds.
pub fn log_keys(store: &dyn Store) -> anyhow::Result<LogKeys> {
    let session = session();
    let owner = Owner::of(&session.home, &session.session_key)?;
    let state = load(&Metered::new(store), &owner)?.context("a session")?;
    Ok(owner.log_keys(&state.session_id)?)
}

/// The message of this number, of about `mean_bytes` on average: results of tools are up to eight times as long.
pub fn message(number: usize, mean_bytes: usize) -> String {
    let mut words = Words::of(number as u64);
    let (turn, place) = (number / TURN_MESSAGES, number % TURN_MESSAGES);
    let timestamp = NOW_MS + number as u64 * 1_000;
    let call = |at: usize| format!("call_{turn:06}_{at}");
    let mut text = |share: usize| words.text(mean_bytes * share / 100);
    let message = match place {
        0 => json!({ "role": "user", "content": text(35), "timestamp": timestamp }),
        1 | 3 => json!({
            "role": "assistant",
            "content": [
                { "type": "thinking", "thinking": text(15) },
                { "type": "text", "text": text(15) },
                { "type": "toolCall", "id": call(place), "name": "Bash", "arguments": { "command": text(20) } },
            ],
            "usage": usage(number),
            "stopReason": "toolUse",
            "timestamp": timestamp,
        }),
        2 | 4 => {
            // Mostly short, now and then a whole file; 200 on average.
            let share = [20, 20, 40, 40, 80, 80, 520, 800][words.below(8)];
            json!({
                "role": "toolResult",
                "toolCallId": call(place - 1),
                "toolName": "Bash",
                "content": [{ "type": "text", "text": words.output(mean_bytes * share / 100) }],
                "isError": false,
                "timestamp": timestamp,
            })
        }
        _ => json!({
            "role": "assistant",
            "content": [{ "type": "text", "text": text(65) }],
            "usage": usage(number),
            "stopReason": "stop",
            "timestamp": timestamp,
        }),
    };
    message.to_string()
}

fn usage(number: usize) -> Value {
    let input = 1_000 + number % 150_000;
    json!({ "input": input, "output": 310, "cacheRead": 0, "cacheWrite": 0, "totalTokens": input + 310 })
}

/// A session of `count` messages in memory. With `appends` it is one file, else the segments and sealed pieces
/// that as many appends leave.
pub fn in_memory(count: usize, mean_bytes: usize, appends: bool) -> anyhow::Result<MemoryStore> {
    let store = MemoryStore::new(appends);
    if !appends {
        say(&Bridge::plain(&store), 0..count, mean_bytes)?;
        return Ok(store);
    }
    say(&Bridge::plain(&store), 0..1, mean_bytes)?;
    let keys = log_keys(&Bridge::plain(&store))?;
    let mut objects: Objects = store.objects();
    let head = objects.get(keys.head()).context("the log")?;
    let mut bytes = head.bytes.clone();
    for number in 1..count {
        bytes.extend(line(number, mean_bytes)?);
    }
    let whole = Object::new(bytes, plain(Condition::Always), NOW_MS);
    objects.insert(keys.head().to_owned(), whole);
    Ok(MemoryStore::from_objects(true, objects))
}

/// A session of at least `bytes` below a folder, as a disk store keeps it; answers how many messages it has.
pub fn on_disk(folder: &Path, bytes: u64, mean_bytes: usize) -> anyhow::Result<usize> {
    let keys = {
        let store = DiskStore::create(folder).map_err(|error| anyhow::anyhow!(error.message))?;
        let runtime = tokio::runtime::Runtime::new()?;
        let _entered = runtime.enter();
        say(&Bridge::plain(&store), 0..1, mean_bytes)?;
        log_keys(&Bridge::plain(&store))?
    };
    let file = folder.join(keys.head());
    let mut written = file.metadata()?.len();
    let mut file = std::io::BufWriter::new(std::fs::File::options().append(true).open(file)?);
    let mut count = 1;
    while written < bytes {
        let line = line(count, mean_bytes)?;
        file.write_all(&line)?;
        written += line.len() as u64;
        count += 1;
    }
    file.flush()?;
    Ok(count)
}

/// A line of the log, as an append writes it.
fn line(number: usize, mean_bytes: usize) -> anyhow::Result<Vec<u8>> {
    let message = message(number, mean_bytes);
    Ok(message_line(&format!("m{number}.0"), &message)?)
}

/// Append messages as a host does, up to 256 of them and 2 MiB at once.
fn say(
    store: &dyn Store,
    mut numbers: std::ops::Range<usize>,
    mean_bytes: usize,
) -> anyhow::Result<()> {
    while !numbers.is_empty() {
        let from = numbers.start;
        let (mut bytes, mut messages) = (0, Vec::new());
        while messages.len() < 256 && bytes < 2 << 20 && !numbers.is_empty() {
            let message = message(numbers.start, mean_bytes);
            bytes += message.len();
            messages.push(message);
            numbers.start += 1;
        }
        let request = AppendRequest {
            home: session().home,
            session_key: session().session_key,
            request_id: format!("m{from}"),
            seed: "0123456789abcdef".into(),
            now_ms: NOW_MS + from as u64 * 1_000,
            messages,
        };
        append(store, &request)?;
    }
    Ok(())
}

/// Text as people and programs write it: a small stock of words, and numbers that are never the same.
struct Words(u64);

const STOCK: &str = "the of and to in is that it was for on are with as at be this have from or one had by \
    file line error test build cargo store session message archive memory agent prompt request value key \
    about garden house water train ticket Tuesday invoice please could you check whether there what should \
    next before after while because server returned unexpected timeout retry connection closed config path \
    function struct return match let mut impl where async await None Some Ok Err true false src main lib \
    módulo größe naïve 日本 données";

impl Words {
    fn of(number: u64) -> Self {
        Self(number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }

    /// Prose of about so many bytes.
    fn text(&mut self, bytes: usize) -> String {
        let stock: Vec<&str> = STOCK.split_whitespace().collect();
        let mut text = String::with_capacity(bytes + 16);
        while text.len() < bytes {
            // Common words come first, and often.
            let among = self.below(stock.len()) + 1;
            text.push_str(stock[self.below(among)]);
            text.push_str(match self.below(16) {
                0 => ".\n",
                1 => ", ",
                _ => " ",
            });
        }
        text
    }

    /// What a program prints: lines with paths and figures.
    fn output(&mut self, bytes: usize) -> String {
        let mut text = String::with_capacity(bytes + 128);
        while text.len() < bytes {
            let (row, column, hash) = (self.below(900), self.below(80), self.below(usize::MAX));
            text.push_str(&format!(
                "src/{}/mod.rs:{row}:{column}\t{hash:012x}\t\"",
                STOCK.split(' ').nth(self.below(60)).unwrap_or_default()
            ));
            text.push_str(self.text(60).trim_end());
            text.push_str("\"\n");
        }
        text
    }
}
