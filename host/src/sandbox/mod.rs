//! Runs a command in the view of a thread under proot: makes what the component's plan names, starts proot behind a
//! filter of system calls, and takes everything away again. Knows plans, not threads; prints nothing. Linux only.
//!
//! proot is a view, not a wall: it keeps commands to their thread, and the filter closes the ways past it that are known, but
//! it runs with this user's rights. Whoever runs programs that attack it runs haversack in a container or a machine of
//! its own.

mod copies;
mod filter;
mod mount_point;
mod plan;
mod processes;
mod run;
mod signals;

use std::path::PathBuf;

pub use self::plan::{Bind, Copied, Plan};
pub use self::run::{Ended, in_shell, run};
use crate::store::Error as StoreError;

/// Directories of a Linux system that programs need, for those that this one has. Not `/proc`, where the environment and
/// the memory of other processes lie, and not `/tmp`, where others keep files.
const SYSTEM_DIRS: [&str; 9] = [
    "/bin", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/sbin", "/usr",
];

/// Those of the usual directories that this machine has.
pub fn system_dirs() -> Vec<String> {
    let there = SYSTEM_DIRS
        .into_iter()
        .filter(|dir| PathBuf::from(dir).is_dir());
    there.map(str::to_owned).collect()
}

/// Where proot is, by `PATH`.
pub fn find_proot() -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let path = std::env::var_os("PATH")?;
    let mut candidates = std::env::split_paths(&path).map(|directory| directory.join("proot"));
    candidates.find(|program| {
        let meta = program.metadata();
        meta.is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    })
}

/// Why a command could not be run.
#[derive(Debug)]
pub enum Error {
    /// The machine has no such thing.
    Unsupported(String),
    /// What is to be copied cannot be.
    Store(StoreError),
    /// What the machine refused, and its reason.
    Io(String, std::io::Error),
    /// proot ended before the command did.
    Proot(String),
}

impl Error {
    fn io(doing: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let doing = doing.into();
        move |cause| Self::Io(doing, cause)
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unsupported(message) | Self::Proot(message) => f.write_str(message),
            Self::Store(error) => f.write_str(&error.message),
            Self::Io(doing, cause) => write!(f, "{doing}: {cause}"),
        }
    }
}

impl std::error::Error for Error {}
