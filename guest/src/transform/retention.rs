//! Retention: what would happen to a user at a moment, and why. A pure function of its meta.json. Knows no store and
//! no key.

use serde::{Deserialize, Serialize};

use crate::format::user_meta::{
    ACTIVE, COPYING, CREATING, DELETED, EMPTYING, PURGED, PURGING, RESTORING, Subscription,
    UserMeta,
};
use crate::format::utc;

/// A day of retention: 24 hours, without a calendar.
pub const DAY_MS: u64 = 86_400_000;

/// At which moment is asked, and for how long things stay where meta.json does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    pub now_ms: u64,
    pub retention_days: u32,
    pub grace_days: u32,
}

/// What a sweep does with a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    Keep,
    /// Move everything below `deleted/`.
    SoftDelete,
    /// Delete what lies there, for good.
    Purge,
    /// Delete copies of a user who has everything.
    ClearCopies,
    /// Nothing; a person should look.
    Attend,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    pub action: Action,
    /// Since when the user is in its state, where that is known.
    pub since_ms: Option<u64>,
    /// When something happens, or was to happen, by itself.
    pub due_ms: Option<u64>,
    pub why: String,
}

/// `deleted_ms` is when the copies were begun that meta.json names, where it names any.
pub fn decide(meta: &UserMeta, deleted_ms: Option<u64>, rules: Rules) -> Decision {
    if !meta.faults.is_empty() {
        return at(Action::Attend, None, None, meta.faults.join("; "));
    }
    match meta.state() {
        ACTIVE | CREATING => of_user(meta, rules),
        COPYING if is_active(meta) => attend(
            deleted_ms,
            "renewed by other means while it was copied: `renew` ends that, nothing is gone",
        ),
        EMPTYING if is_active(meta) => attend(
            deleted_ms,
            "renewed by other means while it was moved: `renew` brings everything back",
        ),
        COPYING | EMPTYING if deleted_ms.is_none() => lost_place(),
        COPYING => at(
            Action::SoftDelete,
            deleted_ms,
            None,
            "was begun: goes on copying",
        ),
        EMPTYING => at(
            Action::SoftDelete,
            deleted_ms,
            None,
            "was begun: goes on moving",
        ),
        RESTORING => attend(
            deleted_ms,
            "a restore is under way, or was interrupted: the same command goes on with it",
        ),
        DELETED => of_deleted(meta, deleted_ms, rules),
        PURGING => at(Action::Purge, deleted_ms, None, "was begun: goes on"),
        PURGED => at(Action::Keep, None, None, "purged: only its name is left"),
        other => {
            let other: String = other.chars().take(40).collect();
            let why =
                format!("state {other:?} is none that this version knows; use a newer haversack");
            attend(None, why)
        }
    }
}

fn of_user(meta: &UserMeta, rules: Rules) -> Decision {
    let copies_ms = meta.purge_after_ms;
    let kept = |since_ms, due_ms, why: String| match copies_ms {
        Some(due_ms) if due_ms <= rules.now_ms => {
            let why =
                "the copies of an earlier sweep are needed no longer; the user keeps everything";
            at(Action::ClearCopies, since_ms, Some(due_ms), why)
        }
        _ => at(Action::Keep, since_ms, due_ms, why),
    };
    if is_active(meta) {
        let why = match meta.retention_expires_ms.or(meta.subscription_ended_ms) {
            None => "the subscription is active",
            Some(_) => "the subscription is active, although dates of its end are set",
        };
        return kept(meta.created_ms, None, why.to_owned());
    }
    let ended_ms = meta.subscription_ended_ms;
    let expires_ms = meta.retention_expires_ms;
    let days_ms = u64::from(rules.retention_days) * DAY_MS;
    let expires_ms = expires_ms.or(ended_ms.map(|ended_ms| ended_ms.saturating_add(days_ms)));
    match expires_ms {
        None if meta.subscription.is_none() => kept(
            meta.created_ms,
            None,
            "nothing says that a subscription ended".to_owned(),
        ),
        None => attend(
            None,
            "the subscription has ended and nothing says when: `end` sets the date",
        ),
        Some(due_ms) if due_ms <= rules.now_ms => at(
            Action::SoftDelete,
            ended_ms,
            Some(due_ms),
            format!("retention expired at {}", shown(due_ms)),
        ),
        Some(due_ms) => kept(
            ended_ms,
            Some(due_ms),
            format!("kept until {}", shown(due_ms)),
        ),
    }
}

fn of_deleted(meta: &UserMeta, deleted_ms: Option<u64>, rules: Rules) -> Decision {
    let Some(deleted_ms) = deleted_ms else {
        return lost_place();
    };
    let grace_ms = u64::from(rules.grace_days) * DAY_MS;
    let due_ms = meta
        .purge_after_ms
        .unwrap_or(deleted_ms.saturating_add(grace_ms));
    if due_ms <= rules.now_ms {
        let why = format!("could be restored until {}", shown(due_ms));
        return at(Action::Purge, Some(deleted_ms), Some(due_ms), why);
    }
    let why = format!("can be restored until {}", shown(due_ms));
    at(Action::Keep, Some(deleted_ms), Some(due_ms), why)
}

