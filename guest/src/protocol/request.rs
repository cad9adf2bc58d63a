//! Request ids: by them a repeated call is known and changes nothing. Knows no store.

use crate::limits::{REQUEST_ID_CHARACTERS_MAX, REQUESTS_REMEMBERED};
use crate::store::metadatum;
use crate::types::{Error, Result};

/// Where a document's metadata keep the ids.
const MEMBER: &str = "haversack-requests";

/// The caller's name for one call, the same when it repeats the call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestId(String);

impl RequestId {
    /// `invalid` unless it is 1 to 64 of `A-Z a-z 0-9 _ -`.
    pub fn parse(text: &str) -> Result<Self> {
        let fine = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        if text.is_empty() || text.len() > REQUEST_ID_CHARACTERS_MAX || !text.bytes().all(fine) {
            return Err(Error::invalid(format!(
                "request id {:?}: 1 to {REQUEST_ID_CHARACTERS_MAX} of A-Z, a-z, 0-9, `_` and `-`; give each \
                 new call its own, and a repeated one the same",
                text.chars().take(80).collect::<String>()
            )));
        }
        Ok(Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Stands for the calls before another program wrote the document, whose ids are not known any more.
const UNKNOWN: &str = "*";

/// The ids of the calls that changed a document last, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Remembered(Vec<String>);

impl Remembered {
    /// From an object's metadata; none when they hold no ids, as after an edit by another program.
    pub fn from_metadata(metadata: &[(String, String)]) -> Option<Self> {
        let ids = metadatum(metadata, MEMBER)?;
        Some(Self(ids.split_whitespace().map(str::to_owned).collect()))
    }

    /// Of a document that is there and has none.
    pub fn unknown() -> Self {
        Self(vec![UNKNOWN.to_owned()])
    }

    /// Whether every one of the last calls is known. After an edit by another program they are again once
    /// as many calls have followed as are remembered.
    pub fn is_complete(&self) -> bool {
        !self.0.iter().any(|id| id == UNKNOWN)
    }

    pub fn contains(&self, request: &RequestId) -> bool {
        self.0.iter().any(|id| id == request.as_str())
    }

    /// With one more, and without the oldest where there are too many.
    pub fn with(mut self, request: &RequestId) -> Self {
        self.0.push(request.as_str().to_owned());
        let over = self.0.len().saturating_sub(REQUESTS_REMEMBERED);
        self.0.drain(..over);
        self
    }

    /// `metadata` with these ids in the place of those that it had.
    pub fn into_metadata(self, mut metadata: Vec<(String, String)>) -> Vec<(String, String)> {
        metadata.retain(|(name, _)| !name.eq_ignore_ascii_case(MEMBER));
        metadata.push((MEMBER.to_owned(), self.0.join(" ")));
        metadata
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_a_rule() {
        let longest = "x".repeat(64);
        for fine in ["a", "A-z_0", &longest] {
            assert!(RequestId::parse(fine).is_ok(), "{fine}");
        }
        for wrong in ["", " ", "a b", "ü", "a/b", &format!("{longest}x")] {
            assert!(RequestId::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_edit_by_another_program_is_forgotten_after_sixteen_calls() -> Result<()> {
        let mut remembered = Remembered::unknown();
        for number in 0..REQUESTS_REMEMBERED {
            assert!(!remembered.is_complete(), "{number}");
            let metadata = remembered.into_metadata(Vec::new());
            remembered = Remembered::from_metadata(&metadata).unwrap_or_default();
            remembered = remembered.with(&RequestId::parse(&number.to_string())?);
        }
        assert!(remembered.is_complete());
        assert!(remembered.contains(&RequestId::parse("0")?));
        Ok(())
    }

    #[test]
    fn sixteen_of_the_longest_are_remembered_and_fit() -> Result<()> {
        let mut remembered = Remembered::default();
        for number in 0..20 {
            remembered = remembered.with(&RequestId::parse(&format!("{number:064}"))?);
        }
        assert!(!remembered.contains(&RequestId::parse(&format!("{:064}", 3))?));
        assert!(remembered.contains(&RequestId::parse(&format!("{:064}", 4))?));
        let metadata = remembered.clone().into_metadata(vec![
            ("HAVERSACK-Requests".to_owned(), "old".to_owned()),
            ("sessionKey".to_owned(), "agent:hera:main".to_owned()),
        ]);
        let bytes: usize = metadata.iter().map(|(n, v)| n.len() + v.len()).sum();
        assert!(bytes < 1_200, "{bytes}");
        assert_eq!(Remembered::from_metadata(&metadata), Some(remembered));
        assert_eq!(metadata.len(), 2);
        Ok(())
    }
}
