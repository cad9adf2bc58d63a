//! Messages of a file as the pages that one call takes, for `append` and `mirror`.

use std::path::Path;

use serde_json::Value;

use crate::commands::exit::{Code, Failure};

/// What one call takes, and what the contract counts around each message.
pub const PAGE_MESSAGES_MAX: usize = 256;
pub const PAGE_BYTES_MAX: usize = 4 << 20;
const LINE_BYTES: usize = 128;

/// What a file is called in messages; - is standard input.
pub fn named(file: &Path) -> String {
    match file.to_str() {
        Some("-") => "standard input".to_owned(),
        _ => file.display().to_string(),
    }
}

/// The lines that say something, each of them a JSON object.
pub fn messages<'t>(text: &'t str, name: &str) -> anyhow::Result<Vec<&'t str>> {
    let mut messages = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        let wrong = match serde_json::from_str::<Value>(line) {
            Ok(Value::Object(_)) => {
                messages.push(line);
                continue;
            }
            Ok(_) => "it is JSON of another kind".to_owned(),
            Err(error) => error.to_string(),
        };
        let message = format!(
            "line {} of {name} is no JSON object: {wrong}; nothing was written",
            number + 1
        );
        return Err(Failure::new(Code::Invalid, message).into());
    }
    if messages.is_empty() {
        let message = format!("{name} has no message; give one JSON object a line");
        return Err(Failure::new(Code::Invalid, message).into());
    }
    Ok(messages)
}

/// The same for a repeat of the same messages.
pub fn pages<'t>(messages: &[&'t str]) -> Vec<Vec<&'t str>> {
    let mut pages: Vec<Vec<&str>> = Vec::new();
    let mut bytes = 0;
    for message in messages {
        let more = message.len() + LINE_BYTES;
        match pages.last_mut() {
            Some(page) if page.len() < PAGE_MESSAGES_MAX && bytes + more <= PAGE_BYTES_MAX => {
                page.push(message);
                bytes += more;
            }
            _ => {
                pages.push(vec![message]);
                bytes = more;
            }
        }
    }
    pages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_end_at_either_limit() {
        let counts = |messages: &[&str]| pages(messages).iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(counts(&["{}"; 256]), [256]);
        assert_eq!(counts(&["{}"; 257]), [256, 1]);
        let half = "x".repeat(PAGE_BYTES_MAX / 2 - LINE_BYTES);
        assert_eq!(counts(&[&half, &half]), [2]);
        let more = format!("{half}x");
        assert_eq!(counts(&[&half, &more]), [1, 1]);
        // What is over the limit alone is the component's to refuse.
        assert_eq!(
            counts(&["{}", &"x".repeat(PAGE_BYTES_MAX), "{}"]),
            [1, 1, 1]
        );
    }

    #[test]
    fn a_line_that_is_no_object_is_named() {
        assert_eq!(
            messages("{}\n\n {\"a\":1} \n", "x").expect("two"),
            ["{}", "{\"a\":1}"]
        );
        for (text, names) in [
            ("{}\n[]\n", "line 2"),
            ("{}\n\n{", "line 3"),
            ("\n", "no message"),
        ] {
            let message = messages(text, "x.jsonl").expect_err(text).to_string();
            assert!(
                message.contains(names) && message.contains("x.jsonl"),
                "{message}"
            );
        }
    }
}
