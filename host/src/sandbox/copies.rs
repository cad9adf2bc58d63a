//! What a command sees of the store without being able to change it: copies in a directory that ends with the call. Knows
//! prefixes, not what lies there.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::Mutex;

use super::{Copied, Error, Plan};
use crate::store::{BlobStore, DiskStore, Skipped};
use crate::transfer::{self, CopyOptions, Event};

/// Make the directories, links and copies of a plan. `copies_dir` is where they lie, `root_dir` where the store does;
/// from there the files' modes come, because stores know none. Answers what was no object and so is no part of a copy.
pub async fn make(
    plan: &Plan,
    store: &dyn BlobStore,
    root_dir: &Path,
    copies_dir: &Path,
) -> Result<Vec<Skipped>, Error> {
    for directory in &plan.directories {
        let doing = format!("making {}", directory.display());
        fs::create_dir_all(directory).map_err(Error::io(doing))?;
    }
    for (at, target) in &plan.links {
        let doing = format!("linking {}", at.display());
        symlink(target, at).map_err(Error::io(doing))?;
    }
    let mut skipped = Vec::new();
    if !plan.copies.is_empty() {
        let to = DiskStore::open(copies_dir).map_err(Error::Store)?;
        for copied in &plan.copies {
            skipped.extend(copy(copied, store, &to).await?);
            let from = root_dir.join(&copied.prefix);
            // A file that cannot be run is still one that can be read.
            let _ = take_modes(&from, &copied.host);
        }
    }
    Ok(skipped)
}

async fn copy(
    copied: &Copied,
    from: &dyn BlobStore,
    to: &DiskStore,
) -> Result<Vec<Skipped>, Error> {
    let skipped = Mutex::new(Vec::new());
    let tell = |event: Event<'_>| {
        if let Event::Skipped(one) = event {
            let mut skipped = skipped.lock().unwrap_or_else(|lock| lock.into_inner());
            skipped.push(one.clone());
        }
    };
    let options = CopyOptions {
        prefix: Some(copied.prefix.clone()),
        ..CopyOptions::default()
    };
    let summary = transfer::copy(from, to, &options, &tell).await;
    let summary = summary.map_err(Error::Store)?;
    match summary.unlisted.or(summary.first_failure) {
        Some(error) => Err(Error::Store(error)),
        None => Ok(skipped
            .into_inner()
            .unwrap_or_else(|lock| lock.into_inner())),
    }
}

/// Give each file the mode of the one that it is a copy of. Links are not followed.
fn take_modes(from: &Path, to: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(to)?.flatten() {
        let (from, to) = (from.join(entry.file_name()), entry.path());
        let Ok(meta) = fs::symlink_metadata(&from) else {
            continue;
        };
        if meta.is_dir() {
            take_modes(&from, &to)?;
        } else if meta.is_file() {
            // Without set-user-id and the like, and never without the owner's own rights.
            let mode = meta.permissions().mode() & 0o777 | 0o600;
            fs::set_permissions(&to, fs::Permissions::from_mode(mode))?;
        }
    }
    Ok(())
}

/// Remove a directory with everything in it, also what a command has locked against its owner.
pub fn remove(directory: &Path) -> std::io::Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            open_up(directory)?;
            fs::remove_dir_all(directory)
        }
        outcome => outcome,
    }
}

fn open_up(directory: &Path) -> std::io::Result<()> {
    fs::set_permissions(directory, fs::Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(directory)?.flatten() {
        if entry.file_type()?.is_dir() {
            open_up(&entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_taken_over_and_locked_directories_removed() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        for side in [&from, &to] {
            fs::create_dir_all(side.join("a")).unwrap();
            fs::write(side.join("a/run.sh"), "echo").unwrap();
        }
        let mode = |mode| fs::Permissions::from_mode(mode);
        fs::set_permissions(from.join("a/run.sh"), mode(0o4755)).unwrap();
        take_modes(&from, &to).unwrap();
        let taken = fs::metadata(to.join("a/run.sh")).unwrap().permissions();
        assert_eq!(taken.mode() & 0o7777, 0o755);

        fs::set_permissions(to.join("a"), mode(0o000)).unwrap();
        remove(&to).unwrap();
        assert!(!to.exists());
    }
}
