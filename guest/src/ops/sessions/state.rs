//! The state record of a session key in the store: read it, change it by compare-and-swap, create it with
//! the log that it names. Knows no message.

use sha2::{Digest, Sha256};
use uuid::Builder;

use crate::format::live_log::{SessionLines, open_id, open_line};
use crate::format::session_state::{PendingCompaction, SessionState};
use crate::layout::gsv::{AgentId, EncodedSessionKey, Place, SessionId, SessionKey};
use crate::layout::log::LogKeys;
use crate::limits::{COMPACTION_LEASE_MS, SEED_CHARACTERS_MIN, VALUE_BYTES_MAX};
use crate::ops::load;
use crate::protocol::document::{Change, Current, edit};
use crate::protocol::log::{Log, NewEntry};
use crate::protocol::request::RequestId;
use crate::store::{Answer, BodyKind, GetRequest, Metered, Range, Request, StoreResult};
use crate::types::{Error, ErrorCode, Home, Result};

const CONTENT_TYPE: &str = "application/json";

/// Whose sessions these are: one session key of one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    pub agent: AgentId,
    pub key: SessionKey,
    state_key: String,
}

impl Owner {
    /// `invalid` for a key that is none, is another agent's, or is too long for a state's name.
    pub fn of(home: &Home, session_key: &str) -> Result<Self> {
        let agent = AgentId::parse(&home.id)?;
        let key = SessionKey::parse_of(&agent, session_key)?;
        Self::new(agent, key)
    }

    pub fn new(agent: AgentId, key: SessionKey) -> Result<Self> {
        let state_key = Place::SessionState {
            agent: agent.clone(),
            key: EncodedSessionKey::new(key.clone())?,
        }
        .key();
        Ok(Self {
            agent,
            key,
            state_key,
        })
    }

    /// Where the state lies.
    pub fn state_key(&self) -> &str {
        &self.state_key
    }

    /// Where the live log of one of its sessions lies. `invalid` when the id is no UUID.
    pub fn log_keys(&self, session_id: &str) -> Result<LogKeys> {
        Ok(LogKeys::live_log(
            &self.agent,
            &SessionId::parse(session_id)?,
        ))
    }

    /// The request for the state, to go along in a wave; [`Owner::read`] reads its answer.
    pub fn request(&self) -> Request {
        Request::Get(GetRequest {
            key: self.state_key.clone(),
            range: Range::Whole,
            kind: BodyKind::Text,
        })
    }

    /// As [`Owner::request`], by the size that a list gave: a wave has room for two values of unknown size
    /// only. [`Owner::read_listed`] reads its answer.
    pub fn listed_request(&self, size_bytes: u64) -> Request {
        Request::Get(GetRequest {
            key: self.state_key.clone(),
            range: Range::Span {
                start_bytes: 0,
                length_bytes: size_bytes.min(VALUE_BYTES_MAX),
            },
            kind: BodyKind::Text,
        })
    }

    /// As [`Owner::read`]; a state that has grown since it was listed is read again.
    pub fn read_listed(
        &self,
        store: &Metered<'_>,
        answer: StoreResult<Answer>,
    ) -> Result<Option<SessionState>> {
        let is_cut = matches!(
            &answer,
            Ok(Answer::Blob(Some(blob))) if (blob.body.as_bytes().len() as u64) < blob.stat.size_bytes
        );
        match is_cut {
            true => load(store, self),
            false => self.read(Some(answer)),
        }
    }

    /// None when the key has no session yet.
    pub fn read(&self, answer: Option<StoreResult<Answer>>) -> Result<Option<SessionState>> {
        match load::blob(answer, &self.state_key)? {
            None => Ok(None),
            Some(blob) => self.parse(blob.body.as_bytes()).map(Some),
        }
    }

    /// The state, with ids that may stand in keys.
    fn parse(&self, bytes: &[u8]) -> Result<SessionState> {
        let state = SessionState::parse(&self.state_key, bytes)?;
        let pending = state.pending_reset();
        let ids = pending.map(|reset| [&reset.old, &reset.new]);
        let ids = ids.into_iter().flatten().chain(&state.previous);
        for id in ids.chain([&state.session_id]) {
            SessionId::parse(id).map_err(|error| {
                Error::invalid(format!("{}: {}", self.state_key, error.message)).at(&self.state_key)
            })?;
        }
        Ok(state)
    }
}

/// The state of a session key; none when it has no session yet.
pub fn load(store: &Metered<'_>, owner: &Owner) -> Result<Option<SessionState>> {
    owner.read(store.read(vec![owner.request()])?.into_iter().next())
}

/// Refuse while the host of a compaction that nobody has published may still be at it.
pub fn check_given_up(owner: &Owner, pending: &PendingCompaction, now_ms: u64) -> Result<()> {
    let until_ms = pending.at_ms.saturating_add(COMPACTION_LEASE_MS);
    match until_ms.checked_sub(now_ms) {
        None | Some(0) => Ok(()),
        left_ms => Err(under_compaction(owner, pending, left_ms)),
    }
}

