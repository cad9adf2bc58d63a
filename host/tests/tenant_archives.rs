//! Export and import through the command line, and the HTTP API, on a disk and in a bucket: what is printed and
//! answered, and how it ends.

#[allow(dead_code)] // Sessions need more of it.
#[path = "sessions/place.rs"]
mod place;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

use anyhow::{Context, ensure};
use haversack_tests::lives::{Life, both};
use place::{Place, fails, text};
use serde_json::{Value, json};

const TESTS: [Life<Place>; 4] = [
    ("there and back", whole),
    ("over HTTP", over_http),
    ("another user's", of_another),
    ("what cannot be says why", refusals),
];

fn main() -> ExitCode {
    both(&TESTS, Place::on_disk, Place::in_bucket).finish()
}

/// A user with a chat, and files of every kind.
fn fill(place: &Place, user: &str) -> anyhow::Result<()> {
    let seed = place.folder.path().join(format!("seed-{user}"));
    let home = seed.join("users").join(user);
    for folder in ["config", "workspace/gr\u{fc}n", "skills/tea"] {
        std::fs::create_dir_all(home.join(folder))?;
    }
    let meta = format!("{{\n  \"userId\": \"{user}\",\n  \"storageUsedBytes\": 1e3\n}}\n");
    std::fs::write(home.join("meta.json"), meta)?;
    std::fs::write(home.join("config/clawdbot.json"), "{}")?;
    std::fs::write(home.join("skills/tea/SKILL.md"), "# Tea\n")?;
    std::fs::write(home.join("workspace/empty"), "")?;
    let large: Vec<u8> = (0..9u32 << 20)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    std::fs::write(home.join("workspace/gr\u{fc}n/large"), large)?;
    let seed = seed.to_str().context("UTF-8")?;
    text(place.run(&["store", "copy", seed, &place.address])?)?;
    let chat = place.folder.path().join("chat.jsonl");
    let line = |n: usize| {
        format!(
            r#"{{"id":"m{n}","role":"user","content":"{n}","timestamp":{}}}"#,
            1_706_572_800_000usize + n
        )
    };
    std::fs::write(&chat, (0..40).map(|n| line(n) + "\n").collect::<String>())?;
    let chat = chat.to_str().context("UTF-8")?;
    text(place.run(&["messages", "append", &format!("moltbot:{user}"), chat])?)?;
    Ok(())
}

/// Every file below a folder.
fn tree(root: &Path) -> anyhow::Result<BTreeMap<PathBuf, Vec<u8>>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir()? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let bytes = std::fs::read(&path)?;
                files.insert(path.strip_prefix(root)?.to_owned(), bytes);
            }
        }
    }
    Ok(files)
}

fn file(place: &Place, name: &str) -> anyhow::Result<String> {
    let path = place.folder.path().join(name);
    Ok(path.to_str().context("UTF-8")?.to_owned())
}

/// Another store of the same kind, beside this one.
fn beside(place: &Place, name: &str) -> anyhow::Result<String> {
    if place.worker.is_some() {
        return Ok(format!("{}-{name}", place.address));
    }
    let path = place.folder.path().join(name);
    std::fs::create_dir_all(&path)?;
    Ok(path.to_str().context("UTF-8")?.to_owned())
}

/// A server, ended with the test.
struct Served {
    child: Child,
    address: String,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const SECRET: (&str, &str) = (
    "HAVERSACK_SIGNING_SECRET",
    "a secret of the tests, thirty-two",
);

impl Served {
    fn start(place: &Place) -> anyhow::Result<Self> {
        let mut child = place
            .command(&["serve", "--listen", "127.0.0.1:0"])
            .env(SECRET.0, SECRET.1)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut line = String::new();
        let output = child.stdout.take().context("an output")?;
        BufReader::new(output).read_line(&mut line)?;
        let address = line.trim().strip_prefix("listening on http://");
        let address = address.unwrap_or_default().to_owned();
        let served = Self { child, address };
        ensure!(!served.address.is_empty(), "it said {line:?}");
        Ok(served)
    }

