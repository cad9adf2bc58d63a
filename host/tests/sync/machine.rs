//! A machine with a user's directory, and a sync of it that runs. What the store holds, as other tools see it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::place::{Place, text};

pub const USER: &str = "moltbot:user_1";
/// Far longer than anything takes; only a hang meets it.
const BOUND: Duration = Duration::from_secs(60);

/// Files by their paths, with what is in them.
pub type Files = BTreeMap<String, Vec<u8>>;

pub struct Machine<'p> {
    place: &'p Place,
    pub root: PathBuf,
}

impl<'p> Machine<'p> {
    pub fn new(place: &'p Place, name: &str) -> anyhow::Result<Self> {
        let root = place.folder.path().join(name);
        std::fs::create_dir(&root)?;
        Ok(Machine { place, root })
    }

    /// Of a file in the workspace; without a name, of that itself.
    pub fn path(&self, name: &str) -> PathBuf {
        let workspace = self.root.join("root/clawd/workspace");
        if name.is_empty() {
            workspace
        } else {
            workspace.join(name)
        }
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> anyhow::Result<()> {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().context("a folder")?)?;
        Ok(std::fs::write(path, content)?)
    }

    pub fn remove(&self, name: &str) -> anyhow::Result<()> {
        Ok(std::fs::remove_file(self.path(name))?)
    }

    /// `haversack tenant sync moltbot:user_1 DIR MORE…`
    pub fn sync(&self, more: &[&str]) -> anyhow::Result<Output> {
        self.sync_of(USER, more)
    }

    pub fn sync_of(&self, user: &str, more: &[&str]) -> anyhow::Result<Output> {
        let root = self.root.to_str().context("UTF-8")?;
        self.place
            .run(&[&["tenant", "sync", user, root], more].concat())
    }

    /// Compare everything once; the events, the last of which says how it ended.
    pub fn once(&self) -> anyhow::Result<Vec<Value>> {
        let printed = text(self.sync(&["--once", "--json"])?)?;
        let lines = printed.lines();
        Ok(lines.map(serde_json::from_str).collect::<Result<_, _>>()?)
    }

    /// As [`Machine::once`], killed after a while unless it ended before.
    pub fn killed_after(&self, time: Duration) -> anyhow::Result<()> {
        let root = self.root.to_str().context("UTF-8")?;
        let line = ["tenant", "sync", USER, root, "--once"];
        let mut child = self
            .place
            .command(&line)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        std::thread::sleep(time);
        child.kill()?;
        child.wait()?;
        Ok(())
    }

    /// Begin to sync, and go on.
    pub fn start(&self, more: &[&str]) -> anyhow::Result<Running> {
        let root = self.root.to_str().context("UTF-8")?;
        let line = [&["tenant", "sync", USER, root, "--json"], more].concat();
        let said = self.place.folder.path().join("said");
        let mut child = self
            .place
            .command(&line)
            .stdout(Stdio::piped())
            .stderr(File::create(&said)?)
            .spawn()?;
        let output = BufReader::new(child.stdout.take().context("no output")?);
        let (sender, events) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Running {
            child,
            events,
            said,
            heard: Vec::new(),
        })
    }

    /// The user's files here, by their keys in the store.
    pub fn files(&self) -> anyhow::Result<Files> {
        let mut files = Files::new();
        for (prefix, place) in [
            ("config", "root/.clawdbot"),
            ("skills", "root/clawd/skills"),
            ("workspace", "root/clawd/workspace"),
        ] {
            collect(&self.root.join(place), prefix, &mut files)?;
        }
        Ok(files)
    }

    /// The same on both sides, and nothing of the sync's own left in the store.
    pub fn is_in_the_store(&self) -> anyhow::Result<Files> {
        let (here, there) = (self.files()?, there(self.place)?);
        let names = |files: &Files| files.keys().cloned().collect::<Vec<_>>();
        ensure!(
            names(&here) == names(&there),
            "{:?} here, {:?} there",
            names(&here),
            names(&there)
        );
        ensure!(here == there, "other content");
        Ok(here)
    }
}

