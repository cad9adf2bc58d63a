//! The first paragraph of a markdown body, as a description for a skill that has none. Knows just as much
//! markdown as that takes.

use crate::limits::DESCRIPTION_CHARACTERS_MAX;

/// The first paragraph that is not a heading, white space collapsed, cut at a bound with `…` behind.
/// Comments, fenced code, rules and blank lines before it are passed over. Empty when there is none.
pub(super) fn first_paragraph(body: &str) -> String {
    let mut paragraph = String::new();
    let mut fence: Option<(char, usize)> = None;
    let mut in_comment = false;
    for line in body.trim_start_matches('\u{feff}').lines() {
        if let Some((mark, length)) = fence {
            if fence_of(line).is_some_and(|(m, l, info)| m == mark && l >= length && !info) {
                fence = None;
            }
            continue;
        }
        let (line, commented) = without_comments(line, &mut in_comment);
        let text = line.trim();
        if text.is_empty() {
            if commented || paragraph.is_empty() {
                continue;
            }
            break;
        }
        let underline =
            text.trim_end_matches('=').is_empty() || text.trim_end_matches('-').is_empty();
        if underline && !paragraph.is_empty() {
            // What came before was a heading with a line under it.
            paragraph.clear();
            continue;
        }
        let opened = fence_of(&line);
        if opened.is_some() || is_heading(text) || is_rule(text) {
            if !paragraph.is_empty() {
                break;
            }
            fence = opened.map(|(mark, length, _)| (mark, length));
            continue;
        }
        paragraph.push_str(text);
        paragraph.push(' ');
    }
    shorten(&paragraph)
}

fn shorten(paragraph: &str) -> String {
    let text = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(DESCRIPTION_CHARACTERS_MAX) {
        Some((end, _)) => {
            let kept = text.get(..end).unwrap_or_default().trim_end();
            format!("{kept}…")
        }
        None => text,
    }
}

/// A fence's mark, how many of it, and whether text follows; at most three blanks before it.
fn fence_of(line: &str) -> Option<(char, usize, bool)> {
    let text = line.trim_start_matches(' ');
    let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let rest = text.trim_start_matches(mark);
    let length = text.len() - rest.len();
    let info = rest.trim();
    let fits = line.len() - text.len() < 4 && length >= 3 && !(mark == '`' && info.contains('`'));
    fits.then_some((mark, length, !info.is_empty()))
}

/// `# text`, or marks alone.
fn is_heading(text: &str) -> bool {
    let rest = text.trim_start_matches('#');
    (1..=6).contains(&(text.len() - rest.len()))
        && (rest.is_empty() || rest.starts_with([' ', '\t']))
}

/// `---`, `***`, `___`, `===`, blanks between allowed.
fn is_rule(text: &str) -> bool {
    let marks: String = text.split_whitespace().collect();
    marks.len() >= 3
        && ['-', '*', '_', '=']
            .iter()
            .any(|mark| marks.trim_end_matches(*mark).is_empty())
}

/// A line without what lies in HTML comments, and whether there was any.
fn without_comments(line: &str, in_comment: &mut bool) -> (String, bool) {
    let mut kept = String::new();
    let mut commented = *in_comment;
    let mut rest = line;
    loop {
        let mark = if *in_comment { "-->" } else { "<!--" };
        match rest.split_once(mark) {
            Some((before, after)) => {
                if !*in_comment {
                    kept.push_str(before);
                }
                commented = true;
                *in_comment = !*in_comment;
                rest = after;
            }
            None => {
                if !*in_comment {
                    kept.push_str(rest);
                }
                return (kept, commented);
            }
        }
    }
}
