//! Where the entries of a bus lie in a piece of it. Looks at lines only; what a header says beyond its own two
//! members of `meta` is `message.rs`'s.

use super::TORN;

/// A part of a bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Without the blank line before the next one.
    pub bytes: &'a [u8],
    pub kind: Kind<'a>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind<'a> {
    /// A line before the first entry, without its end.
    Legacy(&'a [u8]),
    Message {
        /// Between the separators.
        header: &'a [u8],
        /// As it stands, without what was added behind it.
        body: &'a [u8],
        escaped: bool,
        /// Whether it is not as long as its header says: edited since it was written.
        edited: bool,
    },
    /// A fragment; `is_ended` where another entry can follow.
    Torn { is_ended: bool },
    /// A header that no line closes before the next entry.
    Unclosed,
}

impl Frame<'_> {
    /// By which a repeat is known.
    pub fn id(&self) -> Option<String> {
        let Kind::Message { header, .. } = self.kind else {
            return None;
        };
        let header = std::str::from_utf8(header).ok()?;
        let id = header.lines().find_map(|line| line.strip_prefix("msg_id:"));
        let id = id?.trim().trim_matches(['"', '\'']);
        (!id.is_empty()).then(|| id.to_owned())
    }

    pub fn problem(&self) -> Option<&'static str> {
        match self.kind {
            Kind::Legacy(_) | Kind::Message { .. } => None,
            Kind::Torn { .. } => Some("torn: the entry has no end"),
            Kind::Unclosed => Some("the header is never closed by a line `---`"),
        }
    }
}

/// What reads as nothing at the ends of a line.
pub fn is_blank(character: char) -> bool {
    character.is_whitespace() || character == '\u{feff}'
}

#[derive(Clone, Copy)]
struct Line<'a> {
    start: usize,
    /// Behind its line end.
    end: usize,
    /// Without its line end.
    text: &'a [u8],
}

impl Line<'_> {
    fn has_end(&self) -> bool {
        self.end > self.start + self.text.len()
    }
}

/// One after the other, because a piece may have millions of them.
fn lines(piece: &[u8]) -> impl Iterator<Item = Line<'_>> {
    let mut end = 0;
    piece
        .split_inclusive(|byte| *byte == b'\n')
        .map(move |bytes| {
            let start = end;
            end += bytes.len();
            let text = bytes.strip_suffix(b"\n").unwrap_or(bytes);
            Line {
                start,
                end,
                text: text.strip_suffix(b"\r").unwrap_or(text),
            }
        })
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

fn is_separator(text: &[u8]) -> bool {
    text == b"---"
}

/// Whether a line `---` opens an entry whatever was open before it: a blank line before it, a name behind it.
fn opens(piece: &[u8], line: &Line<'_>, is_name: impl Fn(&[u8]) -> bool) -> bool {
    let before = slice(piece, 0, line.start);
    let blank_lines = [b"\n\n".as_slice(), b"\n\r\n"];
    let behind = lines(slice(piece, line.end, piece.len())).next();
    blank_lines.iter().any(|end| before.ends_with(end))
        && behind.is_some_and(|line| is_name(line.text))
}

fn is_id(text: &[u8]) -> bool {
    text.starts_with(b"msg_id:")
}

/// A name and a colon, as headers begin that other programs write.
fn is_name(text: &[u8]) -> bool {
    let name = text.split(|byte| *byte == b':').next().unwrap_or_default();
    let fits = |byte: &u8| byte.is_ascii_lowercase() || *byte == b'_';
    !name.is_empty() && name.len() < text.len() && name.iter().all(fits)
}

/// See the head of `mod.rs`, "Footing".
pub fn footing(piece: &[u8]) -> Option<usize> {
    let mut separators = lines(piece).filter(|line| is_separator(line.text));
    let begin = separators.find(|line| opens(piece, line, is_name))?;
    Some(begin.start)
}

enum State {
    Preamble,
    Header {
        entry: usize,
        from: usize,
    },
    Body {
        entry: usize,
        header: (usize, usize),
        from: usize,
    },
}

/// The parts of a piece that begins with an entry, or with the bus itself, and ends where the bus does.
pub fn frames(piece: &[u8]) -> Vec<Frame<'_>> {
    frames_of(piece, true)
}

/// An entry by itself, which was found whole where it stands.
pub fn whole(entry: &[u8]) -> Option<Frame<'_>> {
    frames_of(entry, false).into_iter().next()
}

fn frames_of(piece: &[u8], ends: bool) -> Vec<Frame<'_>> {
    let mut frames = Vec::new();
    let mut state = State::Preamble;
    for line in lines(piece) {
        let marked = line.text.strip_prefix(BYTE_ORDER_MARK);
        let text = marked.filter(|_| line.start == 0).unwrap_or(line.text);
        if !is_separator(text) {
            if matches!(state, State::Preamble) && is_legacy(text) {
                let bytes = slice(piece, line.start, line.end);
                let kind = Kind::Legacy(text);
                frames.push(Frame { bytes, kind });
            }
            continue;
        }
        state = match state {
            State::Header { entry, from } if !opens(piece, &line, is_id) => State::Body {
                entry,
                header: (from, line.start),
                from: line.end,
            },
            before => {
                frames.extend(finished(piece, &before, line.start, false));
                State::Header {
                    entry: line.start,
                    from: line.end,
                }
            }
        };
    }
    frames.extend(finished(piece, &state, piece.len(), ends));
    frames
}

fn slice(piece: &[u8], from: usize, to: usize) -> &[u8] {
    piece.get(from..to).unwrap_or_default()
}

