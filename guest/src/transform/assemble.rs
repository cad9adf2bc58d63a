//! Put the parts of a prompt together, and say in a manifest where each stands. Pure: which parts there
//! are is decided by the system's op; this file knows separators, empty sections and offsets.

use super::estimate::tokens;
use super::manifest::{Section, Stability, hash};
use super::truncate::Cut;
use crate::format::text::trim;

/// Between sections: a blank line, a rule, a blank line (spec: gsv, Prompt).
const RULE: &str = "\n\n---\n\n";
/// Between a section's heading, its content and its next part.
const BLANK_LINE: &str = "\n\n";

/// A part of the prompt: a heading (or none) over content that is taken verbatim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The manifest's name for it.
    pub title: String,
    pub key: Option<String>,
    /// The heading of the section that this part belongs to, `## Recent Context`. Parts in a row with
    /// the same heading make one section.
    pub section: Option<String>,
    /// A heading of its own below that, `### Today`.
    pub subsection: Option<String>,
    pub content: String,
    /// Size of the content before any cut.
    pub bytes_before: u64,
    pub cuts: Vec<Cut>,
    pub stability: Stability,
}

impl Part {
    /// Text that is not from a file and is never cut.
    pub fn own(
        title: &str,
        section: Option<String>,
        content: String,
        stability: Stability,
    ) -> Self {
        Self {
            title: title.to_owned(),
            key: None,
            section,
            subsection: None,
            bytes_before: content.len() as u64,
            content,
            cuts: Vec::new(),
            stability,
        }
    }
}

/// A prompt's text with its sections in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assembled {
    pub text: String,
    pub sections: Vec<Section>,
    /// How much of the text stands before the first volatile section.
    pub stable_bytes: u64,
}

impl Assembled {
    /// Changes whenever the text does: SHA-256 of the sections' hashes, so that no byte of the text is
    /// hashed twice.
    pub fn hash(&self) -> String {
        let hashes: Vec<&str> = self
            .sections
            .iter()
            .map(|section| section.hash.as_str())
            .collect();
        hash(hashes.join("\n").as_bytes())
    }

    /// Estimated tokens of all sections.
    pub fn tokens(&self) -> u64 {
        self.sections.iter().map(|section| section.tokens).sum()
    }
}

/// Join `parts`. A part whose content is blank is dropped, with its headings.
pub fn assemble(parts: Vec<Part>) -> Assembled {
    let mut text = String::new();
    let mut sections = Vec::new();
    let mut stable_bytes = None;
    let mut open_section: Option<String> = None;
    for part in parts
        .into_iter()
        .filter(|part| !trim(&part.content).is_empty())
    {
        let goes_on = part.section.is_some() && part.section == open_section;
        if !text.is_empty() {
            text.push_str(if goes_on { BLANK_LINE } else { RULE });
        }
        let offset = text.len();
        if part.stability == Stability::Volatile {
            stable_bytes.get_or_insert(offset as u64);
        }
        let section_heading = part.section.as_ref().filter(|_| !goes_on);
        for heading in section_heading.into_iter().chain(&part.subsection) {
            text.push_str(heading);
            text.push_str(BLANK_LINE);
        }
        text.push_str(&part.content);
        let whole = text.get(offset..).unwrap_or_default();
        sections.push(Section {
            title: part.title,
            key: part.key,
            hash: hash(whole.as_bytes()),
            offset_bytes: offset as u64,
            length_bytes: whole.len() as u64,
            bytes_before: part.bytes_before,
            bytes_after: part.content.len() as u64,
            tokens: tokens(whole),
            stability: part.stability,
            cuts: part.cuts,
        });
        open_section = part.section;
    }
    let stable_bytes = stable_bytes.unwrap_or(text.len() as u64);
    Assembled {
        text,
        sections,
        stable_bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(
        section: Option<&str>,
        subsection: Option<&str>,
        content: &str,
        stability: Stability,
    ) -> Part {
        Part {
            subsection: subsection.map(str::to_owned),
            ..Part::own(
                content,
                section.map(str::to_owned),
                content.to_owned(),
                stability,
            )
        }
    }

    #[test]
    fn sections_are_separated_and_parts_of_one_are_not() {
        let assembled = assemble(vec![
            part(None, None, "base", Stability::Stable),
            part(Some("## R"), Some("### A"), "a\n", Stability::Volatile),
            part(Some("## R"), Some("### B"), "b", Stability::Stable),
            part(Some("## E"), None, " \n\u{feff}", Stability::Stable),
            part(Some("## T"), None, "t", Stability::Stable),
        ]);
        assert_eq!(
            assembled.text,
            "base\n\n---\n\n## R\n\n### A\n\na\n\n\n### B\n\nb\n\n---\n\n## T\n\nt"
        );
        for section in &assembled.sections {
            let range = section.offset_bytes as usize
                ..(section.offset_bytes + section.length_bytes) as usize;
            assert_eq!(section.hash, hash(assembled.text[range].as_bytes()));
        }
        assert_eq!(assembled.sections.len(), 4);
        assert_eq!(assembled.stable_bytes, "base\n\n---\n\n".len() as u64);
    }

    #[test]
    fn a_dropped_first_part_leaves_its_section_heading_to_the_next() {
        let assembled = assemble(vec![
            part(Some("## R"), Some("### A"), "", Stability::Stable),
            part(Some("## R"), Some("### B"), "b", Stability::Stable),
        ]);
        assert_eq!(assembled.text, "## R\n\n### B\n\nb");
        assert_eq!(assemble(Vec::new()).text, "");
    }
}
