//! `haversack serve` as a process of its own over a store on disk, ended with the test. Knows no HTTP.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;

use anyhow::{Context, ensure};
use haversack_host::serve::Secret;

pub const SECRET: &str = "a secret of the tests, thirty-two";

pub struct Server {
    pub folder: tempfile::TempDir,
    child: Child,
    pub address: String,
    log: Option<JoinHandle<String>>,
}

/// The command without what this machine's environment says.
pub fn command(store: &std::path::Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_haversack"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("HAVERSACK_S") {
            command.env_remove(&name);
        }
    }
    command.arg("--store").arg(store).stdin(Stdio::null());
    command
}

/// A store with a user's files, which `fill` lays below `users/`.
pub fn filled(
    fill: impl FnOnce(PathBuf) -> anyhow::Result<()>,
) -> anyhow::Result<tempfile::TempDir> {
    let folder = tempfile::tempdir()?;
    let users = folder.path().join("store/users");
    std::fs::create_dir_all(&users)?;
    fill(users)?;
    Ok(folder)
}

impl Server {
    pub fn start(folder: tempfile::TempDir, more: &[&str]) -> anyhow::Result<Self> {
        let mut child = command(&folder.path().join("store"))
            .args(["serve", "--listen", "127.0.0.1:0"])
            .args(more)
            .env("HAVERSACK_SIGNING_SECRET", SECRET)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        let output = child.stdout.take().context("an output")?;
        BufReader::new(output).read_line(&mut line)?;
        let mut errors = child.stderr.take().context("a log")?;
        let log = std::thread::spawn(move || {
            let mut text = String::new();
            let _ = errors.read_to_string(&mut text);
            text
        });
        let address = line
            .trim()
            .strip_prefix("listening on http://")
            .map(str::to_owned);
        let server = Server {
            folder,
            child,
            address: address.unwrap_or_default(),
            log: Some(log),
        };
        ensure!(!server.address.is_empty(), "it said {line:?}");
        Ok(server)
    }

    /// The most memory that it had, in MiB.
    pub fn peak_mib(&self) -> anyhow::Result<u64> {
        peak_mib(self.child.id())
    }

    pub fn terminate(&self) -> anyhow::Result<()> {
        let id = self.child.id().to_string();
        let killed = Command::new("kill").args(["-TERM", &id]).status()?;
        ensure!(killed.success());
        Ok(())
    }

    /// How it ended, and all that it logged.
    pub fn ended(mut self) -> anyhow::Result<(ExitStatus, String)> {
        let status = self.child.wait()?;
        let log = self.log.take().context("a log")?;
        Ok((status, log.join().unwrap_or_default()))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Of a process that runs.
pub fn peak_mib(process: u32) -> anyhow::Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = peak.and_then(|peak| peak.trim().strip_suffix("kB"));
    Ok(kib.context("no VmHWM")?.trim().parse::<u64>()? >> 10)
}

/// The parameters that sign for a user for an hour.
pub fn signed(user: &str) -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let exp = now.map_or(0, |now| now.as_secs()) + 3_600;
    let secret = Secret::new(SECRET.as_bytes()).expect("a secret");
    format!("userId={user}&exp={exp}&sig={}", secret.sign(user, exp))
}
