//! `media` over a bucket: names, replacements, what a model call fetches, what goes at a reset.

#[path = "support/bucket.rs"]
mod bucket;

use std::collections::BTreeSet;

use bucket::Bucket;
use haversack_core::limits::*;
use haversack_core::ops::media::*;
use haversack_core::store::{Body, Condition, PutOptions, Store};
use haversack_core::types::{ErrorCode, Home};

const PREFIX: &str = "media/agent:hera:main/";

fn session() -> Session {
    Session {
        home: Home {
            system: "gsv".into(),
            id: "hera".into(),
        },
        session_key: "agent:hera:main".into(),
    }
}

fn origin(seed: &str) -> Origin {
    Origin {
        session: session(),
        seed: seed.into(),
        uploaded_at_ms: 1_771_579_800_000,
    }
}

const SEED: &str = "0123456789abcdef";

fn item(mime_type: &str, bytes: u64) -> Item {
    Item {
        mime_type: mime_type.into(),
        size: Size::Bytes(bytes),
        filename: "photo.png".into(),
        kind: None,
    }
}

fn named(keys: &[&str]) -> Named {
    Named {
        messages: Vec::new(),
        keys: keys.iter().map(|key| format!("{PREFIX}{key}")).collect(),
    }
}

fn put(bucket: &Bucket, key: &str, uploaded_at_ms: Option<u64>) {
    let metadata = uploaded_at_ms.map(|ms| ("uploadedat".to_owned(), ms.to_string()));
    let options = PutOptions {
        condition: Condition::Always,
        content_type: None,
        metadata: metadata.into_iter().collect(),
    };
    bucket
        .put(key, Body::Binary(vec![1, 2, 3]), options)
        .unwrap();
}

