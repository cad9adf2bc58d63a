//! A store of a test's own, and the command over it. Where the store lies, this alone knows.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, ensure};
use haversack_tests::server::Server;
use serde_json::Value;

pub const KEY: &str = "agent:hera:main";

pub struct Place {
    pub folder: tempfile::TempDir,
    pub address: String,
    environment: Vec<(&'static str, String)>,
    /// Where a worker unpacks what is posted to it, in a bucket's place.
    pub worker: Option<String>,
}

impl Place {
    pub fn on_disk() -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let store = folder.path().join("store");
        std::fs::create_dir(&store)?;
        Ok(Self {
            address: store.display().to_string(),
            folder,
            environment: Vec::new(),
            worker: None,
        })
    }

    pub fn in_bucket(server: &Server, number: usize) -> anyhow::Result<Self> {
        let keys = server.credentials();
        let origin = server.endpoint().splitn(4, '/').take(3);
        Ok(Self {
            folder: tempfile::tempdir()?,
            address: format!("s3://{}/life-{number}", server.bucket()),
            environment: vec![
                ("AWS_ENDPOINT_URL_S3", server.endpoint().to_owned()),
                ("AWS_REGION", "auto".to_owned()),
                ("AWS_ACCESS_KEY_ID", keys.access_key_id),
                ("AWS_SECRET_ACCESS_KEY", keys.secret_access_key),
            ],
            worker: Some(origin.collect::<Vec<_>>().join("/")),
        })
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_haversack"));
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("AWS_") || text.starts_with("HAVERSACK_") {
                command.env_remove(&name);
            }
        }
        command
            .env("AWS_SHARED_CREDENTIALS_FILE", "no/such/file")
            .env("AWS_CONFIG_FILE", "no/such/file")
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .env("HAVERSACK_STORE", &self.address)
            .args(arguments)
            .stdin(Stdio::null());
        command
    }

    pub fn run(&self, arguments: &[&str]) -> anyhow::Result<Output> {
        Ok(self.command(arguments).output()?)
    }

    /// `haversack GROUP ACTION gsv:hera --session agent:hera:main MORE…`
    pub fn on_main(&self, words: &[&str], more: &[&str]) -> anyhow::Result<Output> {
        self.run(&[words, &["gsv:hera", "--session", KEY], more].concat())
    }

    /// What it prints, where it succeeds.
    pub fn printed(&self, words: &[&str], more: &[&str]) -> anyhow::Result<String> {
        text(self.on_main(words, more)?)
    }

    pub fn json(&self, words: &[&str], more: &[&str]) -> anyhow::Result<Value> {
        let printed = self.printed(words, &[more, &["--json"]].concat())?;
        Ok(serde_json::from_str(&printed)?)
    }

    /// What it prints of the whole home.
    pub fn of_home(&self, words: &[&str], more: &[&str]) -> anyhow::Result<String> {
        text(self.run(&[words, &["gsv:hera"], more].concat())?)
    }

    /// Append from standard input.
    pub fn append(&self, messages: &[String], more: &[&str]) -> anyhow::Result<Output> {
        self.fed(&["sessions", "append"], messages, more)
    }

    /// As [`Place::on_main`], with messages on standard input.
    pub fn fed(
        &self,
        words: &[&str],
        messages: &[String],
        more: &[&str],
    ) -> anyhow::Result<Output> {
        let line = [words, &["gsv:hera", "--session", KEY], more].concat();
        let mut child = self
            .command(&line)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let mut input = child.stdin.take().context("no pipe")?;
        // One that refuses early does not read to the end.
        let _ = input.write_all(messages.join("\n").as_bytes());
        drop(input);
        Ok(child.wait_with_output()?)
    }

    /// A folder that holds what the store holds, as other tools would see it.
    pub fn copied(&self) -> anyhow::Result<PathBuf> {
        let to = self.folder.path().join("copy");
        let to_text = to.to_str().context("UTF-8")?;
        text(self.run(&["store", "copy", &self.address, to_text, "--replace"])?)?;
        Ok(to)
    }

    /// A program that answers every question with `reply`, and keeps the questions in the file beside it.
    pub fn model(&self, name: &str, reply: &str) -> anyhow::Result<String> {
        let program = self.folder.path().join(name);
        let questions = self.questions(name);
        let script = format!(
            "cat >> '{}'\ncat <<'END'\n{reply}\nEND\n",
            questions.display()
        );
        std::fs::write(&program, script)?;
        Ok(format!("sh '{}'", program.display()))
    }

    pub fn questions(&self, name: &str) -> PathBuf {
        self.folder.path().join(format!("{name}.questions"))
    }
}

/// Messages of a user and an agent in turn, each of about `words` words.
pub fn messages(count: usize, words: usize) -> Vec<String> {
    let message = |number: usize| {
        let role = if number.is_multiple_of(2) {
            "user"
        } else {
            "assistant"
        };
        let text = "greenhouse ".repeat(words);
        format!(r#"{{"role":"{role}","content":"number {number}: {text}é"}}"#)
    };
    (0..count).map(message).collect()
}

pub fn text(output: Output) -> anyhow::Result<String> {
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{:?}: {said}", output.status);
    Ok(String::from_utf8(output.stdout)?)
}

/// The exit code, and one line on standard error that names these.
pub fn fails(output: &Output, code: i32, names: &[&str]) -> anyhow::Result<()> {
    let message = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.code() == Some(code),
        "{:?}: {message}",
        output.status
    );
    ensure!(
        message.lines().count() == 1,
        "more than one line: {message}"
    );
    for name in names {
        ensure!(message.contains(name), "{message:?} does not name {name:?}");
    }
    Ok(())
}

/// The file's bytes.
pub fn bytes(path: &Path) -> anyhow::Result<Vec<u8>> {
    std::fs::read(path).with_context(|| path.display().to_string())
}
