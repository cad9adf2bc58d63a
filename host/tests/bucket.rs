//! The command line over a bucket: it says what it says over the same files on disk, takes its flags,
//! environment and profiles, and shows no secret.

use std::path::Path;
use std::process::{Command, ExitCode, Output, Stdio};
use std::time::Instant;

use anyhow::{Context, ensure};
use haversack_host::store::credentials::Credentials;
use haversack_host::store::{BlobStore, Body, Condition, PutOptions, S3Store};
use haversack_tests::server::Server;
use haversack_tests::table::{Table, Verdict};

const PREFIX: &str = "agents of/é";
const PROMPT: [&str; 6] = [
    "prompt",
    "gsv:hera",
    "--now",
    "2026-02-20T09:30:00Z",
    "--session",
    "agent:hera:main",
];

fn main() -> ExitCode {
    let mut table = Table::default();
    let server = match Server::start() {
        Ok(server) => server,
        Err(verdict) => {
            table.add("bucket", verdict, Default::default());
            return table.finish();
        }
    };
    let filled = tokio::runtime::Runtime::new()
        .map_err(anyhow::Error::from)
        .and_then(|runtime| runtime.block_on(fill(&server)));
    type Test = fn(&Server) -> anyhow::Result<()>;
    let tests: [(&str, Test); 6] = [
        ("as on disk", as_on_disk),
        ("profiles", profiles),
        ("credentials that are wrong", wrong_credentials),
        ("addresses that are wrong", wrong_addresses),
        ("R2's short form", short_form),
        ("copies there and back", copies),
    ];
    for (name, test) in tests {
        let start = Instant::now();
        let tested = match &filled {
            Ok(()) => test(&server),
            Err(cause) => Err(anyhow::anyhow!("filling the bucket: {cause:#}")),
        };
        let verdict = match tested {
            Ok(()) => Verdict::Passed,
            Err(cause) => Verdict::Failed(format!("{cause:#}")),
        };
        table.add(name, verdict, start.elapsed());
    }
    table.finish()
}

fn example() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/store")
}

/// Put the example store into the bucket.
async fn fill(server: &Server) -> anyhow::Result<()> {
    let store = S3Store::connect(server.options(PREFIX)).map_err(|e| anyhow::anyhow!(e.message))?;
    let root = example();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir()? {
            let path = entry?.path();
            if path.is_dir() {
                if !path.ends_with(".haversack") {
                    folders.push(path);
                }
                continue;
            }
            let key = path.strip_prefix(&root)?.to_str().context("not UTF-8")?;
            let options = PutOptions {
                condition: Condition::IfAbsent,
                content_type: None,
                metadata: Vec::new(),
            };
            let body = Body::Binary(std::fs::read(&path)?);
            let put = store.put(key.to_owned(), body, options).await;
            put.map_err(|error| anyhow::anyhow!(error.message))?;
        }
    }
    Ok(())
}

/// The command without anything of this machine's own settings.
fn haversack() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_haversack"));
    for (name, _) in std::env::vars_os() {
        let name_text = name.to_string_lossy();
        if name_text.starts_with("AWS_") || name_text.starts_with("HAVERSACK_") {
            command.env_remove(&name);
        }
    }
    command
        .env("AWS_SHARED_CREDENTIALS_FILE", "no/such/file")
        .env("AWS_CONFIG_FILE", "no/such/file")
        .stdin(Stdio::null());
    command
}

fn with_keys(credentials: &Credentials) -> Command {
    let mut command = haversack();
    command
        .env("AWS_ACCESS_KEY_ID", &credentials.access_key_id)
        .env("AWS_SECRET_ACCESS_KEY", &credentials.secret_access_key);
    command
}

fn address(server: &Server) -> String {
    format!("s3://{}/{PREFIX}", server.bucket())
}

fn error_of(output: &Output, code: i32, credentials: &Credentials) -> anyhow::Result<String> {
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(
        output.status.code() == Some(code),
        "{:?}: {message}",
        output.status
    );
    ensure!(message.lines().count() == 1, "{message}");
    for secret in [&credentials.access_key_id, &credentials.secret_access_key] {
        ensure!(!message.contains(secret.as_str()), "a secret: {message}");
    }
    Ok(message)
}

fn as_on_disk(server: &Server) -> anyhow::Result<()> {
    for arguments in [
        &PROMPT[..],
        &["ls"],
        &["ls", "gsv:hera"],
        &["skills", "list", "gsv:hera"],
    ] {
        let on_disk = haversack()
            .args(arguments)
            .arg("--store")
            .arg(example())
            .output()?;
        let in_bucket = with_keys(&server.credentials())
            .args(arguments)
            .args(["--store", &address(server), "--endpoint", server.endpoint()])
            .args(["--region", "auto", "--requests-at-once", "3"])
            .output()?;
        let message = String::from_utf8_lossy(&in_bucket.stderr);
        ensure!(in_bucket.status.success(), "{arguments:?}: {message}");
        ensure!(!on_disk.stdout.is_empty(), "{arguments:?} says nothing");
        let (here, there) = (
            String::from_utf8_lossy(&on_disk.stdout),
            String::from_utf8_lossy(&in_bucket.stdout),
        );
        ensure!(
            here == there,
            "{arguments:?}: on disk {here}, in the bucket {there}"
        );
    }
    Ok(())
}

