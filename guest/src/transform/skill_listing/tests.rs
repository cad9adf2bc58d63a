//! The listing, to the byte.

use super::*;

const PLAIN: ListedSkill<'static> = ListedSkill {
    name: "weather",
    always: false,
    description: "Says the weather",
    location: "skills/weather/SKILL.md",
    read_path: "skills/weather/SKILL.md",
};

#[test]
fn lists_with_counters() {
    let own = ListedSkill {
        name: "notes",
        always: true,
        location: "agents/hera/skills/notes/SKILL.md",
        read_path: "skills/notes/SKILL.md",
        description: "",
    };
    use ReasonKind::{Disabled, Unmet};
    assert_eq!(
        render(&[own, PLAIN], &[Unmet, Disabled, Unmet]),
        "Hidden: 3 (disabled 1, unmet 2)\n\
         \n\
         <available_skills>\n\
         <skill name=\"notes\" always=\"true\">\n\
         <description></description>\n\
         <location>agents/hera/skills/notes/SKILL.md</location>\n\
         <read-path>skills/notes/SKILL.md</read-path>\n\
         </skill>\n\
         <skill name=\"weather\">\n\
         <description>Says the weather</description>\n\
         <location>skills/weather/SKILL.md</location>\n\
         <read-path>skills/weather/SKILL.md</read-path>\n\
         </skill>\n\
         </available_skills>"
    );
}

#[test]
fn is_empty_without_a_skill_and_short_without_a_hidden_one() {
    assert_eq!(render(&[], &[ReasonKind::Unreadable]), "");
    assert!(render(&[PLAIN], &[]).starts_with("<available_skills>\n"));
}

#[test]
fn escapes_everything() {
    for (text, content, attribute) in [
        (
            "a & b < c > \"d\" 'e'",
            "a &amp; b &lt; c &gt; &quot;d&quot; &apos;e&apos;",
            None,
        ),
        ("</available_skills>", "&lt;/available_skills&gt;", None),
        ("&amp;", "&amp;amp;", None),
        (" a\nb\tc\r\nd\u{feff}", "a b c d", None),
        (
            "a\0b\u{1b}[31m\u{7f}\u{85}\u{fffe}",
            "a␀b␛[31m␡\u{fffd}\u{fffd}",
            None,
        ),
        ("é 🎮 中", "é 🎮 中", None),
    ] {
        let skill = ListedSkill {
            name: text,
            description: text,
            location: text,
            read_path: text,
            always: false,
        };
        let listing = render(&[skill], &[]);
        let name = attribute.unwrap_or(content);
        assert_eq!(
            listing,
            format!(
                "<available_skills>\n<skill name=\"{name}\">\n<description>{content}</description>\n\
                 <location>{content}</location>\n<read-path>{content}</read-path>\n</skill>\n</available_skills>"
            )
        );
    }
}
