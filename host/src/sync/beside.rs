//! The name under which a conflict keeps what was here: `plan.conflict-0a1b2c3d.md`. Pure.

use crate::store::key::SEGMENT_BYTES_MAX;

/// Digits of the content's digest in a name: the first that is free is taken.
pub const DIGITS: [usize; 3] = [8, 16, 64];

/// The key beside `key` for content with this digest. The stem is cut where name or key would be too long; none
/// where not even that is enough.
pub fn name_beside(key: &str, digest: &str, digits: usize, key_bytes_max: usize) -> Option<String> {
    let (folder, name) = match key.rfind('/') {
        Some(slash) => key.split_at(slash + 1),
        None => ("", key),
    };
    // A dot in front belongs to the stem: `.env` has no ending. Nor is all of a long tail one.
    let (stem, ending) = match name.rfind('.') {
        Some(dot) if dot > 0 && name.len() - dot <= 16 => name.split_at(dot),
        _ => (name, ""),
    };
    let mark = format!(".conflict-{}{ending}", digest.get(..digits)?);
    let room = SEGMENT_BYTES_MAX.min(key_bytes_max.checked_sub(folder.len())?);
    let room = room.checked_sub(mark.len())?;
    let stem_bytes = (0..=stem.len().min(room))
        .rev()
        .find(|end| stem.is_char_boundary(*end))?;
    (stem_bytes > 0).then(|| format!("{folder}{}{mark}", &stem[..stem_bytes]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    #[test]
    fn names() {
        for (key, expected) in [
            ("workspace/plan.md", "workspace/plan.conflict-01234567.md"),
            ("workspace/a.tar.gz", "workspace/a.tar.conflict-01234567.gz"),
            ("config/.env", "config/.env.conflict-01234567"),
            ("workspace/Makefile", "workspace/Makefile.conflict-01234567"),
            (
                "workspace/v1.2/notes",
                "workspace/v1.2/notes.conflict-01234567",
            ),
            ("plan.md", "plan.conflict-01234567.md"),
        ] {
            let name = name_beside(key, DIGEST, 8, 1_024);
            assert_eq!(name.as_deref(), Some(expected));
        }
    }

    #[test]
    fn long_names_are_cut_at_a_character() {
        let fits = "s".repeat(SEGMENT_BYTES_MAX - ".conflict-01234567".len());
        let name = name_beside(&fits, DIGEST, 8, 1_024).unwrap();
        assert_eq!(name, format!("{fits}.conflict-01234567"));
        let longer = format!("{fits}s");
        assert_eq!(name_beside(&longer, DIGEST, 8, 1_024), Some(name));
        let wide = "é".repeat(127);
        let name = name_beside(&wide, DIGEST, 8, 1_024).unwrap();
        assert_eq!(name, format!("{}.conflict-01234567", "é".repeat(118)));
        assert!(name.len() <= SEGMENT_BYTES_MAX);
        let deep = format!("{}/a", "d/".repeat(10));
        assert_eq!(name_beside(&deep, DIGEST, 8, deep.len() + 17), None);
        assert!(name_beside(&deep, DIGEST, 8, deep.len() + 18).is_some());
        assert_eq!(name_beside(&deep, DIGEST, 8, 3), None);
    }
}
