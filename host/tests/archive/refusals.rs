//! Archives that are refused, each for its reason, and limits at their edges.

use haversack_host::archive::{Limits, unpack};
use haversack_host::store::{Error, ErrorCode};
use tar::EntryType;

use super::tars::{Tar, gunzip, gzip};
use super::{code, contents, exported, memory, noise, owner, put, unpacked};

const META: &str = "users/user_1/meta.json";

/// Refused as this, in words that hold that.
async fn refused(archive: &[u8], expected: ErrorCode, word: &str) {
    match code(unpacked(archive, "user_1").await) {
        Some((code, message)) => {
            assert_eq!(code, expected, "{message}");
            assert!(message.contains(word), "{message:?} has no {word:?}");
        }
        None => panic!("{word}: it was taken"),
    }
}

fn meta() -> Tar {
    Tar::default().file(META, b"{}")
}

#[tokio::test]
async fn names_that_lead_elsewhere() {
    for (path, word) in [
        ("users/user_1/../user_2/meta.json", ".."),
        ("../users/user_1/meta.json", ".."),
        ("/users/user_1/meta.json", "slash"),
        ("users/user_1//meta.json", "slash"),
        ("users/user_1/a\\b", "backslash"),
        ("users/user_1/a\nb", "control"),
        (".haversack/format", ".haversack"),
        ("users/user_10/meta.json", "--from-user"),
        ("users/user_1.json", "--from-user"),
        ("users/user_2/meta.json", "users/user_2/meta.json"),
        ("meta.json", "tar czf"),
        ("deleted/user_1/20260101T000000Z/meta.json", "deleted/"),
    ] {
        let archive = meta().file(path, b"x").done();
        refused(&archive, ErrorCode::Invalid, word).await;
    }
}

#[tokio::test]
async fn what_is_no_file() {
    for (kind, word) in [
        (EntryType::Symlink, "symbolic link"),
        (EntryType::Link, "hard link"),
        (EntryType::Fifo, "pipe"),
        (EntryType::Char, "device"),
        (EntryType::Block, "device"),
        (EntryType::GNUSparse, "sparse"),
        (EntryType::new(b'Z'), "'Z'"),
    ] {
        let path = "users/user_1/workspace/x";
        let archive = meta().entry(kind, path, 0, b"").done();
        refused(&archive, ErrorCode::Invalid, word).await;
    }
    let sparse = "22 GNU.sparse.major=1\n";
    let archive = meta().extended(sparse).file("users/user_1/x", b"").done();
    refused(&archive, ErrorCode::Invalid, "sparse").await;
}

#[tokio::test]
async fn twice_is_once_too_often() {
    let archive = meta().file(META, b"{}").done();
    refused(&archive, ErrorCode::Invalid, "twice").await;
    let archive = meta().file("./users/user_1/meta.json", b"{}").done();
    refused(&archive, ErrorCode::Invalid, "twice").await;
}

#[tokio::test]
async fn claims_that_nothing_is_behind() {
    let big = "users/user_1/big";
    for size_bytes in [2, 9 << 20, 8 << 30] {
        let archive = meta()
            .entry(EntryType::Regular, big, size_bytes, b"x")
            .without_end();
        refused(&archive, ErrorCode::Invalid, "cut it off").await;
    }
    let archive = meta().entry(EntryType::Regular, big, u64::MAX, b"x").done();
    refused(&archive, ErrorCode::TooLarge, "137438953472").await;
    let size = "29 size=18446744073709551615\n";
    let archive = meta().extended(size).file(big, b"x").done();
    refused(&archive, ErrorCode::TooLarge, "18446744073709551615").await;
    // Names and extensions are held, so that they have a bound of their own.
    for kind in [
        EntryType::XHeader,
        EntryType::GNULongName,
        EntryType::XGlobalHeader,
    ] {
        let archive = meta().entry(kind, "x", 1 << 40, b"x").done();
        refused(&archive, ErrorCode::Invalid, "65536").await;
    }
    let archive = meta().extended("13 size=many\n").file(big, b"x").done();
    refused(&archive, ErrorCode::Invalid, "many").await;
    let archive = meta().extended("99 path=x\n").file(big, b"x").done();
    refused(&archive, ErrorCode::Invalid, "extended header").await;
}

#[tokio::test]
async fn what_is_no_archive() {
    refused(b"", ErrorCode::Invalid, "cut it off").await;
    refused(b"{\"a\": 1}", ErrorCode::Invalid, "no gzip").await;
    refused(&gzip(b""), ErrorCode::Invalid, "cut it off").await;
    refused(&gzip(&noise(1, 2_048)), ErrorCode::Invalid, "no tar").await;
    refused(&Tar::default().done(), ErrorCode::Invalid, "no file").await;
    let archive = meta().end().raw(&noise(1, 512)).without_end();
    refused(&archive, ErrorCode::Invalid, "behind its end").await;
    let mut behind = meta().done();
    behind.extend(b"more");
    assert!(unpacked(&behind, "user_1").await.is_err());
    // gzip's sum, in the last eight bytes.
    let mut wrong = meta().done();
    let at = wrong.len() - 8;
    wrong[at] ^= 1;
    refused(&wrong, ErrorCode::Invalid, "damaged").await;
}

