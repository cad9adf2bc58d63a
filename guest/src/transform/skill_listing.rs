//! The text that tells a model which skills there are: counters of what is hidden, then a list in XML.
//! Knows no store, no key and no rule of who may see a skill.

use std::collections::BTreeMap;

use super::eligibility::ReasonKind;
use crate::format::text::collapse;

/// A skill that is shown.
#[derive(Debug, Clone, Copy)]
pub struct ListedSkill<'a> {
    pub name: &'a str,
    pub always: bool,
    pub description: &'a str,
    pub location: &'a str,
    pub read_path: &'a str,
}

/// The listing, without a line end behind; empty when no skill is shown. `hidden` holds the first
/// reason of each skill that is hidden.
pub fn render(shown: &[ListedSkill<'_>], hidden: &[ReasonKind]) -> String {
    if shown.is_empty() {
        return String::new();
    }
    let mut text = String::new();
    if !hidden.is_empty() {
        let mut counters = BTreeMap::new();
        for kind in hidden {
            *counters.entry(*kind).or_insert(0_usize) += 1;
        }
        let counters: Vec<_> = counters
            .into_iter()
            .map(|(kind, count)| format!("{} {count}", counter_name(kind)))
            .collect();
        text = format!("Hidden: {} ({})\n\n", hidden.len(), counters.join(", "));
    }
    text.push_str("<available_skills>\n");
    for skill in shown {
        text.push_str("<skill name=\"");
        escape(&collapse(skill.name), &mut text);
        text.push('"');
        if skill.always {
            text.push_str(" always=\"true\"");
        }
        text.push_str(">\n");
        for (tag, content) in [
            ("description", skill.description),
            ("location", skill.location),
            ("read-path", skill.read_path),
        ] {
            text.push_str(&format!("<{tag}>"));
            escape(&collapse(content), &mut text);
            text.push_str(&format!("</{tag}>\n"));
        }
        text.push_str("</skill>\n");
    }
    text.push_str("</available_skills>");
    text
}

fn counter_name(kind: ReasonKind) -> &'static str {
    match kind {
        ReasonKind::Disabled => "disabled",
        ReasonKind::InvalidRequirements => "invalid-requirements",
        ReasonKind::NoHost => "no-host",
        ReasonKind::Unmet => "unmet",
        ReasonKind::Config => "config",
        ReasonKind::Unreadable => "unreadable",
        ReasonKind::Shadowed => "shadowed",
    }
}

/// Escape for XML 1.0. Characters that it does not allow at all become their picture (U+2400 on) or
/// U+FFFD. Line ends are gone already: a name or description may not add lines of its own.
fn escape(content: &str, text: &mut String) {
    for c in content.chars() {
        match c {
            '&' => text.push_str("&amp;"),
            '<' => text.push_str("&lt;"),
            '>' => text.push_str("&gt;"),
            '"' => text.push_str("&quot;"),
            '\'' => text.push_str("&apos;"),
            '\0'..='\u{1f}' => {
                text.push(char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{fffd}'));
            }
            '\u{7f}' => text.push('\u{2421}'),
            '\u{80}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => text.push('\u{fffd}'),
            _ => text.push(c),
        }
    }
}

#[cfg(test)]
mod tests;
