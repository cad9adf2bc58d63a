//! Archives through the library: what goes in comes out, and what is not whole, not right or not his is refused.

mod refusals;
mod tars;

use std::process::{Command, Stdio};
use std::sync::Arc;

use futures_util::StreamExt;
use haversack_host::Owner;
use haversack_host::archive::{Export, ImportOptions, Limits, Unpacked, import, unpack};
use haversack_host::store::{
    Answer, BlobStore, Body, BodyKind, Condition, Error, ErrorCode, GetRequest, ListRequest,
    MemoryStore, PutOptions, Range, Request, check, value,
};

pub type Store = Arc<dyn BlobStore>;

pub fn owner(user: &str) -> Owner {
    Owner::of_meta_key(user, &format!("users/{user}/meta.json")).expect("a key")
}

pub fn memory() -> Store {
    Arc::new(MemoryStore::new(true))
}

pub async fn put(store: &Store, key: &str, bytes: &[u8]) -> Result<(), Error> {
    let always = check::plain(Condition::Always);
    let body = Body::Binary(bytes.to_vec());
    store.put(key.to_owned(), body, always).await.map(drop)
}

/// Parts of 8 MiB joined, because no put takes more.
async fn put_large(store: &Store, key: &str, seed: u64, parts: u64) -> Result<(), Error> {
    let mut upload = store
        .upload(key.to_owned(), check::plain(Condition::Always))
        .await?;
    for part in 0..parts {
        upload.write(noise(seed + part, 8 << 20)).await?;
    }
    upload.finish().await.map(drop)
}

/// Bytes that no compressor makes less of.
pub fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..length).map(|_| next()).collect()
}

pub async fn exported(store: &Store, user: &str) -> Result<Vec<u8>, Error> {
    let export = Export::open(store.clone(), owner(user)).await?;
    let mut stream = std::pin::pin!(export.expect("the user is there").stream());
    let mut bytes = Vec::new();
    while let Some(piece) = stream.next().await {
        bytes.extend(piece?);
    }
    Ok(bytes)
}

pub async fn unpacked(archive: &[u8], user: &str) -> Result<(Store, Unpacked), Error> {
    let staging = memory();
    let input = std::io::Cursor::new(archive.to_vec());
    let limits = Limits::default();
    let found = unpack(input, &*staging, &owner(user), limits, &|_| ()).await?;
    Ok((staging, found))
}

/// Key, content type, metadata and SHA-256 of everything.
async fn contents(store: &Store) -> Vec<(String, Option<String>, Vec<(String, String)>, String)> {
    let list = ListRequest {
        prefix: String::new(),
        delimiter: false,
        start_after: None,
        cursor: None,
        limit: None,
    };
    let Some(Ok(Answer::Listing(page))) = store.read(vec![Request::List(list)]).await.pop() else {
        panic!("no list");
    };
    let mut contents = Vec::new();
    for entry in page.entries {
        let mut bytes = Vec::new();
        while (bytes.len() as u64) < entry.size_bytes {
            let range = Range::Span(haversack_host::store::Span {
                start_bytes: bytes.len() as u64,
                length_bytes: 8 << 20,
            });
            let key = entry.key.clone();
            let kind = BodyKind::Binary;
            let get = Request::Get(GetRequest { key, range, kind });
            let Some(Ok(Answer::Blob(Some(blob)))) = store.read(vec![get]).await.pop() else {
                panic!("no {}", entry.key);
            };
            bytes.extend(value::into_bytes(blob.body));
        }
        let head = Request::Head(entry.key.clone());
        let Some(Ok(Answer::Head(Some(stat)))) = store.read(vec![head]).await.pop() else {
            panic!("no {}", entry.key);
        };
        let hash = value::version(&bytes);
        contents.push((entry.key, stat.content_type, stat.metadata, hash));
    }
    contents
}

