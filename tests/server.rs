//! Cloudflare's R2 on this machine (miniflare, `tests/miniflare/`), started for one test program and ended
//! with it. Knows how to get it running, not what is tested.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail, ensure};
use haversack_host::store::credentials::Credentials;
use haversack_host::store::s3::faults::Faults;
use haversack_host::store::s3::{REQUESTS_AT_ONCE, Retry, S3Options};
use serde::Deserialize;

use crate::table::Verdict;

/// For the server to end by itself.
const END_TIME: Duration = Duration::from_secs(10);
const FILES: [&str; 4] = ["package.json", "package-lock.json", ".npmrc", "serve.mjs"];

/// A server with one empty bucket. It ends when this is dropped, and when the program ends otherwise.
pub struct Server {
    child: Child,
    /// The server reads its input to the end, which comes with ours.
    talk: Mutex<Option<(ChildStdin, BufReader<ChildStdout>)>>,
    said: Said,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Said {
    endpoint: String,
    bucket: String,
    access_key_id: String,
    secret_access_key: String,
}

impl Server {
    /// Install what it needs, once for a build's folder, and start it. The error is the verdict for the
    /// rows that need it: [`Verdict::NoTool`] where Node is missing.
    pub fn start() -> Result<Self, Verdict> {
        for tool in ["node", "npm"] {
            let found = Command::new(tool)
                .arg("--version")
                .stdout(Stdio::null())
                .status();
            if !found.is_ok_and(|status| status.success()) {
                return Err(Verdict::NoTool(format!("{tool} is not there")));
            }
        }
        Self::run().map_err(|cause| Verdict::Failed(format!("miniflare: {cause:#}")))
    }

    fn run() -> anyhow::Result<Self> {
        let folder = installed()?;
        let mut child = Command::new("node")
            .arg("serve.mjs")
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = child.stdin.take().context("no input")?;
        let mut output = BufReader::new(child.stdout.take().context("no output")?);
        let mut line = String::new();
        let read = output.read_line(&mut line).map_err(anyhow::Error::from);
        let said = read.and_then(|_| Ok(serde_json::from_str(&line)?));
        match said.context("it does not say where it is") {
            Ok(said) => Ok(Server {
                child,
                talk: Mutex::new(Some((input, output))),
                said,
            }),
            Err(cause) => {
                drop(input);
                let _ = child.wait();
                Err(cause)
            }
        }
    }

    /// Put an object of any name, as another program does.
    pub fn put_foreign(&self, name: &str) -> anyhow::Result<()> {
        let mut talk = self.talk.lock().map_err(|_| anyhow!("a test broke off"))?;
        let (input, output) = talk.as_mut().context("the server has ended")?;
        writeln!(input, "{}", serde_json::to_string(name)?)?;
        let mut line = String::new();
        output.read_line(&mut line)?;
        ensure!(line == "done\n", "putting {name:?}: {line:?}");
        Ok(())
    }

    pub fn endpoint(&self) -> &str {
        &self.said.endpoint
    }

    pub fn bucket(&self) -> &str {
        &self.said.bucket
    }

    pub fn credentials(&self) -> Credentials {
        Credentials {
            access_key_id: self.said.access_key_id.clone(),
            secret_access_key: self.said.secret_access_key.clone(),
            session_token: None,
        }
    }

    /// What opens a store in the bucket, below `prefix`.
    pub fn options(&self, prefix: &str) -> S3Options {
        S3Options {
            endpoint: Some(self.said.endpoint.clone()),
            region: "auto".to_owned(),
            bucket: self.said.bucket.clone(),
            prefix: prefix.to_owned(),
            credentials: self.credentials(),
            requests_at_once: REQUESTS_AT_ONCE,
            retry: Retry::default(),
            connector: None,
        }
    }

    /// The same, with faults on order in between.
    pub fn faulty_options(&self, prefix: &str, faults: &Faults) -> S3Options {
        S3Options {
            connector: Some(Arc::new(faults.clone())),
            ..self.options(prefix)
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It ends with its input, and ends what it started; a kill would leave that behind.
        if let Ok(mut talk) = self.talk.lock() {
            talk.take();
        }
        let since = Instant::now();
        while since.elapsed() < END_TIME {
            if let Ok(Some(_)) = self.child.try_wait() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The folder with miniflare in it, in the build's own. Whoever comes first installs, others wait.
fn installed() -> anyhow::Result<PathBuf> {
    // target/PROFILE/deps/PROGRAM
    let program = std::env::current_exe()?;
    let target = program
        .ancestors()
        .nth(3)
        .context("no build folder around this program")?;
    let folder = target.join("miniflare");
    std::fs::create_dir_all(&folder)?;
    let lock = File::create(folder.join("lock"))?;
    lock.lock()?;
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("miniflare");
    let stamp = folder.join("installed");
    let wanted = std::fs::read_to_string(source.join("package-lock.json"))?;
    for file in FILES {
        let (from, to) = (source.join(file), folder.join(file));
        let text = std::fs::read(from).with_context(|| file.to_owned())?;
        // A server of another program may be reading them at this moment.
        if std::fs::read(&to).ok().as_ref() != Some(&text) {
            std::fs::write(to, text)?;
        }
    }
    if std::fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) {
        return Ok(folder);
    }
    // Its programs come in its packages; nothing of it needs to run to be installed.
    let output = Command::new("npm")
        .args(["ci", "--no-audit", "--no-fund", "--ignore-scripts"])
        .current_dir(&folder)
        .stdin(Stdio::null())
        .output()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "npm ci failed: {said}");
    if !folder.join("node_modules/miniflare").is_dir() {
        bail!("npm ci installed no miniflare");
    }
    std::fs::write(&stamp, wanted)?;
    Ok(folder)
}
