//! Names that somebody may have meant. Knows no skill.

/// How many are proposed.
const PROPOSED_MAX: usize = 3;
/// Names longer than this, in characters, are compared by their beginning only.
const COMPARED_MAX: usize = 64;

/// The names nearest to `wanted`, best first, none twice.
pub(super) fn near_names<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted = folded(wanted);
    let far = (wanted.len() / 3).max(1);
    let mut near: Vec<(usize, &str)> = names
        .filter_map(|name| {
            let other = folded(name);
            let within = wanted.len() >= 3 && contains(&other, &wanted);
            let distance = distance(&wanted, &other);
            (within || distance <= far).then_some((distance, name))
        })
        .collect();
    near.sort_unstable();
    near.dedup();
    near.truncate(PROPOSED_MAX);
    near.into_iter().map(|(_, name)| name).collect()
}

fn folded(name: &str) -> Vec<char> {
    let folded = name.chars().flat_map(char::to_lowercase);
    folded
        .map(|c| if matches!(c, ' ' | '_') { '-' } else { c })
        .take(COMPARED_MAX)
        .collect()
}

fn contains(name: &[char], part: &[char]) -> bool {
    name.windows(part.len()).any(|window| window == part)
}

/// How many characters to insert, delete or replace to make one the other.
fn distance(from: &[char], to: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (at, c) in from.iter().enumerate() {
        let mut diagonal = at;
        let mut left = at + 1;
        for (cell, other) in row.iter_mut().skip(1).zip(to) {
            let replaced = diagonal + usize::from(c != other);
            diagonal = *cell;
            left = replaced.min(left + 1).min(diagonal + 1);
            *cell = left;
        }
        if let Some(first) = row.first_mut() {
            *first = at + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::near_names;

    #[test]
    fn proposes_the_nearest() {
        let names = [
            "weather",
            "whether",
            "github",
            "GitHub CLI",
            "notes",
            "github",
        ];
        for (wanted, near) in [
            ("wether", &["weather", "whether"][..]),
            ("GitHub", &["github", "GitHub CLI"]),
            ("git_hub", &["github"]),
            ("not", &["notes"]),
            ("", &[]),
            ("video", &[]),
        ] {
            assert_eq!(near_names(wanted, names.into_iter()), near, "{wanted}");
        }
    }
}