#[tokio::test]
async fn what_goes_in_comes_out() -> Result<(), Error> {
    let store = memory();
    put(&store, "users/user_1/meta.json", b"{").await?;
    put(&store, "users/user_1/workspace/empty", b"").await?;
    put(&store, "users/user_1/workspace/a \"quoted\" name", b"x").await?;
    put(
        &store,
        "users/user_1/workspace/gr\u{fc}n \u{6f22}\u{5b57}",
        b"x",
    )
    .await?;
    let deep = format!(
        "users/user_1/workspace/{}/{}",
        "d".repeat(250),
        "e".repeat(250)
    );
    put(&store, &deep, b"deep").await?;
    put_large(&store, "users/user_1/workspace/large", 1, 3).await?;
    let options = PutOptions {
        condition: Condition::Always,
        content_type: Some("application/jsonl".to_owned()),
        metadata: vec![
            ("log-format".to_owned(), "1".to_owned()),
            ("note".to_owned(), "gr\u{fc}n = a\u{6f22}".to_owned()),
        ],
    };
    let body = Body::Text("{}\n".to_owned());
    let key = "users/user_1/sessions/main/messages.jsonl".to_owned();
    store.put(key, body, options).await?;
    let before = contents(&store).await;
    // Its neighbours are not its own.
    put(&store, "users/user_10/meta.json", b"{}").await?;
    put(&store, "users/user_1.json", b"{}").await?;

    let archive = exported(&store, "user_1").await?;
    let (staging, found) = unpacked(&archive, "user_1").await?;
    assert_eq!(contents(&staging).await, before);
    assert!(found.has_sums);
    assert_eq!((found.files, found.changed), (before.len() as u64, 0));

    let target = memory();
    let options = ImportOptions {
        replace: false,
        dry_run: false,
        objects_at_once: 8,
    };
    let (from, to) = (owner("user_1"), owner("user_1"));
    let done = import(staging, &from, target.clone(), &to, options, &|_| ()).await?;
    assert!(!done.refused);
    assert_eq!(done.copies.len(), 2, "meta.json goes last, by itself");
    assert_eq!(done.copies[1].copied.objects, 1);
    assert_eq!(contents(&target).await, before);
    Ok(())
}

/// Sums come after every 1,000 files.
#[tokio::test]
async fn many_files() -> Result<(), Error> {
    for (files, parts) in [(1_000, 1), (1_001, 2)] {
        let store = memory();
        for number in 0..files {
            let key = format!("users/user_1/workspace/{number:05}");
            put(&store, &key, key.as_bytes()).await?;
        }
        let archive = exported(&store, "user_1").await?;
        let (_, found) = unpacked(&archive, "user_1").await?;
        assert_eq!(found.files, files);
        let plain = tars::gunzip(&archive);
        let part = |number| format!("haversack-export/sums-{number:06}.jsonl").into_bytes();
        let has = |number| {
            let name: Vec<u8> = part(number);
            plain.windows(name.len()).any(|window| window == name)
        };
        assert!(has(parts) && !has(parts + 1), "{files}");
    }
    Ok(())
}

