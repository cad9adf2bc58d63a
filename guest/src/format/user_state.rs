//! `state` of a user's meta.json: how far something is that takes several writes (spec/protocols.md, "Retention
//! sweep"). Knows no store and no key.

use serde::{Deserialize, Serialize};

use super::user_meta::{ACTIVE, CREATING};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UserState {
    /// Nothing is under way.
    Active,
    /// The template of a new user is being written.
    Creating,
    Copying,
    Emptying,
    Restoring,
    Deleted,
    Purging,
    Purged,
}

impl UserState {
    const ALL: [Self; 8] = [
        Self::Active,
        Self::Creating,
        Self::Copying,
        Self::Emptying,
        Self::Restoring,
        Self::Deleted,
        Self::Purging,
        Self::Purged,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Active => ACTIVE,
            Self::Creating => CREATING,
            Self::Copying => "copying",
            Self::Emptying => "emptying",
            Self::Restoring => "restoring",
            Self::Deleted => "deleted",
            Self::Purging => "purging",
            Self::Purged => "purged",
        }
    }

    /// Of a document's member; none for one that this version does not know.
    pub fn parse(member: Option<&str>) -> Option<Self> {
        let Some(name) = member else {
            return Some(Self::Active);
        };
        Self::ALL.into_iter().find(|state| state.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_state_and_none_is_active() {
        for state in UserState::ALL {
            assert_eq!(UserState::parse(Some(state.name())), Some(state));
        }
        assert_eq!(UserState::parse(None), Some(UserState::Active));
        for other in ["", "Active", "moved"] {
            assert_eq!(UserState::parse(Some(other)), None, "{other}");
        }
    }
}
