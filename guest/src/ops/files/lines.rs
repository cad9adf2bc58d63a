//! Lines of a file with their numbers, as an agent's tool shows them: the file is gone through in spans, of which
//! only what is shown stays.

use super::{LinesAnswer, LinesRequest, Workspace};
use crate::limits::{
    FILES_LINES_DEFAULT, FILES_LINES_MAX, FILES_LINES_SCAN_BYTES_MAX,
    FILES_NUMBERED_CHARACTERS_MAX, WORKSPACE_FILE_BYTES_MAX,
};
use crate::store::{Answer, Blob, BodyKind, GetRequest, Metered, Range, Request, Stat};
use crate::types::{Error, ErrorCode, Problem, ProblemKind, Result};

/// Bytes of one line that are held: all characters that are shown, whatever their length, and one more.
const HELD_BYTES: usize = 4 * (FILES_NUMBERED_CHARACTERS_MAX + 1);

pub fn read_lines(
    store: &Metered<'_>,
    workspace: &dyn Workspace,
    request: &LinesRequest,
) -> Result<LinesAnswer> {
    let first = request.first_line.unwrap_or(1);
    let count = request.lines.unwrap_or(FILES_LINES_DEFAULT);
    if first == 0 {
        return Err(Error::invalid("first-line is 0; lines are counted from 1"));
    }
    if count == 0 || count > FILES_LINES_MAX {
        return Err(Error::invalid(format!(
            "lines is {count}; it must be 1 to {FILES_LINES_MAX}"
        )));
    }
    let located = workspace.locate(&request.path)?;
    let path = located.path.as_str();
    let mut found = None;
    let mut keys = vec![located.key.clone()];
    keys.extend(located.fallback.clone());
    for key in keys {
        if let Some(blob) = span(store, &key, 0)? {
            found = Some((key, blob));
            break;
        }
    }
    let Some((key, mut blob)) = found else {
        return Err(Error::not_found(format!("{path} is not there")).at(located.key));
    };
    let stat = with_version(store, &key, blob.stat.clone())?;
    let mut page = Page::of(first, count);
    let mut offset = 0;
    loop {
        let bytes = blob.body.as_bytes();
        if bytes.contains(&0) {
            return Err(Error::invalid(format!(
                "{path} is binary ({} bytes); this call reads text",
                stat.size_bytes
            ))
            .at(key));
        }
        page.take(bytes);
        offset += bytes.len() as u64;
        let ended = bytes.is_empty() || offset >= stat.size_bytes;
        if ended {
            page.end();
        }
        if ended || page.is_full() {
            break;
        }
        if offset >= FILES_LINES_SCAN_BYTES_MAX {
            return Err(Error::too_large(format!(
                "{path} has {} lines in its first {FILES_LINES_SCAN_BYTES_MAX} bytes, and no more of it is looked \
                 through for lines; read it from an offset in bytes",
                page.number
            ))
            .at(key));
        }
        blob = match span(store, &key, offset)? {
            Some(next) if is_same(&stat, &next.stat) => next,
            _ => return Err(changed(path, &key)),
        };
    }
    if page.shown == 0 && first > 1 {
        let lines = page.number;
        return Err(Error::invalid(format!(
            "{path} has {lines} lines, none with number {first}"
        ))
        .at(key));
    }
    let problem = page.damaged.map(|line| {
        let message = "is not UTF-8; what cannot be read is shown as U+FFFD";
        Problem::new(ProblemKind::Repaired, &key, message).on_line(line)
    });
    Ok(LinesAnswer {
        writable: located.writable && key == located.key,
        path: located.path,
        key,
        version: stat.version,
        lines: page.shown,
        next_line: page.next_line(),
        text: page.text,
        size_bytes: stat.size_bytes,
        problems: problem.into_iter().collect(),
        cost: store.cost(),
    })
}

fn span(store: &Metered<'_>, key: &str, start_bytes: u64) -> Result<Option<Blob>> {
    store.get(GetRequest {
        key: key.to_owned(),
        range: Range::Span {
            start_bytes,
            length_bytes: WORKSPACE_FILE_BYTES_MAX,
        },
        kind: BodyKind::Binary,
    })
}

/// A store that appends may give ranges without a version.
fn with_version(store: &Metered<'_>, key: &str, mut stat: Stat) -> Result<Stat> {
    if stat.version.is_empty() {
        let answer = store.read(vec![Request::Head(key.to_owned())])?.pop();
        if let Some(Ok(Answer::Head(Some(head)))) = answer {
            stat.version = head.version;
        }
    }
    Ok(stat)
}

fn is_same(first: &Stat, now: &Stat) -> bool {
    let same_version = now.version.is_empty() || now.version == first.version;
    same_version && now.size_bytes == first.size_bytes
}

fn changed(path: &str, key: &str) -> Error {
    let message = format!("{path} was changed while it was read; read it again");
    Error::new(ErrorCode::Conflict, message).at(key)
}

/// Cuts spans into lines and keeps those that are asked for.
struct Page {
    first: u32,
    count: u32,
    /// Lines that have ended.
    number: u32,
    /// The beginning of the line that has not, and the bytes of it that are not held.
    line: Vec<u8>,
    dropped_bytes: u64,
    begun: bool,
    shown: u32,
    text: String,
    damaged: Option<u32>,
    /// Whether there is a line behind the last one shown.
    more: bool,
}

