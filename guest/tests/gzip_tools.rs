//! Archives under other programs: what we write they read, what they write we read. A program that is
//! not installed skips its half, and says so, unless HAVERSACK_REQUIRE_TOOLS is set.
// Tests may say why they did nothing.
#![allow(clippy::disallowed_macros)]

use std::io::{ErrorKind, Write};
use std::process::{Command, Stdio};

use haversack_core::format::gzip::{compress, decode};
use haversack_core::limits::ARCHIVE_PIECE_RAW_BYTES_MAX;

/// What `program` makes of `input`; none when it is not installed.
fn piped(program: &str, arguments: &[&str], input: &[u8]) -> Option<Vec<u8>> {
    let child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            assert!(
                std::env::var_os("HAVERSACK_REQUIRE_TOOLS").is_none(),
                "{program} is not installed"
            );
            eprintln!("skipped: {program} is not installed");
            return None;
        }
        Err(error) => panic!("{program}: {error}"),
    };
    let mut stdin = child.stdin.take().unwrap();
    // Beside the reading, or both sides would wait on full pipes.
    let output = std::thread::scope(|scope| {
        let writer = scope.spawn(move || stdin.write_all(input));
        let output = child.wait_with_output().unwrap();
        let written = writer.join().unwrap();
        assert!(written.is_ok(), "{program} reads nothing: {output:?}");
        output
    });
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program}: {said}");
    assert_eq!(said, "", "{program} has something to say");
    Some(output.stdout)
}

/// Inflates one member and refuses a byte after it, as strict readers do.
const PYTHON_ONE_MEMBER: &str = "\
import sys, zlib
inflate = zlib.decompressobj(wbits=31)
sys.stdout.buffer.write(inflate.decompress(sys.stdin.buffer.read()))
assert inflate.eof and not inflate.unused_data
";
const PYTHON_READ: &str = "\
import gzip, sys
sys.stdout.buffer.write(gzip.decompress(sys.stdin.buffer.read()))
";
/// Two members with every optional field that Python writes, and padding.
const PYTHON_WRITE: &str = "\
import gzip, io, sys
raw = sys.stdin.buffer.read()
file = io.BytesIO()
for half in (raw[:1000], raw[1000:]):
    with gzip.GzipFile('a name.jsonl', 'wb', fileobj=file) as member:
        member.write(half)
sys.stdout.buffer.write(file.getvalue() + bytes(512))
";

fn raws() -> Vec<Vec<u8>> {
    let text = b"{\"role\":\"user\",\"content\":\"Hello\"}\n".repeat(200);
    let noise: Vec<u8> = (0..300_000u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    let two_pieces = b"0123456789abcdef".repeat(ARCHIVE_PIECE_RAW_BYTES_MAX / 16 + 1);
    vec![Vec::new(), text, noise, two_pieces]
}

fn file_of(raw: &[u8]) -> Vec<u8> {
    let pieces = compress(raw).unwrap();
    pieces.into_iter().flat_map(|piece| piece.bytes).collect()
}

#[test]
fn others_read_what_we_write() {
    for raw in raws() {
        let file = file_of(&raw);
        for (program, arguments) in [
            ("gzip", ["-d", "-c"]),
            ("python3", ["-c", PYTHON_ONE_MEMBER]),
            ("python3", ["-c", PYTHON_READ]),
        ] {
            if let Some(read) = piped(program, &arguments, &file) {
                assert!(read == raw, "{program} {arguments:?}, {} bytes", raw.len());
            }
        }
    }
}

#[test]
fn we_read_what_others_write() {
    for raw in raws() {
        for (program, arguments, members) in [
            ("gzip", ["-c", "-9"], 1),
            ("python3", ["-c", PYTHON_WRITE], 2),
        ] {
            if let Some(file) = piped(program, &arguments, &raw) {
                let (read, summary) = decode(&file, raw.len()).unwrap();
                assert!(read == raw, "{program}, {} bytes", raw.len());
                assert_eq!((summary.members, summary.damage), (members, None));
            }
        }
    }
}
