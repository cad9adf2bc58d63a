//! Keys of moltbot: the reference's bucket plus the log segments of spec/protocols.md. Knows no store
//! and no format.

use serde::{Deserialize, Serialize};

pub use super::field::{
    DeletionTime, LineNumber, MoltbotSessionKey as SessionKey, MoltbotUserId as UserId, PathTail,
    SegmentHash, SegmentMs, SkillName,
};
use super::{System, pattern::places, place_of};
use crate::types::{Error, Result};

/// Where the live users lie.
pub const USERS_PREFIX: &str = "users/";

/// Where the soft-deleted users lie.
pub const DELETED_PREFIX: &str = "deleted/";

/// Everything of a live user: `users/user_1/`.
pub fn user_prefix(user: &UserId) -> String {
    format!("users/{user}/")
}

/// One soft-deleted copy of a user: `deleted/user_1/20260220T093000Z/`.
pub fn deleted_prefix(user: &UserId, deletion: &DeletionTime) -> String {
    format!("deleted/{user}/{deletion}/")
}

/// Every soft-deleted copy of a user.
pub fn all_deleted_prefix(user: &UserId) -> String {
    format!("deleted/{user}/")
}

/// What meta.json says of where the copy of a user lies: `deleted/user_1/20260220T093000Z`.
pub fn deleted_to(user: &UserId, deletion: &DeletionTime) -> String {
    format!("deleted/{user}/{deletion}")
}

/// When the copy was begun that lies there; none for a place of another form, or of another user.
pub fn deletion_of(user: &UserId, to: &str) -> Option<DeletionTime> {
    let name = to.strip_prefix(&all_deleted_prefix(user))?;
    DeletionTime::parse(name.strip_suffix('/').unwrap_or(name)).ok()
}

/// What a restore brings back although something else lies in its place: `users/user_1/restored/20260220T093000Z/`.
pub fn restored_prefix(user: &UserId, deletion: &DeletionTime) -> String {
    format!("users/{user}/restored/{deletion}/")
}

/// The user whose everything lies below a prefix; none where that is no user's.
pub fn user_of(prefix: &str) -> Option<UserId> {
    let name = prefix.strip_prefix(USERS_PREFIX)?.strip_suffix('/')?;
    UserId::parse(name).ok()
}

/// What a list begins behind so that it passes over everything below a prefix: `users/a0` follows all of `users/a/`.
pub fn behind_everything(prefix: &str) -> String {
    match prefix.strip_suffix('/') {
        Some(name) => format!("{name}0"),
        None => prefix.to_owned(),
    }
}

/// The key of a user's meta.json.
pub fn meta_key(user: &UserId) -> String {
    Place::UserMeta { user: user.clone() }.key()
}

/// What belongs to a user, soft-deleted copies included.
pub fn home_prefixes(user: &UserId) -> Vec<String> {
    vec![user_prefix(user), format!("deleted/{user}/")]
}

/// What of a user belongs on disk when it starts: below the user, and below the root there.
const PLACED: [(&str, &str); 3] = [
    ("config/", "root/.clawdbot/"),
    ("skills/", "root/clawd/skills/"),
    ("workspace/", "root/clawd/workspace/"),
];

/// The folders of a user that belong on disk: below [`user_prefix`], and below the root there, each with its slash.
pub fn placed_folders() -> &'static [(&'static str, &'static str)] {
    &PLACED
}

/// The prefixes of what belongs on disk; the last one is the workspace's, where that is wanted.
pub fn placed_prefixes(user: &UserId, workspace: bool) -> Vec<String> {
    let wanted = if workspace {
        PLACED.len()
    } else {
        PLACED.len() - 1
    };
    let prefixes = PLACED.iter().take(wanted);
    prefixes
        .map(|(below, _)| format!("{}{below}", user_prefix(user)))
        .collect()
}

