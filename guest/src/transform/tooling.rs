//! The listing of tools that stands in a prompt. Pure.

use crate::format::text::collapse;
use crate::limits::{TOOL_DESCRIPTION_KEPT, TOOL_DESCRIPTION_UTF16_MAX};
use crate::transform::truncate::measure::{Unit, measure, prefix_within};

/// One line a tool, `- name: description`: white space collapsed, a description over 180 UTF-16 units
/// cut to 177 plus `...`, never through a character (spec: gsv, Prompt). Without a description the
/// line is `- name`.
pub fn listing<'a>(tools: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let lines: Vec<String> = tools
        .into_iter()
        .map(|(name, description)| {
            let name = collapse(name);
            let description = shortened(&collapse(description));
            if description.is_empty() {
                format!("- {name}")
            } else {
                format!("- {name}: {description}")
            }
        })
        .collect();
    lines.join("\n")
}

fn shortened(text: &str) -> String {
    if measure(text, Unit::Utf16) <= TOOL_DESCRIPTION_UTF16_MAX as u64 {
        return text.to_owned();
    }
    let end = prefix_within(text, Unit::Utf16, TOOL_DESCRIPTION_KEPT as u64);
    format!("{}...", text.get(..end).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::listing;

    #[test]
    fn one_line_a_tool() {
        assert_eq!(
            listing([("Read", " reads\n a  file "), ("Bash", "")]),
            "- Read: reads a file\n- Bash"
        );
    }

    #[test]
    fn descriptions_at_the_limit() {
        let exact = "x".repeat(180);
        assert_eq!(listing([("t", exact.as_str())]), format!("- t: {exact}"));
        let over = "x".repeat(181);
        assert_eq!(
            listing([("t", over.as_str())]),
            format!("- t: {}...", "x".repeat(177))
        );
        // A surrogate pair across the cut goes whole.
        let pair = format!("{}😀{}", "x".repeat(176), "y".repeat(10));
        assert_eq!(
            listing([("t", pair.as_str())]),
            format!("- t: {}...", "x".repeat(176))
        );
    }
}
