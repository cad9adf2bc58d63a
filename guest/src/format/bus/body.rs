//! Bodies of entries: a line that would read as a separator, or as the end of a fragment, gets a backslash more.
//! Knows no header.

use super::TORN;

/// A body as it stands in an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// With a line end behind it.
    pub text: String,
    /// Without the line end, where the body has none.
    pub body_bytes: usize,
    pub escaped: bool,
}

pub fn store(body: &str) -> Stored {
    let mut text = each_guarded_line(body, |before, backslashes, behind| {
        format!("{before}{backslashes}\\{behind}")
    });
    let (body_bytes, escaped) = (text.len(), text != body);
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Stored {
        text,
        body_bytes,
        escaped,
    }
}

/// What was posted, of a body that is marked as escaped.
pub fn unescape(body: &str) -> String {
    each_guarded_line(body, |before, backslashes, behind| {
        let fewer = backslashes.strip_prefix('\\').unwrap_or(backslashes);
        format!("{before}{fewer}{behind}")
    })
}

/// Lines that, but for backslashes in front and blanks around, are `---` or [`TORN`]; others stay. A carriage return
/// ends a line, too: some readers take it so.
fn each_guarded_line(body: &str, change: impl Fn(&str, &str, &str) -> String) -> String {
    let lines = body.split_inclusive(['\n', '\r']);
    lines
        .map(|line| {
            let text = line.trim_start_matches(super::frame::is_blank);
            let behind = text.trim_start_matches('\\');
            let word = behind.trim_end_matches(super::frame::is_blank);
            if word != "---" && word != TORN {
                return line.to_owned();
            }
            let before = line.get(..line.len() - text.len()).unwrap_or_default();
            let backslashes = text.get(..text.len() - behind.len()).unwrap_or_default();
            change(before, backslashes, behind)
        })
        .collect()
}
