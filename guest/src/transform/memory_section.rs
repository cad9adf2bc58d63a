//! A section of extracted memories at the end of a day's file (spec: gsv, Compaction and Reset). Pure:
//! knows no key; the moment is an argument.

use crate::format::text::is_blank;

const MINUTE_MS: i128 = 60_000;
const DAY_MINUTES: i128 = 24 * 60;

/// The section of one extraction. The reference has this header for compactions; extraction before a reset
/// appends under it too, in the file of the last activity's day.
pub fn section(memories: &str, at_ms: u64, utc_offset_minutes: i32) -> String {
    format!(
        "### Extracted from context compaction ({})\n\n{}\n",
        clock(at_ms, utc_offset_minutes),
        memories.trim_matches(is_blank)
    )
}

/// The file with `section` appended: what is there without white space at its end, a blank line, the
/// section. A file that is missing or blank begins with the section.
pub fn append(file: &[u8], section: &str) -> Vec<u8> {
    let kept = without_end(file);
    let mut appended = kept.to_vec();
    if !kept.is_empty() {
        appended.extend_from_slice(b"\n\n");
    }
    appended.extend_from_slice(section.as_bytes());
    appended
}

/// Whether `section` is in the file already, whole and on lines of its own, so that a commit that is
/// repeated does not append it twice.
pub fn holds(file: &[u8], section: &str) -> bool {
    let wanted = without_end(section.as_bytes());
    if wanted.is_empty() {
        return true;
    }
    let mut rest = file;
    loop {
        let after = rest.strip_prefix(wanted).map(<[u8]>::first);
        if after.is_some_and(|byte| byte.is_none_or(|byte| b"\r\n".contains(byte))) {
            return true;
        }
        let Some(end) = rest.iter().position(|byte| *byte == b'\n') else {
            return false;
        };
        rest = rest.get(end + 1..).unwrap_or_default();
    }
}

/// Bytes that are no UTF-8 are somebody else's: only plain white space goes there.
fn without_end(bytes: &[u8]) -> &[u8] {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.trim_end_matches(is_blank).as_bytes(),
        Err(_) => bytes.trim_ascii_end(),
    }
}

/// `HH:MM` of a moment, in milliseconds since the Unix epoch, at a UTC offset.
pub fn clock(at_ms: u64, utc_offset_minutes: i32) -> String {
    let minutes = i128::from(at_ms) / MINUTE_MS + i128::from(utc_offset_minutes);
    let minutes = minutes.rem_euclid(DAY_MINUTES);
    format!("{:02}:{:02}", minutes / 60, minutes % 60)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECTION: &str = "### Extracted from context compaction (09:30)\n\n- likes tea\n";

    #[test]
    fn a_section_is_a_header_and_the_memories() {
        let at_ms = 1_771_579_800_000;
        assert_eq!(section("\n- likes tea \n\n", at_ms, 0), SECTION);
        assert_eq!(clock(at_ms, 0), "09:30");
        assert_eq!(clock(at_ms, 870), "00:00");
        assert_eq!(clock(at_ms, -571), "23:59");
        assert_eq!(clock(59_999, 0), "00:00");
        assert_eq!(clock(0, -1), "23:59");
        assert_eq!(clock(u64::MAX, i32::MAX).len(), 5);
    }

    #[test]
    fn appends_after_a_blank_line() {
        for (file, before) in [
            (&b""[..], &b""[..]),
            (b" \r\n\n", b""),
            (b"# Day", b"# Day\n\n"),
            (b"# Day\n", b"# Day\n\n"),
            (b"# Day\r\n\r\n \t", b"# Day\n\n"),
            ("  é\u{a0}\u{feff}\n".as_bytes(), "  é\n\n".as_bytes()),
            (b"\xff \n", b"\xff\n\n"),
        ] {
            let expected = [before, SECTION.as_bytes()].concat();
            assert_eq!(append(file, SECTION), expected, "{file:?}");
        }
    }

    #[test]
    fn a_section_is_known_again_unless_it_was_changed() {
        let once = append(b"# Day", SECTION);
        assert!(holds(&once, SECTION));
        assert!(holds(&append(&once, "### Other\n"), SECTION));
        let text = String::from_utf8(once).unwrap();
        for changed in [
            String::new(),
            text.replace("tea", "coffee"),
            text.replace("tea\n", "tea and cake\n"),
            text.replace("###", "####"),
            text.replace("09:30", "09:31"),
        ] {
            assert!(!holds(changed.as_bytes(), SECTION), "{changed}");
        }
    }

    proptest! {
        #[test]
        fn nothing_that_was_there_is_lost(file in proptest::collection::vec(any::<u8>(), 0..40)) {
            let appended = append(&file, SECTION);
            let kept = appended.strip_suffix(SECTION.as_bytes()).unwrap();
            prop_assert!(file.starts_with(without_end(kept)));
            let gone = &file[without_end(kept).len()..];
            prop_assert!(String::from_utf8_lossy(gone).chars().all(is_blank));
            prop_assert!(holds(&appended, SECTION));
        }
    }
}
