//! The caller's clock: a moment and a UTC offset, checked once for every call that names a day.

use crate::layout::gsv::Date;
use crate::limits::{NOW_MS_MAX, UTC_OFFSET_MINUTES_MAX};
use crate::types::{Error, Result};

/// The day of a moment. `invalid` for an offset over 18 hours, or a day after the year 9999.
pub fn day(name: &str, at_ms: u64, utc_offset_minutes: i32) -> Result<Date> {
    check_offset(utc_offset_minutes)?;
    let day = Date::at(at_ms, utc_offset_minutes).filter(|_| at_ms <= NOW_MS_MAX);
    day.ok_or_else(|| out_of_range(name, at_ms))
}

/// The day of a moment, and the one before.
pub fn days(now_ms: u64, utc_offset_minutes: i32) -> Result<(Date, Date)> {
    let today = day("now-ms", now_ms, utc_offset_minutes)?;
    let yesterday = today.previous();
    yesterday
        .map(|yesterday| (today, yesterday))
        .ok_or_else(|| out_of_range("now-ms", now_ms))
}

fn check_offset(utc_offset_minutes: i32) -> Result<()> {
    if utc_offset_minutes.unsigned_abs() <= UTC_OFFSET_MINUTES_MAX {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "utc-offset-minutes is {utc_offset_minutes}; it must lie between -{UTC_OFFSET_MINUTES_MAX} and \
         {UTC_OFFSET_MINUTES_MAX} (18 hours)"
    )))
}

fn out_of_range(name: &str, at_ms: u64) -> Error {
    Error::invalid(format!(
        "{name} is {at_ms}; it must be milliseconds since 1970 and, with its offset, fall before the year 10000"
    ))
}
