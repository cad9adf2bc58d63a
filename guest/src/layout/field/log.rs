//! Names of log segments (spec/protocols.md, "Log"): fixed widths, so that byte order is time order.
//! Knows no system.

use super::{Field, are_digits, text_field};
use crate::types::{Error, Result};

text_field!(
    /// 96 bits of a hash in a segment's name. Hexadecimal, because some disks fold case.
    SegmentHash,
    "segment hash",
    "24 lower-case hexadecimal digits (96 bits)",
    |text| text.len() == 24
        && text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
);

/// A number that stands with a fixed count of digits in a key.
macro_rules! padded_field {
    ($(#[$meta:meta])* $name:ident, $digits:literal, $max:literal, $what:literal, $rule:literal) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u64);

        impl $name {
            /// The greatest value that its digits hold.
            pub const MAX: u64 = $max;

            pub fn new(value: u64) -> Result<Self> {
                if value > Self::MAX {
                    return Err(Error::too_large(format!("{} {value}: {}", $what, $rule)));
                }
                Ok(Self(value))
            }

            pub fn get(self) -> u64 {
                self.0
            }
        }

        impl Field for $name {
            const WHAT: &'static str = $what;
            const RULE: &'static str = $rule;

            fn from_value(value: &str) -> Result<Self> {
                if !are_digits(value, $digits) {
                    return Err(Self::refuse(value));
                }
                value.parse().map(Self).map_err(|_| Self::refuse(value))
            }

            fn to_value(&self) -> String {
                format!("{:0width$}", self.0, width = $digits)
            }
        }
    };
}

padded_field!(
    /// The message's own time in `new/{ms}-{hash}.jsonl`, in milliseconds since the Unix epoch.
    SegmentMs,
    13,
    9_999_999_999_999,
    "segment time",
    "13 digits of milliseconds since the Unix epoch, zeros in front"
);

padded_field!(
    /// The number of the first line in `old/{line}-{hash}.jsonl`.
    LineNumber,
    12,
    999_999_999_999,
    "line number",
    "12 digits, zeros in front"
);
