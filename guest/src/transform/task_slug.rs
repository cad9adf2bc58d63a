//! The slug of a task from its name (spec: run-agent, Names). Pure.

use sha2::{Digest, Sha256};

const CHARACTERS_MIN: usize = 3;
const CHARACTERS_MAX: usize = 48;
const SEED_CHARACTERS: usize = 6;

/// Lower-case letters, digits and single hyphens, 3 to 48 of them, the first a letter; of a name that leaves too
/// little, six letters from the seed.
pub fn slug(name: &str, seed: &str) -> String {
    let lower = name.to_ascii_lowercase();
    let words = lower.split(|c: char| !c.is_ascii_lowercase() && !c.is_ascii_digit());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let joined = words.join("-");
    let from_letter = joined.trim_start_matches(|c: char| !c.is_ascii_lowercase());
    let kept: String = from_letter.chars().take(CHARACTERS_MAX).collect();
    let kept = kept.trim_end_matches('-');
    match kept.len() {
        0 => letters(seed),
        length if length < CHARACTERS_MIN => format!("{kept}-{}", letters(seed)),
        _ => kept.to_owned(),
    }
}

/// The same slug for the `number`th task that would have it.
pub fn numbered(slug: &str, number: u32) -> String {
    if number < 2 {
        return slug.to_owned();
    }
    let end = format!("-{number}");
    let kept = slug.get(..CHARACTERS_MAX - end.len()).unwrap_or(slug);
    format!("{}{end}", kept.trim_end_matches('-'))
}

fn letters(seed: &str) -> String {
    let digest = Sha256::digest(seed.as_bytes());
    let bytes = digest.iter().take(SEED_CHARACTERS);
    bytes.map(|byte| char::from(b'a' + byte % 26)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::layout::run_agent::TaskSlug;

    #[test]
    fn slugs_of_names() {
        for (name, expected) in [
            ("Fix the Bug", "fix-the-bug"),
            ("  --Fix__bug!! #2 ", "fix-bug-2"),
            ("2nd try", "nd-try"),
            ("../../etc/passwd", "etc-passwd"),
            ("Über", "ber"),
        ] {
            assert_eq!(slug(name, "seed"), expected);
        }
        let none = slug("日本", "seed");
        assert_eq!(none.len(), 6);
        assert_eq!(slug("", "seed"), none);
        assert_ne!(slug("", "other"), none);
        assert_eq!(slug("42 é x", "seed"), format!("x-{none}"));
        assert_eq!(slug(&"a".repeat(49), ""), "a".repeat(48));
        assert_eq!(slug(&format!("{} b", "a".repeat(47)), ""), "a".repeat(47));
        assert_eq!(numbered("fix", 1), "fix");
        assert_eq!(numbered("fix", 2), "fix-2");
        assert_eq!(numbered(&"a".repeat(48), 64).len(), 48);
    }

    proptest! {
        #[test]
        fn every_slug_obeys_the_rule(name in "\\PC{0,60}|[a-zA-Z0-9 -]{0,80}", seed in "[a-z]{0,8}", number in 0_u32..=64) {
            let made = slug(&name, &seed);
            prop_assert!(TaskSlug::parse(&made).is_ok(), "{made}");
            prop_assert!(TaskSlug::parse(&numbered(&made, number)).is_ok());
        }
    }
}
