//! Many callers at once, and a slow one: nobody gets an error, and memory has a bound.

use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::ensure;

use crate::client::{Client, Reply};
use crate::server::{Server, command, filled, peak_mib, signed};
use crate::user;

const CLIENTS: usize = 200;
const REQUESTS_EACH: usize = 15;
/// Of the whole process, whatever its clients do; 58 and 78 were measured.
const PEAK_MIB_MAX: u64 = 192;
const IMPORT_PEAK_MIB_MAX: u64 = 256;

/// 200 connections at the same time, 3,000 requests of ten users.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_clients() -> anyhow::Result<()> {
    let folder = filled(|users| {
        (0..10).try_for_each(|number| user(&users, &format!("user_{number}"), 300))
    })?;
    let server = Server::start(folder, &[])?;
    let connected = std::sync::Arc::new(tokio::sync::Barrier::new(CLIENTS));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| {
            let (address, connected) = (server.address.clone(), connected.clone());
            tokio::spawn(async move {
                let user = format!("user_{}", number % 10);
                let signature = signed(&user);
                let mut client = Client::to(&address).await?;
                connected.wait().await;
                for request in 0..REQUESTS_EACH {
                    let usage = request % 5 == 4;
                    let reply = match usage {
                        true => {
                            client
                                .get(&format!("/api/storage/usage?{signature}"))
                                .await?
                        }
                        false => {
                            client
                                .get(&format!("/api/history?limit=50&{signature}"))
                                .await?
                        }
                    };
                    ensure!(reply.status == 200, "{}: {}", reply.status, reply.json());
                    let reply = reply.json();
                    let right = match usage {
                        true => reply["userId"] == user && reply["objects"] == 6,
                        false => reply["messages"][49]["id"] == "msg_299",
                    };
                    ensure!(right, "{reply}");
                }
                anyhow::Ok(())
            })
        })
        .collect();
    for client in clients {
        client.await??;
    }
    if cfg!(target_os = "linux") {
        let peak = server.peak_mib()?;
        println!("{CLIENTS} clients: {peak} MiB");
        ensure!(peak < PEAK_MIB_MAX, "{peak} MiB");
    }
    Ok(())
}

/// 300 MiB to somebody who takes them slowly, with others in between; and a second export of the same user.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_reader() -> anyhow::Result<()> {
    const MIB: usize = 1 << 20;
    let folder = filled(|users| {
        user(&users, "user_1", 10)?;
        for number in 0..3u32 {
            let mut state = number + 1;
            let next = |_| {
                state ^= state << 13;
                state ^= state >> 17;
                state ^= state << 5;
                state.to_le_bytes()
            };
            // No compressor of gzip looks back so far.
            let noise: Vec<u8> = (0..MIB / 4).flat_map(next).collect();
            let path = users.join(format!("user_1/workspace/{number}"));
            std::fs::write(path, noise.repeat(100))?;
        }
        Ok(())
    })?;
    let server = Server::start(folder, &[])?;
    let path = format!("/api/storage/export?{}", signed("user_1"));
    let mut slow = Client::to(&server.address).await?;
    slow.ask("GET", &path, "").await?;
    let (status, headers) = slow.head().await?;
    ensure!(status == 200);
    let reply = Reply {
        status,
        headers,
        body: Vec::new(),
    };
    let archive = server.folder.path().join("user_1.tar.gz");
    let mut file = std::fs::File::create(&archive)?;
    let (mut taken, mut next) = (0, 0);
    while let Some(part) = slow.part(&reply).await? {
        taken += part.len();
        file.write_all(&part)?;
        if taken < next {
            continue;
        }
        next += 32 * MIB;
        tokio::time::sleep(Duration::from_millis(100)).await;
        let mut other = Client::to(&server.address).await?;
        let second = other.get(&path).await?;
        ensure!(second.status == 429 && second.header("retry-after") == Some("1"));
        let history = other
            .get(&format!("/api/history?{}", signed("user_1")))
            .await?;
        ensure!(history.status == 200);
    }
    ensure!(taken > 300 * MIB, "{taken}");
    // One that was given up makes room for another.
    let mut given_up = Client::to(&server.address).await?;
    given_up.ask("GET", &path, "").await?;
    ensure!(given_up.head().await?.0 == 200, "the first one is over");
    drop(given_up);
    let mut tries = 0..1_000;
    while tries.next().is_some() {
        let mut another = Client::to(&server.address).await?;
        another.ask("GET", &path, "").await?;
        if another.head().await?.0 == 200 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    ensure!(!tries.is_empty(), "nobody noticed that it was given up");
    if cfg!(target_os = "linux") {
        let peak = server.peak_mib()?;
        println!("a slow reader: {peak} MiB");
        ensure!(peak < PEAK_MIB_MAX, "{peak} MiB");
    }
    imported(&server, &archive)
}

/// The same, taken back: 300 MiB of files, and no more memory than a copy.
fn imported(server: &Server, archive: &Path) -> anyhow::Result<()> {
    let target = server.folder.path().join("target");
    std::fs::create_dir(&target)?;
    let mut import = command(&target)
        .args(["tenant", "import", "user_1", "--from"])
        .arg(archive)
        .arg("--scratch")
        .arg(server.folder.path())
        .stdout(Stdio::null())
        .spawn()?;
    let mut peak = 0;
    let status = loop {
        // The kernel's own maximum, so that looking now and then is enough.
        peak = peak_mib(import.id()).unwrap_or(peak);
        if let Some(status) = import.try_wait()? {
            break status;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    ensure!(status.success(), "{status}");
    let big = std::fs::metadata(target.join("users/user_1/workspace/2"))?;
    ensure!(big.len() == 100 << 20);
    println!("import: {peak} MiB");
    ensure!(peak < IMPORT_PEAK_MIB_MAX, "{peak} MiB");
    Ok(())
}
