//! Whether a value looks as if nobody had made it up: by its length, its kinds of characters and how often they
//! change. Stand-ins and paths are none. Pure.

use std::collections::BTreeSet;

/// Beginnings of values that only point to where a secret is kept, or stand in for one.
const POINTERS: [&str; 17] = [
    "$",
    "<",
    "{",
    "[",
    "(",
    "*",
    "%",
    "/",
    "./",
    "~",
    "op://",
    "vault:",
    "env:",
    "env.",
    "process.env",
    "os.environ",
    "http",
];

/// Words of values that stand in for a secret, in lower case.
const STAND_INS: [&str; 8] = [
    "example",
    "xxxx",
    "****",
    "....",
    "redacted",
    "changeme",
    "placeholder",
    "your",
];

/// A password of this length is told from a word.
const CHARACTERS_MIN: usize = 8;
/// From this length on, two kinds of characters are enough.
const LONG_CHARACTERS: usize = 16;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Lower,
    Upper,
    Digit,
    Other,
}

fn kind(character: char) -> Kind {
    match character {
        'a'..='z' => Kind::Lower,
        'A'..='Z' => Kind::Upper,
        '0'..='9' => Kind::Digit,
        _ => Kind::Other,
    }
}

/// Whether it only stands for a secret that is elsewhere.
pub fn is_stand_in(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    POINTERS.iter().any(|start| lower.starts_with(start))
        || STAND_INS.iter().any(|word| lower.contains(word))
        || distinct(value) < 4
}

fn distinct(value: &str) -> usize {
    value.chars().collect::<BTreeSet<_>>().len()
}

/// Whether it looks random: digits among letters, many different characters, and changes between them.
pub fn is_random(value: &str) -> bool {
    let length = value.chars().count();
    if length < CHARACTERS_MIN || is_stand_in(value) {
        return false;
    }
    let kinds: BTreeSet<Kind> = value.chars().map(kind).collect();
    let (enough_kinds, enough_characters) = match length < LONG_CHARACTERS {
        true => (3, 6),
        false => (2, 8),
    };
    let letters = value.chars().filter(char::is_ascii_alphabetic).count();
    kinds.contains(&Kind::Digit)
        && letters >= 3
        && kinds.len() >= enough_kinds
        && distinct(value) >= enough_characters
        && turns(value) >= (length / 8).max(2)
}

/// How often a letter follows a digit, a digit a letter, a capital a small letter. Words, dates and versions
/// have few of these.
fn turns(value: &str) -> usize {
    let kinds: Vec<Kind> = value.chars().map(kind).collect();
    kinds
        .windows(2)
        .filter(|pair| {
            matches!(
                pair,
                [Kind::Digit, Kind::Lower | Kind::Upper]
                    | [Kind::Lower | Kind::Upper, Kind::Digit]
                    | [Kind::Lower, Kind::Upper]
            )
        })
        .count()
}
