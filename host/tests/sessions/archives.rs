//! Archives and parts, unpacked by gzip, Python, Node and workerd.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

use super::lives::lines;
use super::place::{Place, bytes, messages, text};

const PYTHON: &str = "import gzip,sys; sys.stdout.buffer.write(gzip.open(sys.argv[1]).read())";
const NODE: &str = "const fs = require('fs'); \
    process.stdout.write(require('zlib').gunzipSync(fs.readFileSync(process.argv[1])))";
const WORKER: &str = "fetch(process.argv[2], { method: 'POST', body: require('fs').readFileSync(process.argv[1]) }) \
    .then(async (answer) => { if (!answer.ok) process.exit(1); \
    process.stdout.write(Buffer.from(await answer.arrayBuffer())); })";

pub fn readable(place: &Place) -> anyhow::Result<()> {
    let said = messages(300, 40);
    text(place.append(&said, &[])?)?;
    let narrow = [
        "--window",
        "4000",
        "--reserve",
        "1000",
        "--keep-recent",
        "500",
    ];
    let compacted = place.json(&["compact"], &[&narrow[..], &["--no-model"]].concat())?;
    let removed = compacted["committed"]["removed-messages"]
        .as_u64()
        .context("removed")? as usize;
    let part = compacted["committed"]["part-key"]
        .as_str()
        .context("a part")?;
    let done = place.json(&["sessions", "reset"], &[])?;
    let archive = done["archive"].as_str().context("an archive")?;
    let copy = place.copied()?;
    let unpacked = unpack(place, &copy.join(part))?;
    ensure!(unpacked == said[..removed], "the part has other messages");
    let unpacked = unpack(place, &copy.join(archive))?;
    ensure!(
        unpacked[1..] == said[removed..],
        "the archive has other messages"
    );
    Ok(())
}

/// The lines of a file that all of them agree about.
fn unpack(place: &Place, file: &Path) -> anyhow::Result<Vec<String>> {
    let packed = bytes(file)?;
    ensure!(
        packed.starts_with(&[0x1F, 0x8B, 8]),
        "no gzip: {:?}",
        &packed[..3]
    );
    let path = file.to_str().context("UTF-8")?;
    let worker = place.worker.as_deref().map(|url| ["-e", WORKER, path, url]);
    let python = ["-c", PYTHON, path];
    let node = ["-e", NODE, path];
    let tools: [(&str, Option<&[&str]>); 4] = [
        ("gzip", Some(&["-dc", path])),
        ("python3", Some(&python)),
        ("node", Some(&node)),
        ("node", worker.as_ref().map(|line| &line[..])),
    ];
    let mut agreed: Option<Vec<u8>> = None;
    for (tool, arguments) in tools {
        let Some(arguments) = arguments else {
            continue;
        };
        let run = Command::new(tool)
            .args(arguments)
            .stdin(Stdio::null())
            .output();
        let output = match run {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && !tools_are_required() => {
                eprintln!("skipped: {tool} is not there");
                continue;
            }
            run => run.with_context(|| tool.to_owned())?,
        };
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{tool} {arguments:?}: {said}");
        match &agreed {
            None => agreed = Some(output.stdout),
            Some(first) => ensure!(*first == output.stdout, "{tool} reads something else"),
        }
    }
    let text = String::from_utf8(agreed.context("no tool that unpacks is there")?)?;
    ensure!(text.ends_with('\n'), "the last line has no end");
    Ok(lines(&text))
}

fn tools_are_required() -> bool {
    std::env::var_os("HAVERSACK_REQUIRE_TOOLS").is_some_and(|value| value == "1")
}