impl Page {
    fn of(first: u32, count: u32) -> Self {
        Self {
            first,
            count,
            number: 0,
            line: Vec::new(),
            dropped_bytes: 0,
            begun: false,
            shown: 0,
            text: String::new(),
            damaged: None,
            more: false,
        }
    }

    fn is_full(&self) -> bool {
        self.more
    }

    fn next_line(&self) -> Option<u32> {
        self.more.then(|| self.first.saturating_add(self.shown))
    }

    fn take(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && !self.more {
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let (part, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
            self.push(part);
            bytes = match end {
                Some(_) => {
                    self.line_ends();
                    rest.get(1..).unwrap_or_default()
                }
                None => rest,
            };
        }
    }

    fn push(&mut self, part: &[u8]) {
        self.begun = true;
        let room = HELD_BYTES.saturating_sub(self.line.len()).min(part.len());
        let (held, dropped) = part.split_at(room);
        self.line.extend_from_slice(held);
        self.dropped_bytes += dropped.len() as u64;
    }

    /// A last line without its end is a line; nothing behind the last end is none.
    fn end(&mut self) {
        if self.begun && !self.more {
            self.line_ends();
        }
    }

    fn line_ends(&mut self) {
        let line = std::mem::take(&mut self.line);
        let dropped_bytes = std::mem::take(&mut self.dropped_bytes);
        self.begun = false;
        let number = self.number.saturating_add(1);
        if number < self.first {
            self.number = number;
            return;
        }
        let shown = self.render(number, &line, dropped_bytes);
        let is_over = self.text.len() + shown.len() > WORKSPACE_FILE_BYTES_MAX as usize;
        if self.shown == self.count || (is_over && self.shown > 0) {
            self.more = true;
            return;
        }
        if self.damaged.is_none() && is_damaged(&line, dropped_bytes) {
            self.damaged = Some(number);
        }
        self.number = number;
        self.text.push_str(&shown);
        self.shown += 1;
    }

    fn render(&self, number: u32, line: &[u8], dropped_bytes: u64) -> String {
        let line = match dropped_bytes {
            0 => line.strip_suffix(b"\r").unwrap_or(line),
            _ => line,
        };
        let text = String::from_utf8_lossy(line);
        // A byte order mark is before the first line, not in it.
        let text = text
            .strip_prefix('\u{feff}')
            .filter(|_| number == 1)
            .unwrap_or(&text);
        let cut = text.char_indices().nth(FILES_NUMBERED_CHARACTERS_MAX);
        match cut {
            None => format!("{number:>6}\t{text}\n"),
            Some((at, _)) => {
                let (shown, rest) = text.split_at_checked(at).unwrap_or((text, ""));
                let left = rest.len() as u64 + dropped_bytes;
                format!("{number:>6}\t{shown}… [{left} more bytes]\n")
            }
        }
    }
}

/// Whether what is held is not UTF-8 for another reason than being cut.
fn is_damaged(line: &[u8], dropped_bytes: u64) -> bool {
    match std::str::from_utf8(line) {
        Ok(_) => false,
        Err(error) => dropped_bytes == 0 || error.error_len().is_some(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(first: u32, count: u32, spans: &[&[u8]]) -> Page {
        let mut page = Page::of(first, count);
        spans.iter().for_each(|span| page.take(span));
        page.end();
        page
    }

    #[test]
    fn spans_may_end_anywhere() {
        let whole = "eins\r\nzw\u{f6}i\n\ndrei".as_bytes();
        let expected = "     1\teins\n     2\tzw\u{f6}i\n     3\t\n     4\tdrei\n";
        for at in 0..=whole.len() {
            let (a, b) = whole.split_at(at);
            let page = page(1, 10, &[a, b]);
            assert_eq!(
                (page.text.as_str(), page.shown, page.more),
                (expected, 4, false),
                "{at}"
            );
        }
    }

    #[test]
    fn a_page_ends_where_it_is_full() {
        for (count, next) in [(1, Some(3)), (2, None), (3, None)] {
            let page = page(2, count, &[b"a\nb\nc\n"]);
            assert_eq!(page.next_line(), next, "{count}");
            assert!(page.text.starts_with("     2\tb\n"));
        }
        let empty = page(1, 5, &[b""]);
        assert_eq!((empty.text.as_str(), empty.shown, empty.number), ("", 0, 0));
        let behind = page(5, 5, &[b"a\nb"]);
        assert_eq!((behind.shown, behind.number), (0, 2));
    }

    #[test]
    fn long_lines_are_cut_and_say_so() {
        let line = |characters: usize| "\u{e9}".repeat(characters);
        let exact = page(1, 1, &[line(FILES_NUMBERED_CHARACTERS_MAX).as_bytes()]);
        assert!(!exact.text.contains('['));
        let over = page(1, 1, &[line(FILES_NUMBERED_CHARACTERS_MAX + 1).as_bytes()]);
        assert!(over.text.ends_with("… [2 more bytes]\n"), "{}", over.text);
        let far = page(1, 1, &[line(1_000_000).as_bytes(), b"\nnext"]);
        let left = 2 * (1_000_000 - FILES_NUMBERED_CHARACTERS_MAX);
        assert!(far.text.ends_with(&format!("… [{left} more bytes]\n")));
        assert_eq!((far.damaged, far.next_line()), (None, Some(2)));
        assert_eq!(page(1, 2, &[b"a\n\xff\xfe"]).damaged, Some(2));
    }
}