/// Where an object of a user belongs below the root on disk; none where it does not belong there.
pub fn place_on_disk(user: &UserId, key: &str) -> Option<String> {
    let path = key.strip_prefix(&user_prefix(user))?;
    PLACED.iter().find_map(|(below, root)| {
        let rest = path.strip_prefix(below).filter(|rest| !rest.is_empty())?;
        Some(format!("{root}{rest}"))
    })
}

/// What an object of a user counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Category {
    Config,
    Sessions,
    Workspace,
    Skills,
    Other,
    Meta,
}

impl Category {
    pub const ALL: [Self; 6] = [
        Self::Config,
        Self::Sessions,
        Self::Workspace,
        Self::Skills,
        Self::Other,
        Self::Meta,
    ];
}

/// What the object at `key`, which lies below the user's prefix, counts as.
pub fn category_of(user: &UserId, key: &str) -> Category {
    let path = key.strip_prefix(&user_prefix(user)).unwrap_or(key);
    match path.split_once('/').map_or(path, |(first, _)| first) {
        "meta.json" if path == "meta.json" => Category::Meta,
        first if first == path => Category::Other,
        "config" => Category::Config,
        "sessions" => Category::Sessions,
        "workspace" => Category::Workspace,
        "skills" => Category::Skills,
        _ => Category::Other,
    }
}

/// The key of a template's file; `invalid` unless it is config, a skill's or workspace.
pub fn template_key(user: &UserId, path: &str) -> Result<String> {
    let key = format!("{}{path}", user_prefix(user));
    place_of(System::Moltbot, &key)?;
    match place_on_disk(user, &key) {
        Some(_) => Ok(key),
        None => Err(Error::invalid(format!(
            "a template has no file {path:?}; its files lie below config/, skills/ or workspace/"
        ))),
    }
}

places! { System::Moltbot;
    /// The gateway's configuration.
    Config "config" { user: UserId } =
        "users/{user}/config/clawdbot.json";
    /// Another configuration file.
    ConfigFile "config-file" { user: UserId, path: PathTail } =
        "users/{user}/config/{path}";
    /// A session's messages; on a store that does not append, the newest of them.
    Messages "messages" { user: UserId, session: SessionKey } =
        "users/{user}/sessions/{session}/messages.jsonl";
    /// A segment of the messages that is not folded in yet.
    MessageSegment "message-segment" { user: UserId, session: SessionKey, ms: SegmentMs, hash: SegmentHash } =
        "users/{user}/sessions/{session}/messages/new/{ms}-{hash}.jsonl";
    /// Older messages, sealed.
    SealedMessages "sealed-messages" { user: UserId, session: SessionKey, line: LineNumber, hash: SegmentHash } =
        "users/{user}/sessions/{session}/messages/old/{line}-{hash}.jsonl";
    /// What is known of a session without reading its messages.
    SessionMetadata "session-metadata" { user: UserId, session: SessionKey } =
        "users/{user}/sessions/{session}/metadata.json";
    /// A file of the user's workspace.
    WorkspaceFile "workspace-file" { user: UserId, path: PathTail } =
        "users/{user}/workspace/{path}";
    /// A skill of the user's.
    Skill "skill" { user: UserId, name: SkillName } =
        "users/{user}/skills/{name}/SKILL.md";
    /// Another file of a skill.
    SkillFile "skill-file" { user: UserId, name: SkillName, path: PathTail } =
        "users/{user}/skills/{name}/{path}";
    /// Who the user is, and the subscription that decides how long the data stays.
    UserMeta "user-meta" { user: UserId } =
        "users/{user}/meta.json";
    /// Any other file of a user.
    UserFile "user-file" { user: UserId, path: PathTail } =
        "users/{user}/{path}";
    /// A file of a soft-deleted user; the path is the one below `users/{user}/`.
    DeletedFile "deleted-file" { user: UserId, deletion: DeletionTime, path: PathTail } =
        "deleted/{user}/{deletion}/{path}";
}
