//! What becomes of one path: from what lies here, what lies in the store, and what lay in both when they were last
//! the same. Pure; knows no store, no file and no clock.
//!
//! Nothing that only one side has is ever dropped, unless it is what both had and the other side has moved on.

/// A path as both sides had it when they were last the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Last {
    pub version_here: String,
    pub version_there: String,
    /// SHA-256 of the content, in hexadecimal.
    pub digest: String,
}

/// What lies on one side now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub version: String,
    /// SHA-256 of the content, once it was looked into.
    pub digest: Option<String>,
}

/// What to do about a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Nothing,
    /// Find out the digest of these sides, and decide again.
    Look {
        here: bool,
        there: bool,
    },
    /// Both sides are the same: remember that.
    Record,
    /// Both are gone: remember nothing.
    Forget,
    /// Write what is here to the store, over exactly what was seen there.
    Upload,
    /// Write what is in the store here, over exactly what was seen here.
    Download,
    DeleteThere,
    DeleteHere,
    /// Keep what is here under another name as well, then do as for `Download`.
    Conflict,
}

/// A step, and the reason in words.
pub type Decision = (Step, &'static str);

/// One side, compared with how it was last.
#[derive(Clone, Copy)]
enum Side<'a> {
    Gone,
    AsLast,
    Changed(Option<&'a str>),
}

/// What to do about a path.
pub fn decide(last: Option<&Last>, here: Option<&Seen>, there: Option<&Seen>) -> Decision {
    let was_here = last.map(|last| (last.version_here.as_str(), last.digest.as_str()));
    let was_there = last.map(|last| (last.version_there.as_str(), last.digest.as_str()));
    match (last, side(was_here, here), side(was_there, there)) {
        (None, Side::Gone, Side::Gone) => (Step::Nothing, "there is no such file"),
        (None, Side::Gone, _) => (Step::Download, "new in the store"),
        (None, _, Side::Gone) => (Step::Upload, "new here"),
        (Some(_), Side::Gone, Side::Gone) => (Step::Forget, "deleted on both sides"),
        (Some(_), Side::Gone, Side::AsLast) => (Step::DeleteThere, "deleted here"),
        (Some(_), Side::Gone, Side::Changed(_)) => (
            Step::Download,
            "deleted here, but changed in the store since: restored",
        ),
        (Some(_), Side::AsLast, Side::Gone) => (Step::DeleteHere, "deleted in the store"),
        (Some(last), Side::AsLast, Side::AsLast) => {
            let same = |seen: Option<&Seen>, version: &str| {
                seen.is_some_and(|seen| seen.version == version)
            };
            match same(here, &last.version_here) && same(there, &last.version_there) {
                true => (Step::Nothing, "unchanged"),
                false => (Step::Record, "touched, with the same content"),
            }
        }
        (Some(_), Side::AsLast, Side::Changed(_)) => (Step::Download, "changed in the store"),
        (Some(_), Side::Changed(None), Side::Gone | Side::AsLast) => {
            look(true, false, "changed here, perhaps")
        }
        (Some(_), Side::Changed(_), Side::Gone) => (
            Step::Upload,
            "deleted in the store, but changed here since: uploaded again",
        ),
        (Some(_), Side::Changed(_), Side::AsLast) => (Step::Upload, "changed here"),
        (_, Side::Changed(Some(here)), Side::Changed(Some(there))) => match here == there {
            true => (Step::Record, "the same on both sides"),
            false => (Step::Conflict, "changed on both sides"),
        },
        (_, Side::Changed(here), Side::Changed(there)) => look(
            here.is_none(),
            there.is_none(),
            "changed on both sides, perhaps to the same",
        ),
        // Without a last time nothing can be as it was.
        (None, Side::AsLast, _) | (None, _, Side::AsLast) => (Step::Nothing, "unchanged"),
    }
}

fn look(here: bool, there: bool, why: &'static str) -> Decision {
    (Step::Look { here, there }, why)
}

/// `last` is the version and digest that the side had.
fn side<'a>(last: Option<(&str, &str)>, seen: Option<&'a Seen>) -> Side<'a> {
    let Some(Seen { version, digest }) = seen else {
        return Side::Gone;
    };
    let digest = digest.as_deref();
    match last {
        Some((was, _)) if was == version => Side::AsLast,
        Some((_, was)) if digest == Some(was) => Side::AsLast,
        _ => Side::Changed(digest),
    }
}

#[cfg(test)]
#[path = "decide/tests.rs"]
mod tests;