    /// The head and the body of what is answered under a signature of `haversack sign`.
    fn get(&self, place: &Place, path: &str) -> anyhow::Result<(String, Vec<u8>)> {
        let url = format!("http://{}{path}", self.address);
        let mut sign = place.command(&["sign", "user_1", "--url", &url]);
        let signed = text(sign.env(SECRET.0, SECRET.1).output()?)?;
        let path = signed
            .trim()
            .strip_prefix(&format!("http://{}", self.address));
        let path = path.context("a path")?;
        let mut stream = TcpStream::connect(&self.address)?;
        write!(
            stream,
            "GET {path} HTTP/1.0\r\nHost: {}\r\n\r\n",
            self.address
        )?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
        let end = end.context("a head")?;
        let head = String::from_utf8(answer[..end].to_vec())?;
        Ok((head, answer[end + 4..].to_vec()))
    }
}

/// History, usage and the archive, from wherever the user's data lie.
fn over_http(place: &Place) -> anyhow::Result<()> {
    fill(place, "user_1")?;
    let mut served = Served::start(place)?;
    let (head, body) = served.get(place, "/api/history?limit=1")?;
    let page: Value = serde_json::from_slice(&body)?;
    ensure!(
        head.contains(" 200 ") && page["messages"][0]["id"] == "m39",
        "{head} {page}"
    );
    let (head, body) = served.get(place, "/api/storage/usage")?;
    let usage: Value = serde_json::from_slice(&body)?;
    ensure!(head.contains(" 200 "), "{head} {usage}");
    ensure!(
        usage["categories"]["workspace"]["sizeBytes"] == 9 << 20,
        "{usage}"
    );
    let (head, body) = served.get(place, "/api/storage/export")?;
    ensure!(head.contains(" 200 "), "{head}");
    let archive = file(place, "over-http.tar.gz")?;
    std::fs::write(&archive, body)?;
    let import = ["tenant", "import", "user_1", "--from", &archive, "--json"];
    let back: Value = serde_json::from_str(&text(place.run(&import)?)?)?;
    ensure!(
        back["equal"] == back["files"] && back["has-sums"] == true,
        "{back}"
    );
    let id = served.child.id().to_string();
    ensure!(
        Command::new("kill")
            .args(["-TERM", &id])
            .status()?
            .success()
    );
    let ended = served.child.wait()?;
    ensure!(ended.success(), "{ended}");
    Ok(())
}

fn whole(place: &Place) -> anyhow::Result<()> {
    fill(place, "user_1")?;
    fill(place, "user_10")?;
    let archive = file(place, "user_1.tar.gz")?;
    let export = ["tenant", "export", "user_1", "--output", &archive];
    let printed = text(place.run(&export)?)?;
    ensure!(
        printed.starts_with("exported ") && printed.contains("files of user_1"),
        "{printed}"
    );
    fails(&place.run(&export)?, 7, &["user_1.tar.gz", "exists"])?;
    // The other form is the same archive.
    let streamed = place.run(&["tenant", "export", "moltbot:user_1", "--output", "-"])?;
    ensure!(streamed.status.success() && streamed.stdout.starts_with(&[0x1f, 0x8b]));
    let listed = Command::new("tar").args(["-tzf", &archive]).output()?;
    let names = String::from_utf8(listed.stdout.clone())?;
    ensure!(
        listed.status.success() && listed.stderr.is_empty(),
        "{listed:?}"
    );
    ensure!(
        names.lines().next() == Some("haversack-export/begin.json"),
        "{names}"
    );
    ensure!(
        names.contains("users/user_1/meta.json") && !names.contains("user_10"),
        "{names}"
    );

    let target = beside(place, "target")?;
    let import = [
        "tenant", "import", "user_1", "--from", &archive, "--store", &target,
    ];
    let dry: Value = serde_json::from_str(&text(
        place.run(&[&import[..], &["--dry-run", "--json"]].concat())?,
    )?)?;
    ensure!(
        dry["has-sums"] == true && dry["copied"] == dry["files"],
        "{dry}"
    );
    // Neither a user who is not there yet nor one who is gets more than its tier.
    let bytes = dry["bytes"].as_u64().context("a size")?;
    let limited = |bytes: u64| {
        let limits = format!("{{\"storage-bytes\":{bytes}}}");
        place.run(&[&import[..], &["--tier", &limits]].concat())
    };
    fails(
        &limited(bytes - 1)?,
        9,
        &["nothing was written", "larger tier"],
    )?;
    let printed = text(limited(bytes)?)?;
    ensure!(
        printed.contains(" copied, 0 replaced, 0 equal"),
        "{printed}"
    );
    let again = text(place.run(&import)?)?;
    ensure!(again.contains(": 0 copied, 0 replaced, "), "{again}");
    let source = place.copied()?;
    let copy = file(place, "target-copy")?;
    text(place.run(&["store", "copy", &target, &copy])?)?;
    let (before, after) = (
        tree(&source.join("users/user_1"))?,
        tree(&Path::new(&copy).join("users/user_1"))?,
    );
    ensure!(before == after, "{:?} {:?}", before.keys(), after.keys());
    let history = text(place.run(&[
        "messages",
        "history",
        "moltbot:user_1",
        "--store",
        &target,
        "--limit",
        "1",
    ])?)?;
    ensure!(history == "user        39\n", "{history}");

    // What differs is kept, with all the rest, until one is told to replace it.
    let other = file(place, "other")?;
    std::fs::create_dir_all(Path::new(&other).join("users/user_1/config"))?;
    std::fs::write(
        Path::new(&other).join("users/user_1/config/clawdbot.json"),
        "{\"a\":1}",
    )?;
    text(place.run(&["store", "copy", &other, &target, "--replace"])?)?;
    let refused = place.run(&import)?;
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    ensure!(refused.status.code() == Some(7), "{said}");
    ensure!(
        said.contains("config/clawdbot.json") && said.contains("--replace"),
        "{said}"
    );
    let replaced = text(place.run(&[&import[..], &["--replace"]].concat())?)?;
    ensure!(replaced.contains("1 replaced"), "{replaced}");
    Ok(())
}

fn of_another(place: &Place) -> anyhow::Result<()> {
    fill(place, "user_1")?;
    let archive = file(place, "user_1.tar.gz")?;
    text(place.run(&["tenant", "export", "user_1", "--output", &archive])?)?;
    let import = ["tenant", "import", "user_2", "--from", &archive];
    fails(&place.run(&import)?, 2, &["user_1", "--from-user"])?;
    text(place.run(&[&import[..], &["--from-user", "user_1"]].concat())?)?;
    let copy = place.copied()?;
    let meta = std::fs::read_to_string(copy.join("users/user_2/meta.json"))?;
    ensure!(
        meta == "{\n  \"userId\": \"user_2\",\n  \"storageUsedBytes\": 1e3\n}\n",
        "{meta}"
    );
    ensure!(copy.join("users/user_1/meta.json").exists());
    Ok(())
}

fn refusals(place: &Place) -> anyhow::Result<()> {
    // What is partly elsewhere is not exported as if it were whole.
    let moved = place.folder.path().join("moved/users/user_9");
    std::fs::create_dir_all(&moved)?;
    std::fs::write(
        moved.join("meta.json"),
        "{\"userId\":\"user_9\",\"state\":\"deleted\"}",
    )?;
    let moved = file(place, "moved")?;
    text(place.run(&["store", "copy", &moved, &place.address])?)?;
    let refused = place.run(&["tenant", "export", "user_9", "--output", "-"])?;
    fails(&refused, 7, &["user_9 is deleted", "restore"])?;
    fails(&place.run(&["tenant", "export", "user_1"])?, 3, &["user_1"])?;
    let climbing = ["tenant", "export", "a/../b"];
    fails(&place.run(&climbing)?, 2, &["user id"])?;
    let json = place.run(&["tenant", "export", "user_1", "--output", "-", "--json"])?;
    fails(&json, 2, &["--json"])?;
    let missing = ["tenant", "import", "user_1", "--from", "no/such/file"];
    fails(&place.run(&missing)?, 3, &["no/such/file"])?;
    let text_file = file(place, "text")?;
    std::fs::write(&text_file, "no archive")?;
    let import = ["tenant", "import", "user_1", "--from", &text_file];
    fails(&place.run(&import)?, 2, &["no gzip"])?;
    // Cut off: nothing of it is there.
    fill(place, "user_3")?;
    let archive = file(place, "user_3.tar.gz")?;
    text(place.run(&["tenant", "export", "user_3", "--output", &archive])?)?;
    let bytes = std::fs::read(&archive)?;
    std::fs::write(&archive, &bytes[..bytes.len() - 100])?;
    let target = beside(place, "empty")?;
    let import = [
        "tenant", "import", "user_3", "--from", &archive, "--store", &target,
    ];
    fails(&place.run(&import)?, 2, &["cut it off"])?;
    let listed = text(place.run(&["ls", "--store", &target, "--json"])?)?;
    ensure!(!listed.contains("user_3"), "{listed}");
    // URLs are signed with a secret only.
    let sign = ["sign", "user_1", "--url", "http://h/api/history"];
    fails(
        &place.run(&sign)?,
        2,
        &["HAVERSACK_SIGNING_SECRET", "--secret-file"],
    )?;
    let secret = file(place, "secret")?;
    std::fs::write(&secret, "0123456789abcdef\n")?;
    let with = |more: &[&str]| place.run(&[&sign[..], &["--secret-file", &secret], more].concat());
    let signed: Value = serde_json::from_str(&text(with(&["--json"])?)?)?;
    ensure!(signed["userId"] == json!("user_1"), "{signed}");
    ensure!(with(&["--expires", "2y"])?.status.code() == Some(2));
    std::fs::write(&secret, "short\n")?;
    fails(&with(&[])?, 2, &["16 to 4096"])?;
    Ok(())
}