/// The entry that ends here, if one does.
fn finished<'a>(piece: &'a [u8], state: &State, end: usize, is_last: bool) -> Option<Frame<'a>> {
    let (entry, header, from) = match *state {
        State::Preamble => return None,
        State::Header { entry, .. } => {
            let kind = match is_last {
                true => Kind::Torn { is_ended: false },
                false => Kind::Unclosed,
            };
            let bytes = slice(piece, entry, end);
            return Some(Frame { bytes, kind });
        }
        State::Body {
            entry,
            header,
            from,
        } => (entry, slice(piece, header.0, header.1), from),
    };
    let rest = slice(piece, from, end);
    let own = OwnMembers::of(header);
    let (kind, length) = match Found::of(header, &own, rest, is_last) {
        Found::Body {
            body_bytes,
            length,
            edited,
        } => {
            let kind = Kind::Message {
                header,
                body: slice(rest, 0, body_bytes),
                escaped: own.escaped,
                edited,
            };
            (kind, length)
        }
        Found::Torn { is_ended } => (Kind::Torn { is_ended }, rest.len()),
    };
    let bytes = slice(piece, entry, from + length);
    Some(Frame { bytes, kind })
}

/// What stands behind a header.
enum Found {
    Body {
        body_bytes: usize,
        /// With what was added behind it.
        length: usize,
        edited: bool,
    },
    Torn {
        is_ended: bool,
    },
}

impl Found {
    fn of(header: &[u8], own: &OwnMembers, rest: &[u8], is_last: bool) -> Self {
        let is_mark = |line: &Line<'_>| line.text == TORN.as_bytes() && line.has_end();
        // Crashes may have left beginnings of separators.
        let is_left = |line: &Line<'_>| matches!(line.text.trim_ascii(), b"" | b"-" | b"--");
        let written = lines(rest).filter(|line| !is_left(line));
        if lines(header).any(|line| is_mark(&line)) || written.last().is_some_and(|l| is_mark(&l)) {
            return Self::Torn { is_ended: true };
        }
        let torn = Self::Torn { is_ended: false };
        let edited = match is_last && !rest.ends_with(b"\n") {
            true => Self::Torn { is_ended: false },
            false => Self::as_it_stands(rest, own.body_bytes.is_some()),
        };
        let Some(body_bytes) = own.body_bytes.filter(|_| !header.ends_with(b"\r\n")) else {
            return edited;
        };
        let Some((body, behind)) = rest.split_at_checked(body_bytes) else {
            // Nobody tears an entry in the middle of a bus: it was shortened by hand.
            return if is_last { torn } else { edited };
        };
        let (length, behind) = match (body.ends_with(b"\n"), behind.strip_prefix(b"\n")) {
            (true, _) => (body_bytes, behind),
            (false, Some(behind)) => (body_bytes + 1, behind),
            (false, None) => return edited,
        };
        match lines(behind).all(|line| is_left(&line)) {
            true => Self::Body {
                body_bytes,
                length,
                edited: false,
            },
            false => edited,
        }
    }

    /// All of it, but for the blank line that parts entries.
    fn as_it_stands(rest: &[u8], edited: bool) -> Self {
        let parts = match rest {
            b"\n" | b"\r\n" => rest.len(),
            rest if rest.ends_with(b"\n\r\n") => 2,
            rest if rest.ends_with(b"\n\n") => 1,
            _ => 0,
        };
        let length = rest.len() - parts;
        Self::Body {
            body_bytes: length,
            length,
            edited,
        }
    }
}

/// What a header says of its body, in the first lines of `meta`.
struct OwnMembers {
    body_bytes: Option<usize>,
    escaped: bool,
}

impl OwnMembers {
    fn of(header: &[u8]) -> Self {
        let mut meta = lines(header)
            .skip_while(|line| line.text != b"meta:")
            .skip(1);
        let mut member = |name: &str| {
            let line = std::str::from_utf8(meta.next()?.text).ok()?;
            line.strip_prefix("  ")?
                .strip_prefix(name)?
                .strip_prefix(": ")
                .map(str::to_owned)
        };
        let body_bytes = member("body_bytes").and_then(|bytes| bytes.parse().ok());
        Self {
            escaped: body_bytes.is_some() && member("escaped").as_deref() == Some("true"),
            body_bytes,
        }
    }
}

/// `[timestamp] TYPE: text`.
fn is_legacy(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok_and(|text| legacy(text).is_some())
}

/// Timestamp, type and text of a legacy line.
pub fn legacy(line: &str) -> Option<(&str, &str, &str)> {
    let (timestamp, rest) = line.strip_prefix('[')?.split_once("] ")?;
    let (kind, text) = rest.split_once(':')?;
    let is_type = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    let dated = timestamp.starts_with(|first: char| first.is_ascii_digit());
    let fits =
        dated && kind.starts_with(|c: char| c.is_ascii_uppercase()) && kind.bytes().all(is_type);
    fits.then(|| (timestamp, kind, text.trim_start_matches(' ')))
}

/// See the head of `mod.rs`, "Torn".
pub fn separator(end: &[u8]) -> &'static [u8] {
    if end.is_empty() || end == BYTE_ORDER_MARK {
        return b"";
    }
    let last = frames(end).pop();
    let torn = last.filter(|frame| frame.kind == Kind::Torn { is_ended: false });
    let in_header = torn.map(|frame| {
        let separators = lines(frame.bytes).filter(|line| is_separator(line.text));
        separators.count() < 2
    });
    match (in_header, end.ends_with(b"\n")) {
        (Some(true), true) => b"{haversack: torn\n---\n\n",
        (Some(true), false) => b"\n{haversack: torn\n---\n\n",
        (Some(false), true) => b"{haversack: torn\n\n",
        (Some(false), false) => b"\n{haversack: torn\n\n",
        (None, true) => b"\n",
        (None, false) => b"\n\n",
    }
}
