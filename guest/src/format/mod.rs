//! Formats, one a file: `parse(bytes) -> value + problems`, `render(value) -> bytes`. They know no
//! store and no key.

pub mod bus;
pub mod chat;
pub mod chat_metadata;
pub mod entries;
pub mod fact;
pub mod front_matter;
pub mod gzip;
pub mod home_folders;
pub mod json_member;
pub mod jsonl;
pub mod live_log;
pub mod message;
pub mod run_info;
pub mod session_state;
pub mod skill;
pub mod text;
pub mod user_meta;
pub mod user_state;
pub mod utc;
pub mod yaml;
