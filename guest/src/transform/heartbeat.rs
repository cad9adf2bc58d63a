//! Whether a HEARTBEAT.md says anything. Pure.

use crate::format::text::is_blank;

/// True when the file asks for nothing: after `<!-- … -->` is taken out, every line is blank, an ATX
/// header or a rule (gsv reference, "HEARTBEAT.md"; spec: gsv, Prompt).
pub fn is_empty(markdown: &str) -> bool {
    without_comments(markdown).lines().all(says_nothing)
}

/// A comment that is never closed is text: nothing is hidden on a guess.
fn without_comments(markdown: &str) -> String {
    let mut kept = String::with_capacity(markdown.len());
    let mut rest = markdown;
    while let Some((before, opened)) = rest.split_once("<!--") {
        let Some((_, after)) = opened.split_once("-->") else {
            break;
        };
        kept.push_str(before);
        rest = after;
    }
    kept.push_str(rest);
    kept
}

fn says_nothing(line: &str) -> bool {
    let text = line.trim_matches(is_blank);
    text.is_empty() || is_header(line, text) || is_rule(text)
}

/// One to six `#`, then a blank or the end; four columns of indentation make it code instead.
fn is_header(line: &str, text: &str) -> bool {
    let indented = line.starts_with("    ") || line.starts_with('\t');
    let after = text.trim_start_matches('#');
    let hashes = text.len() - after.len();
    !indented && (1..=6).contains(&hashes) && (after.is_empty() || after.starts_with([' ', '\t']))
}

/// Three or more of one rule character. Markdown allows blanks between them, but not for `=`, which
/// underlines a header.
fn is_rule(text: &str) -> bool {
    ['-', '*', '_', '='].iter().any(|rule| {
        let marks = text.chars().filter(|c| c == rule).count();
        let others = text
            .chars()
            .all(|c| c == *rule || (*rule != '=' && (c == ' ' || c == '\t')));
        marks >= 3 && others
    })
}

#[cfg(test)]
mod tests {
    use super::is_empty;

    #[test]
    fn what_says_nothing() {
        for text in [
            "",
            " \n\t\n",
            "# Heartbeat",
            "#",
            "###### six\n",
            "---",
            "***",
            "___",
            "===",
            "- - -",
            "# Tasks\n\n---\n<!-- add tasks\nhere -->\n",
            "\u{feff}# Heartbeat\r\n",
            "<!-- a --><!-- b -->",
        ] {
            assert!(is_empty(text), "{text:?}");
        }
    }

    #[test]
    fn what_says_something() {
        for text in [
            "- [ ]",
            "#nospace",
            "####### seven",
            "text",
            "# Header\nCheck mail",
            "<!-- open",
            "--",
            "= = =",
            "<!-- a --> b",
            "-->",
            "    # code",
        ] {
            assert!(!is_empty(text), "{text:?}");
        }
    }
}
