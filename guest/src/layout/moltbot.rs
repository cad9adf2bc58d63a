//! Keys of moltbot: the reference's bucket plus the log segments of spec/protocols.md. Knows no store
//! and no format.

pub use super::field::{
    DeletionTime, LineNumber, MoltbotSessionKey as SessionKey, MoltbotUserId as UserId, PathTail,
    SegmentHash, SegmentMs, SkillName,
};
use super::{System, pattern::places};

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

/// What belongs to a user, soft-deleted copies included.
pub fn home_prefixes(user: &UserId) -> Vec<String> {
    vec![user_prefix(user), format!("deleted/{user}/")]
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
