//! What the fuzz targets do with a piece of input, and what must hold. Each panics when it does not.

use haversack_core::format::skill;
use haversack_core::layout::{System, key_of, place_of};
use haversack_core::ops::prompt::{AssembleRequest, assemble};
use haversack_core::store::{
    Answer, Blob, Body, GetRequest, Listing, PutOptions, Range, Request, Source, Stat, Store,
    StoreError, StoreErrorCode, StoreResult,
};

/// What must never be seen outside a main session.
const SECRET: &str = "only the main session may see this";

/// A skill's file: whatever it holds, it is read or reported, and a broken block widens nothing.
pub fn front_matter(data: &[u8]) {
    let file = skill::parse(data, false);
    if file.unreadable.is_some() {
        assert_eq!(
            file.header.allowed_tools,
            Some(Vec::new()),
            "an unreadable skill may use no tool"
        );
    }
}

/// A key, in every system: what has a place has its key back.
pub fn keys(data: &[u8]) {
    let Ok(key) = std::str::from_utf8(data) else {
        return;
    };
    for system in System::ALL {
        if let Ok(place) = place_of(system, key) {
            assert_eq!(key_of(&place).as_deref(), Ok(key), "{place:?}");
        }
    }
}

/// A prompt request as JSON, a NUL byte, and a file's bytes: the answer is an error of the contract, or a
/// prompt whose manifest fits its text and that keeps what it must.
pub fn prompt_request(data: &[u8]) {
    let (request, file) = match data.iter().position(|byte| *byte == 0) {
        Some(at) => (&data[..at], &data[at + 1..]),
        None => (data, &b""[..]),
    };
    let Ok(request) = serde_json::from_slice::<AssembleRequest>(request) else {
        return;
    };
    let Ok(answer) = assemble(&OneFile(file), &request) else {
        return;
    };
    let mut end = 0;
    for section in &answer.manifest.sections {
        let (start, length) = (section.offset_bytes as usize, section.length_bytes as usize);
        assert!(start >= end, "sections overlap");
        end = start + length;
        assert!(
            answer.text.get(start..end).is_some(),
            "a section lies outside the text"
        );
    }
    assert_eq!(end, answer.text.len());
    assert!(
        answer.manifest.main || !answer.text.contains(SECRET),
        "MEMORY.md outside a main session"
    );
}

/// A store in which every workspace file and one skill hold the same bytes, and MEMORY.md the secret.
struct OneFile<'a>(&'a [u8]);

impl OneFile<'_> {
    fn answer(&self, request: Request) -> Answer {
        match request {
            Request::Get(get) if get.key.ends_with("BOOTSTRAP.md") => Answer::Blob(None),
            Request::Get(get) if get.key.ends_with("MEMORY.md") => {
                Answer::Blob(Some(blob(SECRET.as_bytes(), &get)))
            }
            Request::Get(get) => Answer::Blob(Some(blob(self.0, &get))),
            Request::Head(_) => Answer::Head(None),
            Request::List(list) if list.delimiter => Answer::Listing(Listing {
                prefixes: vec![format!("{}one/", list.prefix)],
                ..Listing::default()
            }),
            Request::List(_) => Answer::Listing(Listing::default()),
        }
    }
}

fn blob(bytes: &[u8], get: &GetRequest) -> Blob {
    let length = match get.range {
        Range::Span { length_bytes, .. } => bytes
            .len()
            .min(usize::try_from(length_bytes).unwrap_or(usize::MAX)),
        Range::Whole | Range::Last(_) => bytes.len(),
    };
    Blob {
        body: Body::Binary(bytes[..length].to_vec()),
        stat: Stat {
            version: "1".into(),
            content_type: None,
            metadata: Vec::new(),
            size_bytes: bytes.len() as u64,
            modified_ms: 0,
        },
    }
}

impl Store for OneFile<'_> {
    fn describe(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    fn read(&self, wave: Vec<Request>) -> Vec<StoreResult<Answer>> {
        wave.into_iter()
            .map(|request| Ok(self.answer(request)))
            .collect()
    }

    fn put(&self, _: &str, _: Body, _: PutOptions) -> StoreResult<String> {
        Err(read_only())
    }

    fn append(&self, _: &str, _: Body, _: u64) -> StoreResult<u64> {
        Err(read_only())
    }

    fn concat(&self, _: Vec<Source>, _: &str, _: PutOptions) -> StoreResult<String> {
        Err(read_only())
    }

    fn delete(&self, keys: Vec<String>) -> Vec<StoreResult<()>> {
        keys.into_iter().map(|_| Err(read_only())).collect()
    }
}

fn read_only() -> StoreError {
    StoreError {
        code: StoreErrorCode::Unsupported,
        message: "a prompt writes nothing".into(),
        retry_after_ms: None,
        current: None,
    }
}
