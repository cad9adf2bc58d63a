//! Lines that look like a secret: blocks of private keys, tokens by their prefixes, random values under names like
//! `password` (spec: hi-boss). Pure tables and counts, no regular expressions; `tests/secrets/` holds the corpus.

mod assignment;
mod randomness;
mod token;

pub use assignment::is_secret_name;

/// A line that looks like a secret. It never holds the secret itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secret {
    /// Counted from 1.
    pub line: u32,
    /// With its article, for people: `a GitHub token`.
    pub what: &'static str,
}

/// Every line of `text` that looks like a secret.
pub fn find(text: &str) -> Vec<Secret> {
    let numbered = (1..).zip(text.lines());
    numbered
        .filter_map(|(line, text)| of_line(text).map(|what| Secret { line, what }))
        .collect()
}

/// What the line looks like.
pub fn of_line(line: &str) -> Option<&'static str> {
    let block = line
        .split_once("-----BEGIN ")
        .is_some_and(|(_, rest)| rest.contains("PRIVATE KEY"));
    if block {
        return Some("a private key");
    }
    token::find(line).or_else(|| assignment::find(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_too_far_away_is_not_looked_at() {
        let line = |blanks: usize| format!("password:{}Zu4-kQ9w.tP", " ".repeat(blanks));
        for (blanks, found) in [
            (0, true),
            (245, true),
            (248, true),
            (249, false),
            (1_000, false),
        ] {
            assert_eq!(of_line(&line(blanks)).is_some(), found, "{blanks}");
        }
        // Hostile lines end as fast as others; a character at the border is not split.
        for hostile in ["é".repeat(4_000), ":=".repeat(4_000), "eyJ.".repeat(4_000)] {
            assert_eq!(of_line(&hostile), None);
        }
    }

    #[test]
    fn lines_are_numbered_from_one() {
        let key = ["-----BEGIN OPENSSH ", "PRIVATE KEY-----"].concat();
        let text = format!("fine\r\n\n{key}\npassword: Zu4-kQ9w.tP\n");
        let found = find(&text);
        let lines: Vec<_> = found
            .iter()
            .map(|secret| (secret.line, secret.what))
            .collect();
        assert_eq!(
            lines,
            [
                (3, "a private key"),
                (4, "a random value under the name of a secret")
            ]
        );
        assert!(find("").is_empty());
    }
}
