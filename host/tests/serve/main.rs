//! The HTTP API: what is answered, what is refused, and what many and slow callers cost.

mod client;
mod inside;
mod load;
mod refusals;
mod server;

use std::path::Path;

use anyhow::{Context, ensure};
use client::Client;
use serde_json::{Value, json};
use server::{SECRET, Server, command, filled, signed};

pub fn message(number: usize) -> String {
    let timestamp = 1_706_572_800_000 + number;
    format!(
        r#"{{"id":"msg_{number}","role":"user","content":"number {number}","timestamp":{timestamp}}}"#
    )
}

/// A user with a chat of `messages`, a torn line at its end, and a broken meta.json.
pub fn user(users: &Path, user: &str, messages: usize) -> anyhow::Result<()> {
    let user = users.join(user);
    for folder in ["config", "sessions/main", "workspace/a", "skills/tea"] {
        std::fs::create_dir_all(user.join(folder))?;
    }
    let mut chat: String = (0..messages).map(|number| message(number) + "\n").collect();
    chat.push_str("{\"id\":\"torn\",\"ro");
    std::fs::write(user.join("sessions/main/messages.jsonl"), chat)?;
    std::fs::write(user.join("meta.json"), "{broken")?;
    std::fs::write(user.join("config/clawdbot.json"), "{}")?;
    std::fs::write(user.join("workspace/a/b.txt"), "12345")?;
    std::fs::write(user.join("skills/tea/SKILL.md"), "# Tea\n")?;
    Ok(std::fs::write(user.join("note.txt"), "1")?)
}

#[tokio::test]
async fn what_is_asked_is_answered() -> anyhow::Result<()> {
    let folder = filled(|users| {
        user(&users, "user_1", 1_200)?;
        user(&users, "user_10", 3)
    })?;
    let server = Server::start(folder, &[])?;
    let mut client = Client::to(&server.address).await?;
    let health = client.get("/health").await?;
    ensure!(health.json() == json!({ "status": "ok" }));
    // As `haversack sign` makes it.
    let url = format!("http://{}/api/history?limit=2", server.address);
    let output = command(&server.folder.path().join("store"))
        .args(["sign", "user_1", "--url", &url, "--expires", "15m"])
        .env("HAVERSACK_SIGNING_SECRET", SECRET)
        .output()?;
    let url = String::from_utf8(output.stdout)?;
    let path = url
        .trim()
        .strip_prefix("http://")
        .and_then(|url| url.split_once('/'));
    let (_, path) = path.context("a path")?;
    let page = client.get(&format!("/{path}")).await?;
    ensure!(page.status == 200, "{}", page.json());
    ensure!(page.header("content-type") == Some("application/json"));
    ensure!(page.header("cache-control") == Some("no-store"));
    let page = page.json();
    ensure!(
        page["messages"][1]["id"] == "msg_1199" && page["skipped"] == 1,
        "{page}"
    );
    // Paged back to the beginning, nothing is left out and nothing comes twice.
    let signature = signed("user_1");
    let mut seen: Vec<Value> = Vec::new();
    let mut cursor = String::new();
    loop {
        let path = format!("/api/history?sessionKey=main&limit=500&{signature}{cursor}");
        let mut page = client.get(&path).await?.json();
        let messages = page["messages"].as_array().cloned().context("messages")?;
        seen.splice(0..0, messages);
        match page["cursor"].take() {
            Value::String(text) => cursor = format!("&cursor={text}"),
            _ => break,
        }
    }
    let expected: Vec<Value> = (0..1_200)
        .map(|number| serde_json::from_str(&message(number)))
        .collect::<Result<_, _>>()?;
    ensure!(seen == expected, "{} messages", seen.len());
    for (limit, used) in [
        ("0", 1),
        ("-7", 1),
        ("1", 1),
        ("1000", 1_000),
        ("1001", 1_000),
    ] {
        let page = client
            .get(&format!("/api/history?limit={limit}&{signature}"))
            .await?
            .json();
        let count = page["messages"].as_array().map(Vec::len);
        ensure!(
            page["limit"] == used && count == Some(used),
            "{limit}: {}",
            page["limit"]
        );
    }
    let none = client
        .get(&format!("/api/history?sessionKey=other&{signature}"))
        .await?;
    ensure!(none.status == 200 && none.json()["messages"] == json!([]));
    let usage = client
        .get(&format!("/api/storage/usage?{signature}"))
        .await?
        .json();
    let chat = server
        .folder
        .path()
        .join("store/users/user_1/sessions/main/messages.jsonl");
    let chat_bytes = std::fs::metadata(chat)?.len();
    ensure!(
        usage
            == json!({
                "userId": "user_1",
                "objects": 6,
                "sizeBytes": chat_bytes + 7 + 2 + 5 + 6 + 1,
                "storedBytes": null,
                "categories": {
                    "config": { "objects": 1, "sizeBytes": 2 },
                    "sessions": { "objects": 1, "sizeBytes": chat_bytes },
                    "workspace": { "objects": 1, "sizeBytes": 5 },
                    "skills": { "objects": 1, "sizeBytes": 6 },
                    "other": { "objects": 1, "sizeBytes": 1 },
                    "meta": { "objects": 1, "sizeBytes": 7 },
                },
            }),
        "{usage}"
    );
    Ok(())
}

