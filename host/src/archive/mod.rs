//! All data of one user as one `.tar.gz`, out of a store and back into one. Knows stores and the prefix that it
//! is given; no layout and no command line.
//!
//! # Format 1
//!
//! One gzip member around a tar in POSIX's form. In this order:
//!
//! | entry | what |
//! |---|---|
//! | `haversack-export/begin.json` | `{"format": 1, "user", "prefix"}` |
//! | the key of each object, in order | its bytes; content type and metadata as extended attributes (`user.mime_type`, `user.haversack.NAME`) |
//! | `haversack-export/sums-000001.jsonl`, … | after at most 1,000 objects: `{"path", "sizeBytes", "sha256", "version", "changed"}` of each, or `{"path", "leftOut"}` |
//! | `haversack-export/end.json` | `{"files", "bytes", "changed", "leftOut"}` |
//!
//! Each object is as it was at one moment; not all are of the same one. `changed` marks what was written again
//! until its part of the sums was, or grew while it was read: of that, the beginning is there.
//!
//! Other tars of the same tree are read too; what is not in them (content types, sums) is then not checked.

mod check;
mod export;
mod head;
mod import;
mod manifest;
mod pack;
mod pieces;
mod read;
mod tar;
mod unpack;

pub use self::check::Unpacked;
pub use crate::owner::Owner;
pub use export::{Export, Progress};
pub use import::{ImportOptions, Imported, import};
pub use manifest::FORMAT;
pub use unpack::{Limits, unpack};

/// Things that are named one by one; of the rest only the number is kept.
pub const NAMED_MAX: usize = 100;
