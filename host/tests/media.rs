//! The library's media helper: base64 out of messages into a store, and back, with nothing else moved.

use std::sync::Arc;

use haversack_host::media::{ContractCode, Home, Media, MediaError, Origin, Session};
use haversack_host::store::{BlobStore, MemoryStore};
use haversack_host::{Engine, EngineOptions};

const LINE: &str = r#"{ "role":"toolResult", "x":1e400, "content":[{"type":"text","text":"é"} , {"type":"image","data":"QUJD","mimeType":"image/png"}]}"#;

fn session() -> Session {
    Session {
        home: Home {
            system: "gsv".to_owned(),
            id: "hera".to_owned(),
        },
        session_key: "agent:hera:main".to_owned(),
    }
}

fn origin() -> Origin {
    Origin {
        session: session(),
        seed: "a seed of the test's own".to_owned(),
        uploaded_at_ms: 1_771_579_800_000,
    }
}

fn media() -> (Media, Arc<MemoryStore>) {
    let engine = Engine::new(EngineOptions::default()).expect("an engine");
    let store = Arc::new(MemoryStore::new(false));
    (Media::new(engine, store.clone()), store)
}

#[tokio::test]
async fn base64_goes_out_and_comes_back() {
    let (media, store) = media();
    let taken = media.take_out(origin(), LINE).await.expect("stored");
    let again = media.take_out(origin(), LINE).await.expect("a repeat");
    assert_eq!(taken.message, again.message);
    let planned = &taken.stored[0];
    assert_eq!(planned.size_bytes, 3);
    let block = r#"{"type":"image","data":"QUJD","mimeType":"image/png"}"#;
    assert_eq!(taken.message, LINE.replace(block, &planned.block));

    let hydrated = media
        .hydrate(session(), &[taken.message.clone(), "{}".to_owned()])
        .await;
    let hydrated = hydrated.expect("there");
    assert_eq!(hydrated.messages, [LINE, "{}"]);
    assert_eq!(
        media.get(session(), &planned.key).await.expect("there"),
        "ABC"
    );

    // Held in the cache or not, what is gone from the store is said to be gone.
    store.delete(vec![planned.key.clone()]).await;
    let hydrated = media
        .hydrate(session(), &[taken.message])
        .await
        .expect("an answer");
    assert!(hydrated.messages[0].contains("[Image no longer available]"));
    assert_eq!(hydrated.problems.len(), 1);
}

#[tokio::test]
async fn over_eight_mebibytes_of_base64_never_reach_the_component() {
    let (media, _) = media();
    // 26,214,400 bytes are 34,952,534 characters and two `=`.
    let largest = format!("{}A==", "A".repeat(34_952_533));
    let line = |data: &str| LINE.replace("QUJD", data);
    let taken = media
        .take_out(origin(), &line(&largest))
        .await
        .expect("25 MiB");
    assert_eq!(taken.stored[0].size_bytes, 25 << 20);
    let hydrated = media
        .hydrate(session(), &[taken.message])
        .await
        .expect("there");
    assert!(
        hydrated.messages[0] == line(&largest),
        "it comes back in parts"
    );
    let larger = format!("{}A=", "A".repeat(34_952_534));
    let refused = media.take_out(origin(), &line(&larger)).await;
    let code = match refused {
        Err(MediaError::Refused(error)) => error.code,
        other => panic!("{other:?}"),
    };
    assert_eq!(code, ContractCode::TooLarge);
}

#[tokio::test]
async fn what_is_no_base64_is_refused() {
    let (media, store) = media();
    for (data, names) in [("QU-D", "'-'"), ("base64:8:0", "base64"), ("Q", "")] {
        let refused = media.take_out(origin(), &LINE.replace("QUJD", data)).await;
        let message = refused.expect_err(data).to_string();
        assert!(message.contains(names), "{data}: {message}");
    }
    assert!(media.take_out(origin(), "no message").await.is_err());
    let foreign = media.get(session(), "media/agent:nex:main/x.png").await;
    assert!(matches!(foreign, Err(MediaError::NotFound(_))));
    drop(store);
}