/// To the bucket, once more, changed, and back: what comes back is what went.
fn copies(server: &Server) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let (there, back) = (
        format!("s3://{}/copies", server.bucket()),
        folder.path().join("back"),
    );
    let copy = |from: &str, to: &str, more: &[&str]| {
        with_keys(&server.credentials())
            .args([
                "store",
                "copy",
                from,
                to,
                "--json",
                "--endpoint",
                server.endpoint(),
            ])
            .args(["--region", "auto"])
            .args(more)
            .output()
    };
    let counted = |output: &Output, what: &str| -> anyhow::Result<u64> {
        let summary: serde_json::Value = serde_json::from_slice(&output.stdout)?;
        summary[what]["objects"].as_u64().context(what.to_owned())
    };
    let example = example().display().to_string();
    let back_text = back.display().to_string();
    let first = copy(&example, &there, &[])?;
    ensure!(first.status.success(), "{first:?}");
    let objects = counted(&first, "copied")?;
    ensure!(objects > 20, "{objects} objects copied");
    let again = copy(&example, &there, &[])?;
    ensure!(
        counted(&again, "equal")? == objects && counted(&again, "copied")? == 0,
        "{again:?}"
    );
    ensure!(
        copy(&there, &back_text, &[])?.status.success(),
        "the way back"
    );
    let soul = back.join("agents/hera/SOUL.md");
    let expected = std::fs::read(Path::new(&example).join("agents/hera/SOUL.md"))?;
    ensure!(
        std::fs::read(&soul)? == expected,
        "what came back is something else"
    );
    std::fs::write(&soul, "changed")?;
    let different = copy(&back_text, &there, &[])?;
    ensure!(different.status.code() == Some(7), "{different:?}");
    ensure!(counted(&different, "different")? == 1, "{different:?}");
    let replaced = copy(&back_text, &there, &["--replace"])?;
    ensure!(
        replaced.status.success() && counted(&replaced, "replaced")? == 1,
        "{replaced:?}"
    );
    Ok(())
}

fn profiles(server: &Server) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("credentials");
    let Credentials {
        access_key_id,
        secret_access_key,
        ..
    } = server.credentials();
    let text = format!(
        "[work]\naws_access_key_id = {access_key_id}\naws_secret_access_key = {secret_access_key}\n\
         endpoint_url = {}\nregion = auto\n",
        server.endpoint()
    );
    std::fs::write(&file, text)?;
    let named = haversack()
        .args(PROMPT)
        .args([
            "--store",
            &address(server),
            "--profile",
            "work",
            "--credentials-file",
        ])
        .arg(&file)
        .output()?;
    ensure!(
        named.status.success(),
        "{}",
        String::from_utf8_lossy(&named.stderr)
    );
    let from_environment = haversack()
        .args(PROMPT)
        .args(["--store", &address(server)])
        .env("AWS_PROFILE", "work")
        .env("AWS_SHARED_CREDENTIALS_FILE", &file)
        .output()?;
    ensure!(from_environment.stdout == named.stdout && !named.stdout.is_empty());
    let flag = haversack()
        .args(PROMPT)
        .args(["--store", &address(server), "--endpoint", server.endpoint()])
        .args(["--access-key-id", &access_key_id])
        .env("AWS_SECRET_ACCESS_KEY", &secret_access_key)
        .output()?;
    ensure!(flag.stdout == named.stdout);
    Ok(())
}

fn wrong_credentials(server: &Server) -> anyhow::Result<()> {
    let right = server.credentials();
    let ls = |mut command: Command| {
        command
            .args([
                "ls",
                "--store",
                &address(server),
                "--endpoint",
                server.endpoint(),
            ])
            .output()
    };
    let none = error_of(&ls(haversack())?, 5, &right)?;
    ensure!(
        none.contains("AWS_ACCESS_KEY_ID") && none.contains("--profile"),
        "{none}"
    );
    let wrong = Credentials {
        secret_access_key: "hush-this-is-not-it".to_owned(),
        ..right.clone()
    };
    let refused = error_of(&ls(with_keys(&wrong))?, 5, &wrong)?;
    ensure!(refused.contains("credentials"), "{refused}");
    Ok(())
}

fn wrong_addresses(server: &Server) -> anyhow::Result<()> {
    let keys = server.credentials();
    let ls = |store: &str, endpoint: &str| {
        let arguments = ["ls", "--store", store, "--endpoint", endpoint];
        with_keys(&keys).args(arguments).output()
    };
    let missing = ls("s3://elsewhere", server.endpoint())?;
    let message = error_of(&missing, 2, &keys)?;
    ensure!(message.contains("no such bucket"), "{message}");
    for (store, endpoint, code, word) in [
        ("s3://B", server.endpoint(), 2, "bucket name"),
        ("s3://bucket", "localhost", 2, "https://"),
        // Nobody listens there.
        ("s3://bucket", "http://127.0.0.1:9", 8, "reached"),
    ] {
        let message = error_of(&ls(store, endpoint)?, code, &keys)?;
        ensure!(message.contains(word), "{message}");
    }
    Ok(())
}

/// The account gives the address, which a flag may replace.
fn short_form(server: &Server) -> anyhow::Result<()> {
    let store = format!("r2://{}/{}/{PREFIX}", "0f".repeat(16), server.bucket());
    let output = with_keys(&server.credentials())
        .args([
            "ls",
            "gsv:hera",
            "--store",
            &store,
            "--endpoint",
            server.endpoint(),
        ])
        .output()?;
    // The address says where R2 is: another place beside it could make two ends of a copy one.
    let message = error_of(&output, 2, &server.credentials())?;
    ensure!(message.contains("--endpoint"), "{message}");
    Ok(())
}
