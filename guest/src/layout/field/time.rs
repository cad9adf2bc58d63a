//! Calendar dates in keys. Knows no clock: time is an argument.

use super::{Field, are_digits};
use crate::types::Result;

/// A day of the proleptic Gregorian calendar, year 0000 to 9999: `2026-02-20`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date {
    year: u16,
    month: u8,
    day: u8,
}

impl Date {
    /// None when the calendar has no such day.
    pub fn new(year: u16, month: u8, day: u8) -> Option<Self> {
        let exists = year <= 9999 && day >= 1 && day <= days_in_month(year, month);
        exists.then_some(Self { year, month, day })
    }

    pub fn parse(text: &str) -> Result<Self> {
        Self::read(text).ok_or_else(|| Self::refuse(text))
    }

    fn read(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
        if parts.next().is_some()
            || !are_digits(year, 4)
            || !are_digits(month, 2)
            || !are_digits(day, 2)
        {
            return None;
        }
        Self::new(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?)
    }

    /// The day of a moment, in milliseconds since the Unix epoch, at a UTC offset in minutes.
    /// None before the year 0000 or after 9999.
    pub fn at(now_ms: u64, utc_offset_minutes: i32) -> Option<Self> {
        let local_ms = i64::try_from(now_ms)
            .ok()?
            .checked_add(i64::from(utc_offset_minutes) * 60_000)?;
        Self::from_epoch_days(local_ms.div_euclid(86_400_000))
    }

    /// The day before; none before 0000-01-01.
    pub fn previous(self) -> Option<Self> {
        if self.day > 1 {
            Self::new(self.year, self.month, self.day - 1)
        } else if self.month > 1 {
            let month = self.month - 1;
            Self::new(self.year, month, days_in_month(self.year, month))
        } else {
            Self::new(self.year.checked_sub(1)?, 12, 31)
        }
    }

    pub fn year(self) -> u16 {
        self.year
    }

    pub fn month(self) -> u8 {
        self.month
    }

    pub fn day(self) -> u8 {
        self.day
    }

    /// By eras of 400 years beginning in March, so that a leap day ends its year.
    fn from_epoch_days(days: i64) -> Option<Self> {
        const DAYS_TO_EPOCH: i64 = 719_468;
        const DAYS_PER_ERA: i64 = 146_097;
        let days = days.checked_add(DAYS_TO_EPOCH)?;
        let era = days.div_euclid(DAYS_PER_ERA);
        let day_of_era = days.rem_euclid(DAYS_PER_ERA);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
        let month = if month_from_march < 10 {
            month_from_march + 3
        } else {
            month_from_march - 9
        };
        let year = era * 400 + year_of_era + i64::from(month <= 2);
        Self::new(
            u16::try_from(year).ok()?,
            u8::try_from(month).ok()?,
            u8::try_from(day).ok()?,
        )
    }
}

fn days_in_month(year: u16, month: u8) -> u8 {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => 0,
    }
}

/// Whether `text` is `YYYYMMDD` of a real day.
pub(super) fn is_compact_date(text: &str) -> bool {
    let parts = (text.get(..4), text.get(4..6), text.get(6..));
    let (Some(year), Some(month), Some(day)) = parts else {
        return false;
    };
    Date::read(&format!("{year}-{month}-{day}")).is_some()
}

/// Whether `text` is `HHMMSS` of a time of day, without leap seconds.
pub(super) fn is_compact_time(text: &str) -> bool {
    are_digits(text, 6)
        && [(0, 24), (2, 60), (4, 60)].into_iter().all(|(at, below)| {
            text.get(at..at + 2)
                .and_then(|part| part.parse::<u8>().ok())
                .is_some_and(|value| value < below)
        })
}

impl std::fmt::Display for Date {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

impl Field for Date {
    const WHAT: &'static str = "date";
    const RULE: &'static str = "YYYY-MM-DD, a day that the calendar has";

    fn from_value(value: &str) -> Result<Self> {
        Self::parse(value)
    }

    fn to_value(&self) -> String {
        self.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_days_that_exist() {
        for text in [
            "2026-02-20",
            "2024-02-29",
            "2000-02-29",
            "0000-01-01",
            "9999-12-31",
        ] {
            assert_eq!(Date::parse(text).unwrap().to_string(), text);
        }
        for text in [
            "2026-02-29",
            "1900-02-29",
            "2026-13-01",
            "2026-00-10",
            "2026-04-31",
            "2026-01-00",
            "2026-1-01",
            "+026-01-01",
            "2026-01-01 ",
            "2026-01-01-",
            "20260101",
            "",
            "２０26-01-01",
        ] {
            let error = Date::parse(text).unwrap_err();
            assert!(error.message.contains("YYYY-MM-DD"), "{}", error.message);
        }
    }

    #[test]
    fn the_day_of_a_moment_follows_the_offset() {
        let at = |ms, offset| Date::at(ms, offset).unwrap().to_string();
        assert_eq!(at(0, 0), "1970-01-01");
        assert_eq!(at(0, -1), "1969-12-31");
        assert_eq!(at(1_771_579_800_000, 0), "2026-02-20");
        assert_eq!(at(1_771_579_800_000, 870), "2026-02-21");
        assert_eq!(at(951_782_400_000, 0), "2000-02-29");
        assert_eq!(at(crate::limits::NOW_MS_MAX, 0), "9999-12-31");
        assert_eq!(Date::at(crate::limits::NOW_MS_MAX, 1), None);
        assert_eq!(Date::at(u64::MAX, 0), None);
    }

    #[test]
    fn the_day_before_crosses_months_and_years() {
        let before = |text: &str| Date::parse(text).unwrap().previous().map(|d| d.to_string());
        assert_eq!(before("2026-03-01").as_deref(), Some("2026-02-28"));
        assert_eq!(before("2024-03-01").as_deref(), Some("2024-02-29"));
        assert_eq!(before("2026-01-01").as_deref(), Some("2025-12-31"));
        assert_eq!(before("0000-01-01"), None);
    }
}
