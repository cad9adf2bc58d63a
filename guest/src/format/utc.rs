//! Moments as `2026-01-29T23:00:00Z`: printed to the second in UTC, read with fractions and offsets too.
//! Knows no clock.

use crate::layout::field::Date;

const DAY_SECONDS: u64 = 86_400;

/// A moment in milliseconds since 1970, to the second before it; none after the year 9999.
pub fn print(moment_ms: u64) -> Option<String> {
    let date = Date::at(moment_ms, 0)?;
    let second = moment_ms / 1_000 % DAY_SECONDS;
    let (hours, minutes, seconds) = (second / 3_600, second / 60 % 60, second % 60);
    Some(format!("{date}T{hours:02}:{minutes:02}:{seconds:02}Z"))
}

/// Milliseconds since 1970 of a moment of RFC 3339; none for anything else, and for moments before 1970.
pub fn parse(text: &str) -> Option<u64> {
    let (date, time) = text.split_at_checked(10)?;
    let date = Date::parse(date).ok()?;
    let time = time.strip_prefix(['T', 't', ' '])?;
    let (clock, rest) = time.split_at_checked(8)?;
    let mut parts = clock.split(':').map(two_digits);
    let (hours, minutes, seconds) = (parts.next()??, parts.next()??, parts.next()??);
    if hours > 23 || minutes > 59 || seconds > 59 || parts.next().is_some() {
        return None;
    }
    let digits = rest.strip_prefix('.').map_or(0, |fraction| {
        let end = fraction.find(|c: char| !c.is_ascii_digit());
        1 + end.unwrap_or(fraction.len())
    });
    let (fraction, zone) = rest.split_at_checked(digits)?;
    let millis = match fraction.get(1..) {
        None => 0,
        Some("") => return None,
        Some(digits) => format!("{digits:0<3}").get(..3)?.parse::<i64>().ok()?,
    };
    let offset_minutes = match zone {
        "Z" | "z" => 0,
        zone => {
            let sign = if zone.starts_with('-') { -1 } else { 1 };
            let (hours, minutes) = zone.strip_prefix(['+', '-'])?.split_once(':')?;
            sign * (two_digits(hours)? * 60 + two_digits(minutes)?)
        }
    };
    let seconds = (days_since_1970(date) * 24 + hours) * 3_600 + minutes * 60 + seconds;
    u64::try_from((seconds - offset_minutes * 60) * 1_000 + millis).ok()
}

fn two_digits(text: &str) -> Option<i64> {
    let fine = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| fine)
}

/// By years that begin in March, so that a leap day ends its year.
fn days_since_1970(date: Date) -> i64 {
    let month = i64::from(date.month());
    let year = i64::from(date.year()) - i64::from(month <= 2);
    let month_from_march = (month + 9) % 12;
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leap_days + (153 * month_from_march + 2) / 5 + i64::from(date.day()) - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn moments_as_people_write_them() {
        for (text, ms) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2026-01-29T23:00:00Z", 1_769_727_600_000),
            ("2026-01-29T23:00:00.5Z", 1_769_727_600_500),
            ("2026-01-29T23:00:00.123456Z", 1_769_727_600_123),
            ("2026-01-30T00:00:00+01:00", 1_769_727_600_000),
            ("2026-01-29 17:30:00-05:30", 1_769_727_600_000),
            ("2024-02-29t12:00:00z", 1_709_208_000_000),
        ] {
            assert_eq!(parse(text), Some(ms), "{text}");
        }
        for text in [
            "",
            "2026-01-29",
            "2026-01-29T23:00:00",
            "2026-01-29T24:00:00Z",
            "2026-02-29T23:00:00Z",
            "2026-01-29T23:00:00.Z",
            "2026-01-29T23:00Z",
            "2026-01-29T23:00:00+1:00",
            "1969-12-31T23:59:59Z",
            "2026-01-29T23:00:00Zx",
            "2026-01-29Té3:00:00Z",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(print(crate::limits::NOW_MS_MAX + 1), None);
    }

    proptest! {
        #[test]
        fn what_is_printed_is_read(seconds in 0_u64..=253_402_300_799) {
            let text = print(seconds * 1_000 + 999).unwrap();
            prop_assert_eq!(parse(&text), Some(seconds * 1_000));
        }
    }
}
