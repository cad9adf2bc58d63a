//! Files of one memory a line (hi-boss reference, "Daily"): lines appended, and lines by their number. Pure, over
//! bytes: what is no UTF-8 stays as it is.

use crate::format::text::trim;

/// The memories of a text: its lines that are not blank, each with a line end of its own.
pub fn memories(text: &str) -> String {
    let mut lines = String::with_capacity(text.len() + 1);
    for line in text.lines().filter(|line| !trim(line).is_empty()) {
        lines.push_str(line);
        lines.push('\n');
    }
    lines
}

/// The file with `lines` at its end. What is there stays, byte for byte; a last line without an end gets one.
pub fn append(file: &[u8], lines: &[u8]) -> Vec<u8> {
    let mut appended = file.to_vec();
    if file.last().is_some_and(|byte| *byte != b'\n') {
        appended.push(b'\n');
    }
    appended.extend_from_slice(lines);
    appended
}

/// The lines of a file without their ends, `\n` or `\r\n`. A line end at the end of the file begins no line.
pub fn lines(file: &[u8]) -> impl Iterator<Item = &[u8]> {
    let whole = file.strip_suffix(b"\n").unwrap_or(file);
    let lines = whole.split(|byte| *byte == b'\n');
    let lines = lines.take(if file.is_empty() { 0 } else { usize::MAX });
    lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_that_is_not_blank_is_a_memory() {
        for (text, expected) in [
            ("a", "a\n"),
            ("a\n", "a\n"),
            ("\n\na\r\n \t\n\u{feff}\n  b \n", "a\n  b \n"),
            ("```\ncode\n```", "```\ncode\n```\n"),
            (" \n", ""),
        ] {
            assert_eq!(memories(text), expected, "{text:?}");
        }
    }

    #[test]
    fn nothing_that_is_there_moves() {
        for (file, expected) in [
            (&b""[..], &b"x\n"[..]),
            (b"a", b"a\nx\n"),
            (b"a\n", b"a\nx\n"),
            (b"a\r\n", b"a\r\nx\n"),
            (b"a\n\n \n", b"a\n\n \nx\n"),
            (b"\xff", b"\xff\nx\n"),
        ] {
            assert_eq!(append(file, b"x\n"), expected, "{file:?}");
        }
    }

    #[test]
    fn lines_are_counted_as_editors_do() {
        let counted = |file: &'static [u8]| lines(file).collect::<Vec<_>>();
        assert_eq!(counted(b""), Vec::<&[u8]>::new());
        assert_eq!(counted(b"\n"), [b""]);
        assert_eq!(counted(b"a"), [b"a"]);
        assert_eq!(counted(b"a\r\n\nb\r"), [&b"a"[..], b"", b"b"]);
        assert_eq!(counted(b"\xff\nb\n"), [&b"\xff"[..], b"b"]);
    }
}
