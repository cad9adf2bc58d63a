//! Lines of a JSON Lines text: number, place, and whether each was ended. Knows nothing of what a line
//! holds.

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A line that is not blank, without its end (`\n` or `\r\n`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// Counted from 1; blank lines count.
    pub number: u32,
    /// Where `bytes` begin in the text.
    pub offset_bytes: usize,
    pub bytes: &'a [u8],
    /// False only for a last line without a newline: its writer may have been stopped in it.
    pub ended: bool,
}

/// The lines of `text` in order. Blank lines are skipped, and so is a byte order mark at the start.
pub fn lines(text: &[u8]) -> Lines<'_> {
    let rest = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    Lines {
        offset_bytes: text.len() - rest.len(),
        rest,
        number: 0,
    }
}

/// See [`lines`].
#[derive(Debug, Clone)]
pub struct Lines<'a> {
    rest: &'a [u8],
    offset_bytes: usize,
    number: u32,
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        while !self.rest.is_empty() {
            let end = self.rest.iter().position(|byte| *byte == b'\n');
            let whole_bytes = end.map_or(self.rest.len(), |end| end + 1);
            let (whole, rest) = self.rest.split_at(whole_bytes);
            let line = Line {
                number: self.number.saturating_add(1),
                offset_bytes: self.offset_bytes,
                bytes: without_end(whole),
                ended: end.is_some(),
            };
            self.rest = rest;
            self.offset_bytes += whole_bytes;
            self.number = line.number;
            if !line.bytes.iter().all(|byte| b" \t\r".contains(byte)) {
                return Some(line);
            }
        }
        None
    }
}

fn without_end(line: &[u8]) -> &[u8] {
    match line {
        [line @ .., b'\r', b'\n'] | [line @ .., b'\n'] => line,
        _ => line,
    }
}

/// How many line ends there are. Eight bytes at once, because whole archives are counted.
pub fn count_ends(text: &[u8]) -> u64 {
    const ENDS: u64 = u64::from_ne_bytes([b'\n'; 8]);
    const LOW_BITS: u64 = u64::from_ne_bytes([0x7f; 8]);
    let (words, rest) = text.as_chunks::<8>();
    let in_words = words.iter().map(|word| {
        let zero_at_ends = u64::from_ne_bytes(*word) ^ ENDS;
        // A byte's highest bit is set unless the byte is zero; no carry leaves a byte.
        let others = ((zero_at_ends & LOW_BITS) + LOW_BITS) | zero_at_ends | LOW_BITS;
        u64::from(others.count_zeros())
    });
    in_words.sum::<u64>() + rest.iter().filter(|byte| **byte == b'\n').count() as u64
}

/// `lines` as JSON Lines: a newline after each, the last one too.
pub fn render<'a>(lines: impl IntoIterator<Item = &'a str>) -> Vec<u8> {
    let mut text = Vec::new();
    for line in lines {
        text.extend_from_slice(line.as_bytes());
        text.push(b'\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_line_is_what_stands_between_ends() {
        let all = |text: &'static str| -> Vec<(u32, usize, &str, bool)> {
            lines(text.as_bytes())
                .map(|line| {
                    let text = std::str::from_utf8(line.bytes).unwrap();
                    (line.number, line.offset_bytes, text, line.ended)
                })
                .collect()
        };
        assert_eq!(all(""), []);
        assert_eq!(all("\n \r\n\t"), []);
        assert_eq!(all("a"), [(1, 0, "a", false)]);
        assert_eq!(
            all("a\r\n\n b \nc\r"),
            [(1, 0, "a", true), (3, 4, " b ", true), (4, 8, "c\r", false)]
        );
        assert_eq!(
            all("\u{feff}a\n\u{feff}"),
            [(1, 3, "a", true), (2, 5, "\u{feff}", false)]
        );
    }

    proptest! {
        #[test]
        fn ends_are_counted_wherever_they_stand(bytes in proptest::collection::vec(prop_oneof![Just(b'\n'), any::<u8>()], 0..40)) {
            let one_by_one = bytes.iter().filter(|byte| **byte == b'\n').count();
            prop_assert_eq!(count_ends(&bytes), one_by_one as u64);
        }

        #[test]
        fn no_byte_of_a_line_is_lost(text in "[a \r\n\u{feff}é]{0,40}") {
            let mut before = 0;
            for line in lines(text.as_bytes()) {
                let from = line.offset_bytes;
                prop_assert_eq!(&text.as_bytes()[from..from + line.bytes.len()], line.bytes);
                prop_assert!(!text[before..from].contains('a'));
                let ends = text[..from].matches('\n').count() as u32;
                prop_assert_eq!(line.number, ends + 1);
                before = from + line.bytes.len();
            }
            prop_assert!(!text[before..].contains('a'));
        }

        #[test]
        fn what_is_rendered_is_read(items in proptest::collection::vec("[a-z é]{0,5}x", 0..6)) {
            let text = render(items.iter().map(String::as_str));
            let read: Vec<_> = lines(&text).map(|line| line.bytes.to_vec()).collect();
            let items: Vec<_> = items.into_iter().map(String::into_bytes).collect();
            prop_assert_eq!(read, items);
        }
    }
}
