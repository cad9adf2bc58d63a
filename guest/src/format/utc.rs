//! Moments as `2026-01-29T23:00:00Z`: printed to the second in UTC, read with fractions and offsets too.
//! Knows no clock.

use crate::limits::NOW_MS_MAX;

const DAY_SECONDS: u64 = 86_400;
/// From the first of March of the year 0.
const DAYS_TO_1970: i64 = 719_468;

/// A moment in milliseconds since 1970, to the second before it; none after the year 9999.
pub fn print(moment_ms: u64) -> Option<String> {
    if moment_ms > NOW_MS_MAX {
        return None;
    }
    let days = i64::try_from(moment_ms / 1_000 / DAY_SECONDS).ok()?;
    let (year, month, day) = date_of(days);
    let second = moment_ms / 1_000 % DAY_SECONDS;
    let (hours, minutes, seconds) = (second / 3_600, second / 60 % 60, second % 60);
    Some(format!(
        "{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}Z"
    ))
}

/// A moment as names have it, `20260129T230000Z`; none after the year 9999.
pub fn print_compact(moment_ms: u64) -> Option<String> {
    let text = print(moment_ms)?;
    Some(text.replace(['-', ':'], ""))
}

/// Milliseconds since 1970 of what [`print_compact`] printed; none for anything else, and before 1970.
pub fn parse_compact(text: &str) -> Option<u64> {
    let part = |from: usize, to: usize| text.get(from..to);
    let date = format!("{}-{}-{}", part(0, 4)?, part(4, 6)?, part(6, 8)?);
    let clock = format!("{}:{}:{}", part(9, 11)?, part(11, 13)?, part(13, 15)?);
    let moment_ms = parse(&format!("{date}T{clock}Z"))?;
    Some(moment_ms).filter(|ms| print_compact(*ms).as_deref() == Some(text))
}

/// As [`print`], to the millisecond: `2026-01-29T23:00:00.123Z`.
pub fn print_ms(moment_ms: u64) -> Option<String> {
    let seconds = print(moment_ms)?;
    let seconds = seconds.strip_suffix('Z')?;
    Some(format!("{seconds}.{:03}Z", moment_ms % 1_000))
}

/// Milliseconds since 1970 of a moment of RFC 3339; none for anything else, and for moments before 1970.
pub fn parse(text: &str) -> Option<u64> {
    let (date, time) = text.split_at_checked(10)?;
    let date = (
        two_digits(date.get(..2)?)? * 100 + two_digits(date.get(2..4)?)?,
        two_digits(
            date.strip_prefix(date.get(..4)?)?
                .strip_prefix('-')?
                .get(..2)?,
        )?,
        two_digits(date.get(7..)?.strip_prefix('-')?)?,
    );
    // A month or a day that the calendar does not have comes back as another one.
    let days = Some(days_since_1970(date)).filter(|days| date_of(*days) == date)?;
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
    let seconds = (days * 24 + hours) * 3_600 + minutes * 60 + seconds;
    u64::try_from((seconds - offset_minutes * 60) * 1_000 + millis).ok()
}

fn two_digits(text: &str) -> Option<i64> {
    let fine = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| fine)
}

/// By years that begin in March, so that a leap day ends its year.
fn days_since_1970((year, month, day): (i64, i64, i64)) -> i64 {
    let year = year - i64::from(month <= 2);
    let month_from_march = (month + 9) % 12;
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leap_days + (153 * month_from_march + 2) / 5 + day - 1 - DAYS_TO_1970
}

/// Year, month and day; by eras of 400 years that begin in March.
fn date_of(days_since_1970: i64) -> (i64, i64, i64) {
    let days = days_since_1970 + DAYS_TO_1970;
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = year_of_era + days.div_euclid(146_097) * 400 + i64::from(month <= 2);
    (year, month, day)
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
        assert_eq!(parse_compact("20260129T230000Z"), Some(1_769_727_600_000));
        for text in [
            "",
            "20260129T230000",
            "20260129t230000Z",
            "20260230T230000Z",
            "20260129T230000Zx",
            "2026é129T230000Z",
        ] {
            assert_eq!(parse_compact(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_printed_is_read(seconds in 0_u64..=253_402_300_799) {
            let text = print(seconds * 1_000 + 999).unwrap();
            prop_assert_eq!(parse(&text), Some(seconds * 1_000));
            let compact = print_compact(seconds * 1_000).unwrap();
            prop_assert_eq!(compact.len(), 16);
            prop_assert_eq!(parse_compact(&compact), Some(seconds * 1_000));
            let text = print_ms(seconds * 1_000 + 7).unwrap();
            prop_assert_eq!(parse(&text), Some(seconds * 1_000 + 7));
        }
    }
}
