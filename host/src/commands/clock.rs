//! Moments and offsets from UTC, as the command line takes them.

/// The system's clock, in milliseconds since 1970.
pub fn now_ms() -> anyhow::Result<u64> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
    Ok(u64::try_from(now.as_millis())?)
}

/// Milliseconds since 1970.
pub fn moment(text: &str) -> Result<u64, String> {
    let moment: jiff::Timestamp = text
        .parse()
        .map_err(|error| format!("{error}; write it like 2026-02-20T09:30:00Z"))?;
    u64::try_from(moment.as_millisecond())
        .map_err(|_| "moments before 1970 are not supported".to_owned())
}

/// A moment as the command line takes it, to the second.
pub fn written(moment_ms: u64) -> String {
    let seconds = i64::try_from(moment_ms / 1_000).unwrap_or(i64::MAX);
    let moment = jiff::Timestamp::from_second(seconds);
    moment.map_or_else(|_| moment_ms.to_string(), |moment| moment.to_string())
}

/// Minutes east of Greenwich.
pub fn offset(text: &str) -> Result<i32, String> {
    let wrong =
        || format!("{text:?} is no offset; write it like +01:00, -05:30, Z or 90 (minutes)");
    if text == "Z" {
        return Ok(0);
    }
    let Some((hours, minutes)) = text.split_once(':') else {
        return text.parse().map_err(|_| wrong());
    };
    let (sign, hours) = match (hours.strip_prefix('-'), hours.strip_prefix('+')) {
        (Some(hours), _) => (-1, hours),
        (_, Some(hours)) => (1, hours),
        _ => return Err(wrong()),
    };
    let figure = |text: &str| {
        text.parse::<i32>()
            .ok()
            .filter(|_| text.len() == 2 && text.bytes().all(|b| b.is_ascii_digit()))
    };
    match (figure(hours), figure(minutes)) {
        (Some(hours), Some(minutes)) if minutes < 60 => Ok(sign * (hours * 60 + minutes)),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::{moment, offset, written};

    #[test]
    fn offsets() {
        for (text, minutes) in [
            ("Z", 0),
            ("+01:00", 60),
            ("-05:30", -330),
            ("-330", -330),
            ("90", 90),
            ("+14:00", 840),
        ] {
            assert_eq!(offset(text), Ok(minutes), "{text}");
        }
        for text in [
            "1:00",
            "+1:00",
            "+01:60",
            "+01:0x",
            "Europe/Berlin",
            "",
            "+:",
        ] {
            assert!(offset(text).is_err(), "{text}");
        }
    }

    #[test]
    fn moments() {
        assert_eq!(moment("2026-02-20T09:30:00Z"), Ok(1_771_579_800_000));
        assert_eq!(moment("2026-02-20T10:30:00+01:00"), Ok(1_771_579_800_000));
        assert_eq!(written(1_771_579_800_999), "2026-02-20T09:30:00Z");
        assert_eq!(written(u64::MAX), u64::MAX.to_string());
        assert!(moment("2026-02-30T09:30:00Z").is_err());
        assert!(moment("1969-12-31T23:59:59Z").is_err());
    }
}
