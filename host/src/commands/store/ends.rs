//! The two ends of a copy: opened, the target made where it is a directory that does not exist, and
//! refused where one lies inside the other. Knows addresses, not what is copied.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use haversack_host::store::address::Address;
use haversack_host::store::{BlobStore, MemoryStore};

use super::super::exit::{Code, Failure};
use super::super::open::{BucketFlags, open_store};

type Opened = Arc<dyn BlobStore>;

/// One end: its address, and how to reach it.
pub struct End<'a> {
    pub location: &'a str,
    pub flags: BucketFlags,
}

/// A dry run makes nothing: a directory that is missing is then an empty store.
pub fn open(from: End<'_>, to: End<'_>, dry_run: bool) -> anyhow::Result<(Opened, Opened)> {
    let opened = open_store(from.location, &from.flags)?;
    let (source, target) = (position(&from), position(&to));
    let (from, flags, to) = (from.location, to.flags, to.location);
    let problem = if source == target {
        Some("FROM and TO are the same store: there is nothing to copy".to_owned())
    } else if target.starts_with(&source) {
        Some(format!(
            "TO ({to}) lies inside FROM ({from}): the copy would copy itself; name a place outside"
        ))
    } else if source.starts_with(&target) {
        Some(format!(
            "FROM ({from}) lies inside TO ({to}): the copy would be mixed with it; name a place outside"
        ))
    } else {
        None
    };
    if let Some(message) = problem {
        return Err(Failure::new(Code::Invalid, message).into());
    }
    if let Some(path) = directory(to).filter(|path| !path.exists()) {
        if dry_run {
            return Ok((opened, Arc::new(MemoryStore::new(true))));
        }
        std::fs::create_dir_all(&path).map_err(|error| {
            let message = format!("cannot make the directory {}: {error}", path.display());
            Failure::new(Code::of_io(&error), message)
        })?;
        eprintln!("haversack: made the directory {}", path.display());
    }
    Ok((opened, open_store(to, &flags)?))
}

/// The directory that an address names, if it names one.
fn directory(location: &str) -> Option<PathBuf> {
    match Address::parse(location) {
        Ok(Address::Directory(path)) => Some(path),
        _ => None,
    }
}

/// Where an address leads, segment by segment: what lies inside another begins with all of that one's.
pub fn position(end: &End<'_>) -> Vec<String> {
    match Address::parse(end.location) {
        Ok(Address::Bucket(address)) => end.flags.resolved(&address),
        Ok(Address::Directory(path)) => {
            let text = resolved(&path).display().to_string();
            let segments = text.split('/').filter(|segment| !segment.is_empty());
            std::iter::once("directory")
                .chain(segments)
                .map(str::to_owned)
                .collect()
        }
        // Opening it has the better message.
        Err(_) => vec![end.location.to_owned()],
    }
}

/// Without links and dots, as far as it exists.
fn resolved(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    for above in absolute.ancestors() {
        if let (Ok(real), Ok(rest)) = (above.canonicalize(), absolute.strip_prefix(above)) {
            return if rest.as_os_str().is_empty() {
                real
            } else {
                real.join(rest)
            };
        }
    }
    absolute
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_neighbour_with_a_longer_name_lies_outside() {
        let place = |location| {
            let flags = BucketFlags::default();
            position(&End { location, flags })
        };
        let inside = |inner, outer| place(inner).starts_with(&place(outer));
        assert!(inside("s3://bucket/a/b/", "s3://bucket/a"));
        assert!(inside("s3://bucket/a", "s3://bucket"));
        assert!(!inside("s3://bucket/ab", "s3://bucket/a"));
        assert!(!inside("s3://bucket-2/a", "s3://bucket"));
        assert!(!inside("/bucket/a", "s3://bucket"));
        assert!(inside("/no-such/a/b", "/no-such/a"));
        assert!(inside("file:///no-such/a", "/no-such"));
        assert!(!inside("/no-such/ab", "/no-such/a"));
        assert!(inside("x", "."));
    }
}
