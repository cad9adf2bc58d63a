//! Days of the proleptic Gregorian calendar from milliseconds, without a clock or a time zone table.

use crate::limits::{NOW_MS_MAX, UTC_OFFSET_MINUTES_MAX};
use crate::types::{Error, Result};

const DAY_MS: i64 = 86_400_000;

/// A calendar day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Day {
    /// Days since 1970-01-01.
    since_epoch: i64,
}

impl Day {
    /// The day on which `now_ms` falls, `utc_offset_minutes` east of Greenwich.
    ///
    /// `invalid` when either is out of its range (limits.rs).
    pub fn at(now_ms: u64, utc_offset_minutes: i32) -> Result<Self> {
        if utc_offset_minutes.unsigned_abs() > UTC_OFFSET_MINUTES_MAX.unsigned_abs() {
            return Err(Error::invalid(format!(
                "utc-offset-minutes is {utc_offset_minutes}; it must lie between \
                 -{UTC_OFFSET_MINUTES_MAX} and {UTC_OFFSET_MINUTES_MAX} (18 hours)"
            )));
        }
        let now = i64::try_from(now_ms)
            .ok()
            .filter(|now| now.unsigned_abs() <= NOW_MS_MAX)
            .ok_or_else(|| {
                Error::invalid(format!(
                    "now-ms is {now_ms}; it must be milliseconds since 1970, at most {NOW_MS_MAX} \
                     (the end of the year 9999)"
                ))
            })?;
        let local = now + i64::from(utc_offset_minutes) * 60_000;
        let day = Self {
            since_epoch: local.div_euclid(DAY_MS),
        };
        match day.year() {
            1..=9999 => Ok(day),
            _ => Err(Error::invalid(
                "now-ms with its offset falls outside the years 1 to 9999",
            )),
        }
    }

    pub fn before(self) -> Self {
        Self {
            since_epoch: self.since_epoch - 1,
        }
    }

    fn year(self) -> i64 {
        self.civil().0
    }

    /// Year, month, day. Counts in eras of 400 years that begin in March, so that the leap day is last.
    fn civil(self) -> (i64, i64, i64) {
        let days = self.since_epoch + 719_468;
        let era = days.div_euclid(146_097);
        let of_era = days.rem_euclid(146_097);
        let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * of_year + 2) / 153;
        let day = of_year - (153 * month_from_march + 2) / 5 + 1;
        let month = if month_from_march < 10 {
            month_from_march + 3
        } else {
            month_from_march - 9
        };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        (year, month, day)
    }
}

/// `YYYY-MM-DD`.
impl std::fmt::Display for Day {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (year, month, day) = self.civil();
        write!(f, "{year:04}-{month:02}-{day:02}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(now_ms: u64, offset: i32) -> String {
        Day::at(now_ms, offset).map(|day| day.to_string()).unwrap()
    }

    #[test]
    fn days_at_their_edges() {
        assert_eq!(at(0, 0), "1970-01-01");
        assert_eq!(at(0, -1), "1969-12-31");
        assert_eq!(at(951_782_399_999, 0), "2000-02-28");
        assert_eq!(at(951_782_400_000, 0), "2000-02-29");
        assert_eq!(at(951_868_800_000, 0), "2000-03-01");
        assert_eq!(at(1_771_579_800_000, 0), "2026-02-20");
        assert_eq!(at(1_771_579_800_000, 14 * 60 + 30), "2026-02-21");
        assert_eq!(at(4_107_542_400_000, 0), "2100-03-01");
        assert_eq!(at(NOW_MS_MAX, 0), "9999-12-31");
    }

    #[test]
    fn yesterday_crosses_a_year() {
        let day = Day::at(1_767_225_600_000, 0).unwrap();
        assert_eq!((day.to_string().as_str(), day.before().to_string().as_str()), ("2026-01-01", "2025-12-31"));
    }

    #[test]
    fn out_of_range_is_an_error() {
        assert!(Day::at(NOW_MS_MAX + 1, 0).is_err());
        assert!(Day::at(NOW_MS_MAX, 1).is_err());
        assert!(Day::at(u64::MAX, 0).is_err());
        assert!(Day::at(0, 1_080).is_ok());
        assert!(Day::at(0, 1_081).is_err());
        assert!(Day::at(0, i32::MIN).is_err());
    }
}
