//! When a gsv session is reset by itself: a function of policy, last activity and now (spec: gsv,
//! Archives, reset). Pure: knows no session.

use serde::{Deserialize, Serialize};

use crate::limits::{IDLE_MINUTES_MAX, UTC_OFFSET_MINUTES_MAX};
use crate::types::{Error, Result};

const MINUTE_MS: i128 = 60_000;
const HOUR_MS: i128 = 60 * MINUTE_MS;
const DAY_MS: i128 = 24 * HOUR_MS;

/// When to reset a session without being asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum ResetPolicy {
    /// Never.
    Manual,
    /// Once the hour has struck since the last activity, in the caller's offset.
    Daily {
        #[serde(default = "default_hour")]
        hour: u8,
    },
    /// After more than this many minutes without activity.
    Idle { minutes: u32 },
}

fn default_hour() -> u8 {
    4
}

impl ResetPolicy {
    /// Whether the session is due: moments in milliseconds since the Unix epoch. Activity after `now_ms`,
    /// under a clock that went back, is due for nothing.
    pub fn is_due(
        self,
        last_activity_ms: u64,
        now_ms: u64,
        utc_offset_minutes: i32,
    ) -> Result<bool> {
        let (last, now) = (i128::from(last_activity_ms), i128::from(now_ms));
        match self {
            Self::Manual => Ok(false),
            Self::Daily { hour } => {
                let since_utc_midnight = hour_ms(hour)? - offset_ms(utc_offset_minutes)?;
                let latest = now - (now - since_utc_midnight).rem_euclid(DAY_MS);
                Ok(last < latest)
            }
            Self::Idle { minutes } => Ok(now - last > idle_ms(minutes)?),
        }
    }
}

fn hour_ms(hour: u8) -> Result<i128> {
    if hour > 23 {
        return Err(Error::invalid(format!(
            "the hour of a daily reset is {hour}, but a day's hours are 0 to 23"
        )));
    }
    Ok(i128::from(hour) * HOUR_MS)
}

fn idle_ms(minutes: u32) -> Result<i128> {
    if minutes == 0 || minutes > IDLE_MINUTES_MAX {
        return Err(Error::invalid(format!(
            "a session is reset after {minutes} idle minutes, but only 1 to {IDLE_MINUTES_MAX} make sense; \
             for never, take the policy `manual`"
        )));
    }
    Ok(i128::from(minutes) * MINUTE_MS)
}

fn offset_ms(utc_offset_minutes: i32) -> Result<i128> {
    if utc_offset_minutes.unsigned_abs() > UTC_OFFSET_MINUTES_MAX {
        return Err(Error::invalid(format!(
            "the UTC offset is {utc_offset_minutes} minutes, but at most {UTC_OFFSET_MINUTES_MAX} either \
             way exist"
        )));
    }
    Ok(i128::from(utc_offset_minutes) * MINUTE_MS)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// 2026-02-20 00:00 UTC.
    const MIDNIGHT: u64 = 1_771_545_600_000;
    const HOUR: u64 = 3_600_000;
    const DAILY: ResetPolicy = ResetPolicy::Daily { hour: 4 };

    #[test]
    fn daily_is_due_once_the_hour_has_struck() {
        let four = MIDNIGHT + 4 * HOUR;
        for (last, now, offset, due) in [
            (four - 1, four, 0, true),
            (four - 1, four - 1, 0, false),
            (four, four, 0, false),
            (four, four + 24 * HOUR - 1, 0, false),
            (four, four + 24 * HOUR, 0, true),
            (four - 25 * HOUR, four - 1, 0, true),
            (four - 24 * HOUR, four - 1, 0, false),
            // Four o'clock two hours east is two o'clock in UTC.
            (four - 2 * HOUR - 1, four - 2 * HOUR, 120, true),
            (four - 2 * HOUR, four, 120, false),
            (four + 8 * HOUR - 1, four + 8 * HOUR, -480, true),
            // Near the epoch, and a clock that went back.
            (0, 0, 0, false),
            (0, 4 * HOUR, 0, true),
            (0, 4 * HOUR - 1, 0, false),
            (four + HOUR, four - HOUR, 0, false),
        ] {
            let answer = DAILY.is_due(last, now, offset).unwrap();
            assert_eq!(answer, due, "{last} {now} {offset}");
        }
    }

    #[test]
    fn idle_is_due_strictly_after_its_minutes() {
        let idle = ResetPolicy::Idle { minutes: 30 };
        let (last, half) = (MIDNIGHT, HOUR / 2);
        for (now, due) in [
            (last, false),
            (last + half, false),
            (last + half + 1, true),
            (last - 1, false),
            (0, false),
            (u64::MAX, true),
        ] {
            assert_eq!(idle.is_due(last, now, 0).unwrap(), due, "{now}");
        }
        assert!(!ResetPolicy::Manual.is_due(0, u64::MAX, 0).unwrap());
    }

    #[test]
    fn what_no_clock_has_is_refused() {
        let error = |policy: ResetPolicy, offset| policy.is_due(0, 1, offset).unwrap_err().message;
        assert!(ResetPolicy::Daily { hour: 23 }.is_due(0, 1, 1_080).is_ok());
        assert!(error(ResetPolicy::Daily { hour: 24 }, 0).contains("0 to 23"));
        assert!(error(DAILY, 1_081).contains("1080"));
        assert!(error(DAILY, i32::MIN).contains("1080"));
        for minutes in [1, 525_600] {
            assert!(ResetPolicy::Idle { minutes }.is_due(0, 1, 0).is_ok());
        }
        for minutes in [0, 525_601] {
            assert!(error(ResetPolicy::Idle { minutes }, 0).contains("525600"));
        }
    }

    #[test]
    fn is_written_as_data() {
        let read = |json: &str| serde_json::from_str::<ResetPolicy>(json);
        assert_eq!(read(r#"{"daily":{}}"#).unwrap(), DAILY);
        assert_eq!(
            read(r#"{"idle":{"minutes":5}}"#).unwrap(),
            ResetPolicy::Idle { minutes: 5 }
        );
        assert_eq!(read(r#""manual""#).unwrap(), ResetPolicy::Manual);
        assert!(read(r#"{"idle":{}}"#).is_err());
        assert!(read(r#"{"daily":{"minute":5}}"#).is_err());
    }

    proptest! {
        #[test]
        fn a_daily_reset_is_due_exactly_when_the_hour_lies_between(last in 0u64..1 << 42, waited in 0u64..1 << 30, hour in 0u8..24, offset in -1_080i32..1_080) {
            let now = last + waited;
            let policy = ResetPolicy::Daily { hour };
            let due = policy.is_due(last, now, offset).unwrap();
            // Days since the epoch, counted from the hour in the offset.
            let day = |ms: u64| (i128::from(ms) + i128::from(offset) * 60_000 - i128::from(hour) * 3_600_000).div_euclid(86_400_000);
            prop_assert_eq!(due, day(last) < day(now));
            // Once due, due until there is activity.
            prop_assert!(!due || policy.is_due(last, now + 1, offset).unwrap());
        }
    }
}