/// What is exported over HTTP is imported by the command, byte for byte.
#[tokio::test]
async fn an_export_comes_back() -> anyhow::Result<()> {
    let folder = filled(|users| {
        user(&users, "user_1", 100)?;
        Ok(std::fs::write(
            users.join("user_1/workspace/big"),
            vec![7; 20 << 20],
        )?)
    })?;
    let server = Server::start(folder, &[])?;
    let mut client = Client::to(&server.address).await?;
    let path = format!("/api/storage/export?{}", signed("user_1"));
    let reply = client.get(&path).await?;
    ensure!(reply.status == 200);
    ensure!(reply.header("content-type") == Some("application/gzip"));
    let disposition = reply.header("content-disposition").unwrap_or_default();
    ensure!(disposition.contains("\"user_1.tar.gz\""), "{disposition}");
    // The connection is good for more, and so is the user.
    ensure!(client.get(&path).await?.body.len() > 1_000);
    let file = server.folder.path().join("a.tar.gz");
    std::fs::write(&file, &reply.body)?;
    let target = server.folder.path().join("target");
    std::fs::create_dir(&target)?;
    let output = command(&target)
        .args(["tenant", "import", "user_1", "--from"])
        .arg(&file)
        .output()?;
    ensure!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let same = std::process::Command::new("diff")
        .arg("-r")
        .arg(server.folder.path().join("store/users"))
        .arg(target.join("users"))
        .output()?;
    ensure!(
        same.status.success(),
        "{}",
        String::from_utf8_lossy(&same.stdout)
    );
    Ok(())
}

/// Told to stop, it takes nobody new and ends what is under way; nothing secret is in its log.
#[tokio::test]
async fn it_stops_when_all_is_answered() -> anyhow::Result<()> {
    let folder = filled(|users| {
        user(&users, "user_1", 10)?;
        let noise: Vec<u8> = (0..32u32 << 20)
            .map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8)
            .collect();
        Ok(std::fs::write(users.join("user_1/workspace/big"), noise)?)
    })?;
    let server = Server::start(folder, &[])?;
    let signature = signed("user_1");
    let mut client = Client::to(&server.address).await?;
    client.get(&format!("/api/history?{signature}")).await?;
    client
        .get("/api/history?userId=user_1&exp=1&sig=abc")
        .await?;
    client.get("/secret-path").await?;
    client
        .ask("GET", &format!("/api/storage/export?{signature}"), "")
        .await?;
    let (status, headers) = client.head().await?;
    ensure!(status == 200);
    server.terminate()?;
    let reply = client::Reply {
        status,
        headers,
        body: Vec::new(),
    };
    // New ones are refused once it heard; those under way go on.
    for _ in 0..500 {
        if Client::to(&server.address).await.is_err() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    ensure!(
        Client::to(&server.address).await.is_err(),
        "it still takes connections"
    );
    let mut length = 0;
    while let Some(part) = client.part(&reply).await? {
        length += part.len();
    }
    ensure!(length > 1 << 10, "{length}");
    let (status, log) = server.ended()?;
    ensure!(status.success(), "{status}: {log}");
    ensure!(log.contains("/api/history") && log.contains("401"), "{log}");
    let sig = signature.rsplit('=').next().context("a signature")?;
    for secret in [SECRET, sig, "user_1", "abc", "exp=", "secret-path"] {
        ensure!(!log.contains(secret), "{secret} is in {log}");
    }
    Ok(())
}