/// Cut off anywhere, it is refused; so is any whose uncompressed bytes end early, or lack an entry.
#[tokio::test]
async fn what_is_not_whole() -> Result<(), Error> {
    let store = memory();
    put(&store, META, b"{}").await?;
    put(&store, "users/user_1/workspace/a", &noise(3, 3_000)).await?;
    let archive = exported(&store, "user_1").await?;
    assert!(unpacked(&archive, "user_1").await.is_ok());
    for length in (0..archive.len()).step_by(97).chain([archive.len() - 1]) {
        assert!(
            unpacked(&archive[..length], "user_1").await.is_err(),
            "{length}"
        );
    }
    let plain = gunzip(&archive);
    for blocks in 0..plain.len() / 512 - 2 {
        let mut cut = plain[..blocks * 512].to_vec();
        assert!(unpacked(&gzip(&cut), "user_1").await.is_err(), "{blocks}");
        // Ended in form, at any block.
        cut.extend([0; 1_024]);
        assert!(unpacked(&gzip(&cut), "user_1").await.is_err(), "{blocks}");
    }
    Ok(())
}

/// Any bit of it turned, it is refused, or the bit said nothing of the files.
#[tokio::test]
async fn what_is_damaged() -> Result<(), Error> {
    let store = memory();
    put(&store, META, b"{}").await?;
    put(&store, "users/user_1/workspace/a", &noise(3, 3_000)).await?;
    let archive = exported(&store, "user_1").await?;
    let before = contents(&store).await;
    for at in (0..archive.len()).step_by(7) {
        let mut damaged = archive.clone();
        damaged[at] ^= 1 << (at % 8);
        if let Ok((staging, _)) = unpacked(&damaged, "user_1").await {
            assert_eq!(contents(&staging).await, before, "{at}");
        }
    }
    Ok(())
}

/// One bit of a file's bytes, with gzip's sum made to fit.
#[tokio::test]
async fn sums_that_do_not_fit() -> Result<(), Error> {
    let store = memory();
    let bytes = noise(5, 3_000);
    put(&store, META, b"{}").await?;
    put(&store, "users/user_1/workspace/a", &bytes).await?;
    let mut plain = gunzip(&exported(&store, "user_1").await?);
    let at = plain
        .windows(bytes.len())
        .position(|window| window == bytes)
        .expect("the file");
    plain[at + 1_000] ^= 1;
    refused(&gzip(&plain), ErrorCode::Invalid, "SHA-256").await;
    Ok(())
}

#[tokio::test]
async fn manifests_that_do_not_fit() {
    let begin = |format: u32, user: &str| {
        format!(r#"{{"format":{format},"user":"{user}","prefix":"users/{user}/"}}"#)
    };
    let name = "haversack-export/begin.json";
    let of = |text: &str| Tar::default().file(name, text.as_bytes()).file(META, b"{}");
    refused(
        &of(&begin(2, "user_1")).done(),
        ErrorCode::Unsupported,
        "newer",
    )
    .await;
    refused(
        &of(&begin(1, "user_2")).done(),
        ErrorCode::Invalid,
        "user_2",
    )
    .await;
    refused(&of("{}").done(), ErrorCode::Invalid, "format").await;
    refused(&of("\u{1}").done(), ErrorCode::Invalid, "begin.json").await;
    let unended = of(&begin(1, "user_1")).done();
    refused(&unended, ErrorCode::Invalid, "cut it off").await;
    let end = r#"{"files":1,"bytes":2,"changed":0,"leftOut":0}"#.as_bytes();
    let sums = "haversack-export/sums-000001.jsonl";
    let end_name = "haversack-export/end.json";
    let unsummed = of(&begin(1, "user_1")).file(end_name, end).done();
    refused(&unsummed, ErrorCode::Invalid, "no sum").await;
    let foreign = r#"{"path":"users/user_1/b","sizeBytes":2,"sha256":"","version":""}"#.as_bytes();
    let unknown = of(&begin(1, "user_1")).file(sums, foreign).done();
    refused(&unknown, ErrorCode::Invalid, "no such file").await;
    let hash = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
    let sum = |size: u32| {
        format!(r#"{{"path":"{META}","sizeBytes":{size},"sha256":"{hash}","version":""}}"#)
    };
    let summed = |size| of(&begin(1, "user_1")).file(sums, sum(size).as_bytes());
    refused(&summed(3).done(), ErrorCode::Invalid, "3 bytes").await;
    let whole = summed(2).file(end_name, end);
    assert!(unpacked(&whole.done(), "user_1").await.is_ok());
    let after = summed(2)
        .file(end_name, end)
        .file("users/user_1/b", b"")
        .done();
    refused(&after, ErrorCode::Invalid, "behind its end").await;
    let fewer = br#"{"files":2,"bytes":2,"changed":0,"leftOut":0}"#;
    let lost = summed(2).file(end_name, fewer).done();
    refused(&lost, ErrorCode::Invalid, "2 files").await;
    let out_of_order = of(&begin(1, "user_1")).file("haversack-export/sums-000002.jsonl", b"");
    refused(&out_of_order.done(), ErrorCode::Invalid, "no place").await;
    // Without a beginning there is nothing that the rest could belong to.
    let headless = meta().file(sums, sum(2).as_bytes()).done();
    refused(&headless, ErrorCode::Invalid, "begin.json").await;
}

#[tokio::test]
async fn limits_at_their_edges() {
    let archive = meta().file("users/user_1/a", &[7; 98]).done();
    for (files_max, bytes_max, fits) in [
        (2, 100, true),
        (1, 100, false),
        (2, 99, false),
        (0, 0, false),
    ] {
        let limits = Limits {
            files_max,
            bytes_max,
        };
        let staging = memory();
        let input = std::io::Cursor::new(archive.clone());
        let done = unpack(input, &*staging, &owner("user_1"), limits, &|_| ()).await;
        let code = done.err().map(|error| error.code);
        let expected = (!fits).then_some(ErrorCode::TooLarge);
        assert_eq!(code, expected, "{files_max} {bytes_max}");
    }
}