#[test]
fn a_plan_names_everything_that_the_reference_does() {
    let items = [
        item("image/PNG; x=y", 3),
        item("audio/ogg", 3),
        item("video/quicktime", 3),
        item("application/pdf", 3),
        item(" ", 3),
    ];
    let answer = plan(&origin(SEED), &items).unwrap();
    let mut keys = BTreeSet::new();
    for (planned, (extension, kind, name, mime_type)) in answer.items.iter().zip([
        ("png", Kind::Image, "image", "image/PNG; x=y"),
        ("ogg", Kind::Audio, "audio", "audio/ogg"),
        ("mov", Kind::Video, "video", "video/quicktime"),
        ("pdf", Kind::Document, "document", "application/pdf"),
        (
            "bin",
            Kind::Document,
            "document",
            "application/octet-stream",
        ),
    ]) {
        let uuid = planned.key.strip_prefix(PREFIX).unwrap();
        let uuid = uuid.strip_suffix(&format!(".{extension}")).unwrap();
        let uuid = uuid::Uuid::parse_str(uuid).unwrap();
        assert_eq!(uuid.get_version(), Some(uuid::Version::Random));
        assert_eq!(uuid.get_variant(), uuid::Variant::RFC4122);
        assert!(keys.insert(planned.key.clone()));
        assert_eq!((planned.kind, planned.size_bytes), (kind, 3));
        assert_eq!(planned.content_type, mime_type);
        let metadata: Vec<_> = planned
            .metadata
            .iter()
            .map(|(a, b)| (a.as_str(), b.as_str()))
            .collect();
        assert_eq!(
            metadata,
            [
                ("originalFilename", "photo.png"),
                ("uploadedAt", "1771579800000"),
                ("sessionKey", "agent:hera:main")
            ]
        );
        let key = &planned.key;
        assert_eq!(
            planned.block,
            format!(r#"{{"type":"{name}","r2Key":"{key}","mimeType":"{mime_type}"}}"#)
        );
    }
    // A repeat has the same names, another seed, session or source has others.
    assert_eq!(plan(&origin(SEED), &items).unwrap(), answer);
    let mut other_session = origin(SEED);
    other_session.session.session_key = "agent:hera:dm:x".into();
    for other in [origin("fedcba9876543210"), other_session] {
        for planned in plan(&other, &items).unwrap().items {
            assert!(!keys.contains(&planned.key));
        }
    }
    let line = r#"{"role":"toolResult","content":[{"type":"image","mimeType":"image/PNG; x=y","data":"QUJD"}]}"#;
    let block = &plan_message(&origin(SEED), line).unwrap().blocks[0];
    assert!(!keys.contains(&block.planned.key));
    // A sender's word for it counts before the type.
    let voice = Item {
        kind: Some(Kind::Audio),
        ..item("application/ogg", 3)
    };
    let planned = &plan(&origin(SEED), &[voice]).unwrap().items[0];
    assert!(planned.block.starts_with(r#"{"type":"audio""#));
}

#[test]
fn limits_of_a_plan() {
    let code = |result: haversack_core::types::Result<PlanAnswer>| result.err().map(|e| e.code);
    let sized = |size| Item {
        size,
        ..item("image/png", 0)
    };
    let base64 = |characters, padding| {
        Size::Base64(Base64Length {
            characters,
            padding,
        })
    };
    // 25 MiB are 34,952,534 characters with two of padding.
    for (size, expected) in [
        (Size::Bytes(MEDIA_BYTES_MAX), None),
        (Size::Bytes(MEDIA_BYTES_MAX + 1), Some(ErrorCode::TooLarge)),
        (base64(34_952_536, 2), None),
        (base64(34_952_536, 1), Some(ErrorCode::TooLarge)),
        (base64(5, 0), Some(ErrorCode::Invalid)),
        (Size::Bytes(0), None),
    ] {
        assert_eq!(
            code(plan(&origin(SEED), &[sized(size)])),
            expected,
            "{size:?}"
        );
    }
    let error = plan(&origin(SEED), &[item("video/mp4", MEDIA_BYTES_MAX + 1)]).unwrap_err();
    for part in ["photo.png", "26214401", "26214400"] {
        assert!(error.message.contains(part), "{error}");
    }
    let many = vec![item("image/png", 1); MEDIA_ITEMS_MAX];
    assert_eq!(plan(&origin(SEED), &many).unwrap().items.len(), 256);
    let more = [many, vec![item("image/png", 1)]].concat();
    assert_eq!(code(plan(&origin(SEED), &more)), Some(ErrorCode::TooLarge));
    for (bytes, fits) in [(15, false), (16, true), (256, true), (257, false)] {
        assert_eq!(
            plan(&origin(&"s".repeat(bytes)), &[]).is_ok(),
            fits,
            "{bytes}"
        );
    }
    for (mime_type, fits) in [
        ("x".repeat(MEDIA_MIME_CHARACTERS_MAX), true),
        ("x".repeat(MEDIA_MIME_CHARACTERS_MAX + 1), false),
        ("image/png\r\nx: y".into(), false),
        ("bild/ö".into(), false),
    ] {
        assert_eq!(
            plan(&origin(SEED), &[item(&mime_type, 1)]).is_ok(),
            fits,
            "{mime_type}"
        );
    }
    for (filename, stored, told) in [
        ("é".repeat(256), "é".repeat(256), 0),
        ("é".repeat(257), "é".repeat(256), 1),
        ("a\nb".into(), "a_b".into(), 1),
        (String::new(), String::new(), 0),
    ] {
        let item = Item {
            filename,
            ..item("image/png", 1)
        };
        let answer = plan(&origin(SEED), &[item]).unwrap();
        assert_eq!(answer.items[0].metadata[0].1, stored);
        assert_eq!(answer.problems.len(), told);
    }
    let mut other = origin(SEED);
    other.session.session_key = "agent:zeus:main".into();
    assert_eq!(code(plan(&other, &[])), Some(ErrorCode::Invalid));
    other.session.home.system = "moltbot".into();
    assert_eq!(code(plan(&other, &[])), Some(ErrorCode::Unsupported));
}

#[test]
fn base64_in_a_message_becomes_a_reference_and_nothing_else_moves() {
    let image = r#"{"type":"image","mimeType":"image/png","data":"QUI="}"#;
    let long = r#"{"data":"base64:34952536:2","type":"image","mimeType":"image/jpeg","x":1e400}"#;
    let line = format!(
        r#"{{ "role":"toolResult","z":1e400,"content":[{{"type":"text","text":"a"}}, {image},{long}, {{"type":"image","r2Key":"k"}}]}}"#
    );
    let answer = plan_message(&origin(SEED), &line).unwrap();
    let places: Vec<_> = answer
        .blocks
        .iter()
        .map(|block| (block.content_index, block.planned.size_bytes))
        .collect();
    assert_eq!(places, [(1, 2), (2, MEDIA_BYTES_MAX)]);
    let expected = line
        .replace(image, &answer.blocks[0].planned.block)
        .replace(long, &answer.blocks[1].planned.block);
    assert_eq!(answer.message, expected);
    assert!(answer.message.contains(".jpg\""));
    // Once more there is nothing left to plan.
    let again = plan_message(&origin(SEED), &answer.message).unwrap();
    assert_eq!((again.message, again.blocks), (answer.message, vec![]));
    for (broken, code) in [
        ("[]", ErrorCode::Invalid),
        ("{", ErrorCode::Invalid),
        (
            r#"{"role":"user","content":[{"type":"image","data":"Q"}]}"#,
            ErrorCode::Invalid,
        ),
        (
            r#"{"role":"user","content":[{"type":"image","data":"base64:34952536:1"}]}"#,
            ErrorCode::TooLarge,
        ),
    ] {
        let error = plan_message(&origin(SEED), broken).unwrap_err();
        assert_eq!(error.code, code, "{broken}");
    }
    let blocks = |count: usize| {
        let block = r#"{"type":"image","data":"QUJD"}"#;
        format!(
            r#"{{"role":"user","content":[{}]}}"#,
            vec![block; count].join(",")
        )
    };
    assert!(plan_message(&origin(SEED), &blocks(MEDIA_ITEMS_MAX)).is_ok());
    let error = plan_message(&origin(SEED), &blocks(MEDIA_ITEMS_MAX + 1)).unwrap_err();
    assert_eq!(error.code, ErrorCode::TooLarge);
    let padded = |bytes: usize| format!("{{}}{}", " ".repeat(bytes - 2));
    assert!(plan_message(&origin(SEED), &padded(MEDIA_ARGUMENT_BYTES_MAX)).is_ok());
    let error = plan_message(&origin(SEED), &padded(MEDIA_ARGUMENT_BYTES_MAX + 1)).unwrap_err();
    assert_eq!(error.code, ErrorCode::TooLarge);
}

#[test]
fn hydration_asks_once_and_says_what_is_gone() {
    let bucket = Bucket::new(false);
    put(&bucket, &format!("{PREFIX}a.png"), None);
    bucket.insert("media/agent:hera:main2/x.png", b"another's");
    let block =
        |kind: &str, key: &str| format!(r#"{{"type":"{kind}","r2Key":"{key}","mimeType":"m"}}"#);
    let line = |blocks: &[String]| {
        format!(
            r#"{{"role":"user", "content":[{}],"x":1e400}}"#,
            blocks.join(" ,")
        )
    };
    let there = block("image", &format!("{PREFIX}a.png"));
    let gone = block("audio", &format!("{PREFIX}b.ogg"));
    let other = block("document", "media/agent:hera:main2/x.png");
    let climbing = block("video", &format!("{PREFIX}../x.png"));
    let messages = vec![
        line(&[there.clone(), gone.clone()]),
        r#"{"role":"user","content":"text"}"#.to_owned(),
        line(&[other.clone(), there.clone(), climbing.clone()]),
        "no message".to_owned(),
    ];
    let answer = hydrate(&bucket, &session(), &messages).unwrap();
    let found: Vec<_> = answer
        .blocks
        .iter()
        .map(|b| {
            (
                b.message_index,
                b.content_index,
                b.key.as_str(),
                b.size_bytes,
            )
        })
        .collect();
    let key = format!("{PREFIX}a.png");
    assert_eq!(found, [(0, 0, key.as_str(), 3), (2, 1, key.as_str(), 3)]);
    let text = |name: &str| format!(r#"{{"type":"text","text":"[{name} no longer available]"}}"#);
    let changed: Vec<_> = answer
        .changed
        .into_iter()
        .map(|changed| (changed.message_index, changed.message))
        .collect();
    assert_eq!(
        changed,
        [
            (0, messages[0].replace(&gone, &text("Audio"))),
            (
                2,
                messages[2]
                    .replace(&other, &text("Document"))
                    .replace(&climbing, &text("Video"))
            )
        ]
    );
    assert_eq!(answer.problems.len(), 4);
    // Only own keys are asked for, each once, in one wave.
    assert_eq!((answer.cost.waves, answer.cost.requests), (1, 2));
    let none = hydrate(&bucket, &session(), &messages[1..2]).unwrap();
    assert_eq!(none.cost.requests, 0);
    for (count, fits) in [
        (MEDIA_HYDRATED_BLOCKS_MAX, true),
        (MEDIA_HYDRATED_BLOCKS_MAX + 1, false),
    ] {
        let many = [line(&vec![there.clone(); count])];
        assert_eq!(hydrate(&bucket, &session(), &many).is_ok(), fits);
    }
}

fn request() -> DiscardRequest {
    DiscardRequest {
        session: session(),
        request_id: "r1".into(),
        keep: Named::default(),
        discard: Named::default(),
        orphans_before_ms: None,
        dry_run: false,
        continue_from: None,
    }
}

fn names(media: &[Medium]) -> Vec<&str> {
    media
        .iter()
        .map(|medium| medium.key.rsplit('/').next().unwrap())
        .collect()
}

#[test]
fn a_reset_discards_what_is_named_and_old_orphans() {
    let bucket = Bucket::new(false);
    for (key, ms) in [
        ("named.png", Some(900)),
        ("kept.png", Some(1)),
        ("old.png", Some(99)),
        ("new.png", Some(100)),
        ("undated.png", None),
    ] {
        put(&bucket, &format!("{PREFIX}{key}"), ms);
    }
    let foreign = "media/agent:hera:main2/x.png";
    bucket.insert(foreign, b"another's");
    let line = format!(
        r#"{{"role":"user","content":[{{"type":"image","r2Key":"{PREFIX}named.png"}},{{"type":"image","r2Key":"{foreign}"}},{{"type":"image","r2Key":"{PREFIX}kept.png"}}]}}"#
    );
    let mut request = DiscardRequest {
        keep: named(&["kept.png"]),
        discard: Named {
            messages: vec![line],
            keys: Vec::new(),
        },
        orphans_before_ms: Some(100),
        dry_run: true,
        ..request()
    };
    let before = bucket.keys("");
    let dry = discard(&bucket, &request).unwrap();
    assert_eq!(bucket.keys(""), before);
    // Without a date the store's own counts, here 5.
    assert_eq!(
        names(&dry.discarded),
        ["named.png", "old.png", "undated.png"]
    );
    assert_eq!(names(&dry.kept), ["kept.png", "new.png"]);
    let orphans: Vec<_> = dry
        .discarded
        .iter()
        .map(|m| (m.orphan, m.uploaded_at_ms))
        .collect();
    assert_eq!(orphans, [(false, None), (true, Some(99)), (true, Some(5))]);
    assert_eq!(dry.problems.len(), 1);
    assert_eq!(dry.problems[0].key, foreign);
    request.dry_run = false;
    let done = discard(&bucket, &request).unwrap();
    assert_eq!((done.discarded, done.kept), (dry.discarded, dry.kept));
    let left = [
        format!("{PREFIX}kept.png"),
        format!("{PREFIX}new.png"),
        foreign.to_owned(),
    ];
    assert_eq!(bucket.keys(""), left);
    assert_eq!(discard(&bucket, &request).unwrap().discarded, []);
}

#[test]
fn orphans_stay_unless_a_moment_is_given_and_bad_messages_stop_it() {
    let bucket = Bucket::new(false);
    put(&bucket, &format!("{PREFIX}a.png"), Some(1));
    let answer = discard(&bucket, &request()).unwrap();
    assert_eq!(
        (names(&answer.kept), answer.cost.requests),
        (vec!["a.png"], 1)
    );
    for list in [0, 1] {
        let mut request = DiscardRequest {
            orphans_before_ms: Some(100),
            ..request()
        };
        let named = [&mut request.keep, &mut request.discard];
        named.into_iter().nth(list).unwrap().messages = vec!["torn {".into()];
        let error = discard(&bucket, &request).unwrap_err();
        assert_eq!(error.code, ErrorCode::Invalid);
    }
    for (continue_from, request_id) in [(Some("media/agent:hera:main2/x"), "r1"), (None, "r 1")] {
        let request = DiscardRequest {
            continue_from: continue_from.map(str::to_owned),
            request_id: request_id.into(),
            ..request()
        };
        assert_eq!(
            discard(&bucket, &request).unwrap_err().code,
            ErrorCode::Invalid
        );
    }
    assert_eq!(bucket.keys("").len(), 1);
}

#[test]
fn a_thousand_objects_a_call() {
    let bucket = Bucket::new(false);
    for number in 0..2_001 {
        put(&bucket, &format!("{PREFIX}{number:04}.png"), Some(1));
    }
    let mut request = DiscardRequest {
        orphans_before_ms: Some(2),
        keep: named(&["1500.png"]),
        ..request()
    };
    let mut counts = Vec::new();
    loop {
        let answer = discard(&bucket, &request).unwrap();
        counts.push(answer.discarded.len());
        request.continue_from = answer.continue_from;
        if request.continue_from.is_none() {
            break;
        }
    }
    assert_eq!(counts, [1_000, 999, 1]);
    assert_eq!(bucket.keys(""), [format!("{PREFIX}1500.png")]);
}