/// What only grows is in it as it began; what is rewritten ends the export, and what came of it is refused.
#[tokio::test]
async fn written_meanwhile() -> Result<(), Error> {
    for rewritten in [false, true] {
        let store = memory();
        let key = "users/user_1/sessions/main/messages.jsonl";
        put_large(&store, key, 1, 6).await?;
        put(&store, "users/user_1/workspace/small", b"1").await?;
        let size_bytes = 6 * (8 << 20);
        let export = Export::open(store.clone(), owner("user_1")).await?;
        let mut stream = std::pin::pin!(export.expect("the user").stream());
        let mut archive = Vec::new();
        let mut failed = None;
        while let Some(piece) = stream.next().await {
            match piece {
                Ok(piece) => archive.extend(piece),
                Err(error) => failed = Some(error.code),
            }
            if archive.len() > 16 << 20 && archive.len() < 17 << 20 {
                if rewritten {
                    put_large(&store, key, 100, 7).await?;
                } else {
                    let more = Body::Text("more\n".to_owned());
                    // The second time it is longer already.
                    let _ = store.append(key.to_owned(), more, size_bytes).await;
                }
            }
        }
        if rewritten {
            assert_eq!(failed, Some(ErrorCode::Conflict));
            assert!(unpacked(&archive, "user_1").await.is_err());
        } else {
            assert_eq!(failed, None);
            let (_, found) = unpacked(&archive, "user_1").await?;
            assert_eq!((found.files, found.changed), (2, 1));
            assert_eq!(found.bytes, size_bytes + 1);
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_user_who_is_not_there() -> Result<(), Error> {
    let store = memory();
    put(&store, "users/user_10/meta.json", b"{}").await?;
    assert!(Export::open(store, owner("user_1")).await?.is_none());
    Ok(())
}

/// Nothing is written where something differs, and nothing twice.
#[tokio::test]
async fn imports_keep_what_is_there() -> Result<(), Error> {
    let store = memory();
    put(&store, "users/user_1/meta.json", b"{}").await?;
    put(&store, "users/user_1/workspace/a", b"a").await?;
    let archive = exported(&store, "user_1").await?;
    let target = memory();
    put(&target, "users/user_2/workspace/a", b"other").await?;
    let run = async |replace, dry_run| {
        let (staging, _) = unpacked(&archive, "user_1").await?;
        let options = ImportOptions {
            replace,
            dry_run,
            objects_at_once: 8,
        };
        let (from, to) = (owner("user_1"), owner("user_2"));
        import(staging, &from, target.clone(), &to, options, &|_| ()).await
    };
    let before = contents(&target).await;
    for (replace, dry_run) in [(false, false), (false, true), (true, true)] {
        let done = run(replace, dry_run).await?;
        assert_eq!(done.refused, !replace && !dry_run);
        assert_eq!(contents(&target).await, before, "{replace} {dry_run}");
    }
    assert_eq!(run(true, false).await?.copies[0].replaced.objects, 1);
    let keys = |contents: Vec<(String, _, _, _)>| -> Vec<String> {
        contents.into_iter().map(|(key, ..)| key).collect()
    };
    let expected = ["users/user_2/meta.json", "users/user_2/workspace/a"];
    assert_eq!(keys(contents(&target).await), expected);
    // Once more, without leave to replace: all of it is equal.
    let again = run(false, false).await?;
    assert!(!again.refused);
    assert_eq!(
        again.copies.iter().map(|it| it.equal.objects).sum::<u64>(),
        2
    );
    Ok(())
}

/// What the system's tar makes of an unpacked tree is read, with and without `./`.
#[tokio::test]
async fn tars_of_others() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let user = folder.path().join("users/user_1/workspace");
    std::fs::create_dir_all(&user)?;
    std::fs::write(folder.path().join("users/user_1/meta.json"), "{}")?;
    std::fs::write(user.join("x".repeat(200)), "long")?;
    std::fs::write(user.join("gr\u{fc}n"), "")?;
    for (format, what) in [
        ("gnu", "users/user_1"),
        ("gnu", "./users/user_1"),
        ("posix", "users"),
        ("posix", "."),
        ("ustar", "users/user_1/meta.json"),
    ] {
        let made = Command::new("tar")
            .args(["-czf", "-", &format!("--format={format}"), "-C"])
            .arg(folder.path())
            .arg(what)
            .stderr(Stdio::inherit())
            .output();
        let Ok(made) = made else {
            assert!(
                std::env::var_os("HAVERSACK_REQUIRE_TOOLS").is_none(),
                "no tar"
            );
            eprintln!("skipped: tar is not there");
            return Ok(());
        };
        let found = unpacked(&made.stdout, "user_1").await;
        let (_, found) = found.map_err(|error| anyhow::anyhow!("{format} {what}: {error:?}"))?;
        let files = if what.ends_with("json") { 1 } else { 3 };
        assert_eq!(
            (found.files, found.has_sums),
            (files, false),
            "{format} {what}"
        );
    }
    Ok(())
}

/// The system's tar and gzip read what we make, without a word.
#[tokio::test]
async fn others_read_ours() -> anyhow::Result<()> {
    let store = memory();
    let deep = format!(
        "users/user_1/workspace/{}/{}",
        "d".repeat(200),
        "e".repeat(200)
    );
    for key in [
        "users/user_1/meta.json",
        "users/user_1/workspace/gr\u{fc}n",
        &deep,
    ] {
        let options = PutOptions {
            condition: Condition::Always,
            content_type: Some("text/plain".to_owned()),
            metadata: vec![("a".to_owned(), "1".to_owned())],
        };
        let body = Body::Text(key.to_owned());
        let put = store.put(key.to_owned(), body, options).await;
        put.map_err(|error| anyhow::anyhow!("{error:?}"))?;
    }
    let archive = exported(&store, "user_1").await;
    let archive = archive.map_err(|error| anyhow::anyhow!("{error:?}"))?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("a.tar.gz");
    std::fs::write(&file, &archive)?;
    let output = Command::new("tar")
        .arg("-xzf")
        .arg(&file)
        .arg("-C")
        .arg(folder.path())
        .output();
    let Ok(output) = output else {
        assert!(
            std::env::var_os("HAVERSACK_REQUIRE_TOOLS").is_none(),
            "no tar"
        );
        eprintln!("skipped: tar is not there");
        return Ok(());
    };
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{said}");
    assert_eq!(std::fs::read_to_string(folder.path().join(&deep))?, deep);
    assert!(folder.path().join("haversack-export/end.json").exists());
    Ok(())
}

pub fn code(found: Result<(Store, Unpacked), Error>) -> Option<(ErrorCode, String)> {
    found.err().map(|error| (error.code, error.message))
}