/// `conflict`: a compaction is pending, and counts as given up after `left_ms`.
pub fn under_compaction(owner: &Owner, pending: &PendingCompaction, left_ms: Option<u64>) -> Error {
    let when = left_ms.map_or_else(
        || "begin again".to_owned(),
        |left_ms| {
            let seconds = left_ms.div_ceil(1_000);
            format!("begin again in {seconds} s, when it counts as given up")
        },
    );
    let message = format!(
        "a compaction of {} is being committed under the request {}; repeat that one, or {when}",
        owner.key, pending.request_id
    );
    let mut error = Error::new(ErrorCode::Conflict, message).at(owner.state_key());
    error.retry_after_ms = left_ms.and_then(|left_ms| u32::try_from(left_ms).ok());
    error
}

/// As [`load`]; `not-found` when there is no session yet.
pub fn require(store: &Metered<'_>, owner: &Owner) -> Result<SessionState> {
    load(store, owner)?.ok_or_else(|| {
        Error::not_found(format!(
            "{} has no session: the first message that is appended begins one",
            owner.key
        ))
        .at(owner.state_key())
    })
}

/// How a change went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    pub state: SessionState,
    /// Whether an earlier call under the same id had made the change.
    pub repeat: bool,
}

/// Change the state by compare-and-swap, once for each request id. `change` is given the state as it is now,
/// again when somebody else changed it in between; what it leaves as it was is not written.
///
/// `not-found` when there is none; the errors of `change`, after which nothing was written.
pub fn change(
    store: &Metered<'_>,
    owner: &Owner,
    request: &RequestId,
    mut change: impl FnMut(&mut SessionState) -> Result<()>,
) -> Result<Changed> {
    let mut changed = None;
    let edited = edit(
        store,
        owner.state_key(),
        request,
        CONTENT_TYPE,
        |current: Current<'_>| {
            let Some(body) = current.body else {
                return Err(
                    Error::not_found(format!("{} has no session", owner.key)).at(owner.state_key())
                );
            };
            let before = owner.parse(body)?;
            let mut state = before.clone();
            change(&mut state)?;
            let write = match state == before {
                true => Change::Nothing,
                false => Change::Write(state.render()),
            };
            changed = Some(state);
            Ok(write)
        },
    )?;
    match changed.filter(|_| !edited.repeat) {
        Some(state) => Ok(Changed {
            state,
            repeat: false,
        }),
        None => Ok(Changed {
            state: require(store, owner)?,
            repeat: true,
        }),
    }
}

/// The request id of one step of a call that changes the state several times.
pub fn step_id(request: &RequestId, step: &str) -> Result<RequestId> {
    RequestId::parse(&hex(&digest(&[request.as_str(), step]), 16))
}

/// The id of a session that begins under this request: the same for the same arguments. `invalid` for a
/// seed that is too short to be anybody's own.
pub fn session_id(seed: &str, owner: &Owner, request: &RequestId) -> Result<String> {
    if seed.chars().count() < SEED_CHARACTERS_MIN {
        return Err(Error::invalid(format!(
            "the seed has fewer than {SEED_CHARACTERS_MIN} characters; give random ones, such as a UUID, and the \
             same when the call is repeated"
        )));
    }
    let digest = digest(&["session", seed, owner.key.as_str(), request.as_str()]);
    let mut bytes = [0; 16];
    for (to, from) in bytes.iter_mut().zip(digest) {
        *to = from;
    }
    Ok(Builder::from_random_bytes(bytes).into_uuid().to_string())
}

fn digest(parts: &[&str]) -> Vec<u8> {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
    hasher.finalize().to_vec()
}

fn hex(bytes: &[u8], count: usize) -> String {
    let bytes = bytes.iter().take(count);
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

/// Create the live log of a session, with its first line. Harmless where it is there already.
pub fn open_log(
    store: &Metered<'_>,
    owner: &Owner,
    session_id: &str,
    request: &RequestId,
) -> Result<()> {
    let id = open_id(request.as_str());
    let bytes = open_line(&id, session_id, owner.key.as_str());
    let keys = owner.log_keys(session_id)?;
    let log = Log {
        store,
        keys: &keys,
        format: &SessionLines,
    };
    log.open(NewEntry { id, bytes })
}

/// The state of a session key, created where there is none: first the log, then the record that names it.
pub fn load_or_create(
    store: &Metered<'_>,
    owner: &Owner,
    request: &RequestId,
    seed: &str,
    now_ms: u64,
) -> Result<SessionState> {
    if let Some(state) = load(store, owner)? {
        return Ok(state);
    }
    let created = SessionState {
        session_id: session_id(seed, owner, request)?,
        updated_ms: now_ms,
        ..SessionState::default()
    };
    create(store, owner, request, &created)
}

/// Create the log and the record of a session key; the record that is there afterwards.
pub fn create(
    store: &Metered<'_>,
    owner: &Owner,
    request: &RequestId,
    created: &SessionState,
) -> Result<SessionState> {
    open_log(store, owner, &created.session_id, request)?;
    let step = step_id(request, "create")?;
    edit(
        store,
        owner.state_key(),
        &step,
        CONTENT_TYPE,
        |current: Current<'_>| match current.body {
            Some(_) => Ok(Change::Nothing),
            None => Ok(Change::Write(created.render())),
        },
    )?;
    // Another caller's session, if it was quicker; the log that was opened for nothing takes no message.
    require(store, owner)
}