/// Everything that the store has of the user.
pub fn there(place: &Place) -> anyhow::Result<Files> {
    let copy = tempfile::tempdir_in(place.folder.path())?;
    let to = copy.path().to_str().context("UTF-8")?;
    text(place.run(&["store", "copy", &place.address, to])?)?;
    let mut files = Files::new();
    collect(&copy.path().join("users/user_1"), "", &mut files)?;
    Ok(files)
}

fn collect(folder: &Path, prefix: &str, files: &mut Files) -> anyhow::Result<()> {
    let Ok(entries) = folder.read_dir() else {
        return Ok(());
    };
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_str().context("UTF-8")?;
        let key = match prefix {
            "" => name.to_owned(),
            prefix => format!("{prefix}/{name}"),
        };
        match entry.file_type()? {
            kind if kind.is_dir() => collect(&entry.path(), &key, files)?,
            kind if kind.is_file() => _ = files.insert(key, std::fs::read(entry.path())?),
            _ => {}
        }
    }
    Ok(())
}

/// A sync under way. It ends with this.
pub struct Running {
    child: Child,
    events: Receiver<String>,
    said: PathBuf,
    heard: Vec<Value>,
}

impl Running {
    /// The next event for which `is` holds; those before it are passed over.
    pub fn wait(&mut self, what: &str, is: impl Fn(&Value) -> bool) -> anyhow::Result<Value> {
        let start = Instant::now();
        loop {
            let left = BOUND.saturating_sub(start.elapsed());
            let Ok(line) = self.events.recv_timeout(left) else {
                let said = std::fs::read_to_string(&self.said)?;
                bail!("never {what}: {:#?} {said}", self.heard);
            };
            let event: Value = serde_json::from_str(&line)?;
            self.heard.push(event.clone());
            if is(&event) {
                return Ok(event);
            }
        }
    }

    /// Everything was compared.
    pub fn at_rest(&mut self) -> anyhow::Result<()> {
        self.wait("at rest", |event| event["event"] == "at-rest")
            .map(drop)
    }

    /// These happened to these paths, in whatever order.
    pub fn settled(&mut self, expected: &[(&str, &str)]) -> anyhow::Result<()> {
        let mut missing: Vec<(&str, &str)> = expected.to_vec();
        while let Some(first) = missing.first() {
            let what = format!("{first:?}");
            let event = self.wait(&what, |event| event["event"] == "settled")?;
            missing.retain(|(step, key)| event["step"] != *step || event["key"] != *key);
        }
        Ok(())
    }

    pub fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        let pid = Pid::from_child(&self.child);
        Ok(kill_process(pid, signal)?)
    }

    /// Wait for its end; the exit code, and the last event.
    pub fn end(mut self) -> anyhow::Result<(Option<i32>, Value)> {
        let last = self.wait("ended", |event| event["event"] == "ended")?;
        let status = self.child.wait()?;
        Ok((status.code(), last))
    }

    /// SIGTERM, after which nothing is left.
    pub fn stop(self) -> anyhow::Result<Value> {
        self.signal(Signal::TERM)?;
        let (code, last) = self.end()?;
        ensure!(code == Some(0), "{code:?} {last}");
        ensure!(last["left"] == 0 && last["failed"] == 0, "{last}");
        Ok(last)
    }

    /// SIGKILL.
    pub fn kill(mut self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Events of one kind, by the path that they are about.
pub fn steps(events: &[Value]) -> Vec<(String, String)> {
    let settled = events.iter().filter(|event| event["event"] == "settled");
    let text = |event: &Value, member: &str| event[member].as_str().unwrap_or_default().to_owned();
    settled
        .map(|event| (text(event, "step"), text(event, "key")))
        .collect()
}

/// Exactly these steps, sorted.
pub fn did(events: &[Value], expected: &[(&str, &str)]) -> anyhow::Result<()> {
    let mut found = steps(events);
    found.sort();
    let mut expected: Vec<_> = expected
        .iter()
        .map(|(step, key)| ((*step).to_owned(), (*key).to_owned()))
        .collect();
    expected.sort();
    ensure!(found == expected, "{found:?} is not {expected:?}");
    Ok(())
}