fn is_active(meta: &UserMeta) -> bool {
    meta.subscription == Some(Subscription::Active)
}

fn lost_place() -> Decision {
    attend(
        None,
        "`to` does not name a place of the user's deleted data; correct meta.json by hand",
    )
}

fn attend(since_ms: Option<u64>, why: impl Into<String>) -> Decision {
    at(Action::Attend, since_ms, None, why)
}

fn at(
    action: Action,
    since_ms: Option<u64>,
    due_ms: Option<u64>,
    why: impl Into<String>,
) -> Decision {
    Decision {
        action,
        since_ms,
        due_ms,
        why: why.into(),
    }
}

fn shown(moment_ms: u64) -> String {
    utc::print(moment_ms).unwrap_or_else(|| "after the year 9999".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_MS: u64 = 1_771_579_800_000;
    const RULES: Rules = Rules {
        now_ms: NOW_MS,
        retention_days: 90,
        grace_days: 30,
    };

    fn ended(ended_ms: u64) -> UserMeta {
        UserMeta {
            subscription: Some(Subscription::Cancelled),
            subscription_ended_ms: Some(ended_ms),
            ..UserMeta::default()
        }
    }

    fn in_state(state: &str) -> UserMeta {
        UserMeta {
            state: Some(state.to_owned()),
            ..ended(0)
        }
    }

    fn action(meta: &UserMeta, rules: Rules) -> Action {
        decide(meta, Some(NOW_MS), rules).action
    }

    #[test]
    fn ninety_days_to_the_millisecond() {
        let meta = ended(NOW_MS);
        for (after_ms, expected) in [
            (90 * DAY_MS - 1, Action::Keep),
            (90 * DAY_MS, Action::SoftDelete),
        ] {
            let rules = Rules {
                now_ms: NOW_MS + after_ms,
                ..RULES
            };
            assert_eq!(action(&meta, rules), expected, "{after_ms}");
            // A written date counts, whatever the option.
            let written = UserMeta {
                retention_expires_ms: Some(NOW_MS + 90 * DAY_MS),
                ..ended(NOW_MS)
            };
            let rules = Rules {
                retention_days: 1,
                ..rules
            };
            assert_eq!(action(&written, rules), expected, "{after_ms}");
        }
        let rules = Rules {
            retention_days: 0,
            ..RULES
        };
        assert_eq!(action(&meta, rules), Action::SoftDelete);
    }

    #[test]
    fn thirty_more_to_the_millisecond() {
        for (after_ms, expected) in [
            (30 * DAY_MS - 1, Action::Keep),
            (30 * DAY_MS, Action::Purge),
        ] {
            let rules = Rules {
                now_ms: NOW_MS + after_ms,
                ..RULES
            };
            assert_eq!(action(&in_state(DELETED), rules), expected);
            let written = UserMeta {
                purge_after_ms: Some(NOW_MS + 30 * DAY_MS),
                ..in_state(DELETED)
            };
            let rules = Rules {
                grace_days: 0,
                ..rules
            };
            assert_eq!(action(&written, rules), expected);
        }
    }

    #[test]
    fn whoever_is_not_clearly_due_stays() {
        let active = UserMeta {
            subscription: Some(Subscription::Active),
            retention_expires_ms: Some(1),
            ..UserMeta::default()
        };
        let undated = UserMeta {
            subscription: Some(Subscription::Expired),
            ..UserMeta::default()
        };
        let faulty = UserMeta {
            faults: vec!["`state` is 7".to_owned()],
            ..ended(0)
        };
        for (meta, expected) in [
            (UserMeta::default(), Action::Keep),
            (active.clone(), Action::Keep),
            (undated, Action::Attend),
            (faulty, Action::Attend),
            (in_state("archived"), Action::Attend),
            (in_state(RESTORING), Action::Attend),
            (in_state(PURGED), Action::Keep),
            (in_state(PURGING), Action::Purge),
            (in_state(COPYING), Action::SoftDelete),
            (in_state(EMPTYING), Action::SoftDelete),
            (in_state(CREATING), Action::SoftDelete),
        ] {
            assert_eq!(action(&meta, RULES), expected, "{meta:?}");
        }
        for state in [COPYING, EMPTYING] {
            let renewed = UserMeta {
                state: Some(state.to_owned()),
                ..active.clone()
            };
            assert_eq!(action(&renewed, RULES), Action::Attend, "{state}");
        }
        for state in [COPYING, EMPTYING, DELETED] {
            let decision = decide(&in_state(state), None, RULES);
            assert_eq!(decision.action, Action::Attend, "{state}");
        }
    }

    #[test]
    fn copies_that_are_needed_no_longer_go_when_their_time_is_over() {
        for (due_ms, expected) in [(NOW_MS, Action::ClearCopies), (NOW_MS + 1, Action::Keep)] {
            let meta = UserMeta {
                subscription: Some(Subscription::Active),
                purge_after_ms: Some(due_ms),
                ..UserMeta::default()
            };
            assert_eq!(action(&meta, RULES), expected);
        }
    }
}
