//! What an archive says about itself: for whom it is, what each file's bytes hash to, and that it is whole. Pure.

use serde::{Deserialize, Serialize};

use crate::store::key::shown;
use crate::store::{Error, ErrorCode, check};

/// The number of the format that is written, and the highest that is read.
pub const FORMAT: u64 = 1;
/// Where the manifest lies in the archive, beside the user's keys.
pub const FOLDER: &str = "haversack-export/";
pub const BEGIN: &str = "haversack-export/begin.json";
pub const END: &str = "haversack-export/end.json";
/// Files between two parts of the sums.
pub const FILES_PER_PART_MAX: usize = 1_000;

/// The name of a part of the sums, counted from 1.
pub fn part_name(number: u64) -> String {
    format!("{FOLDER}sums-{number:06}.jsonl")
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Begin {
    pub format: u64,
    pub user: String,
    pub prefix: String,
}

/// A line of the sums.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Line {
    File(Sum),
    #[serde(rename_all = "camelCase")]
    LeftOut {
        path: String,
        left_out: String,
    },
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Sum {
    pub path: String,
    pub size_bytes: u64,
    /// Lower-case hexadecimal.
    pub sha256: String,
    pub version: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub changed: bool,
}

#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct End {
    pub files: u64,
    pub bytes: u64,
    pub changed: u64,
    pub left_out: u64,
}

impl Begin {
    /// `unsupported` for a newer format, `invalid` for what is none.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        #[derive(Deserialize)]
        struct Format {
            format: u64,
        }
        let Format { format } = parse(BEGIN, bytes)?;
        if format > FORMAT {
            let message = format!(
                "the archive has format {format}, and this haversack reads up to {FORMAT}; import it with a newer one"
            );
            return Err(check::error(ErrorCode::Unsupported, message));
        }
        parse(BEGIN, bytes)
    }
}

/// JSON of the manifest.
pub fn parse<'t, T: Deserialize<'t>>(name: &str, bytes: &'t [u8]) -> Result<T, Error> {
    serde_json::from_slice(bytes)
        .map_err(|error| wrong(format!("{} cannot be read: {error}", shown(name))))
}

/// Every line of a part of the sums.
pub fn parse_lines(name: &str, bytes: &[u8]) -> Result<Vec<Line>, Error> {
    let lines = bytes.split(|byte| *byte == b'\n');
    lines
        .filter(|line| !line.is_empty())
        .map(|line| parse(name, line))
        .collect()
}

/// An archive that is not what it should be.
pub fn wrong(what: impl std::fmt::Display) -> Error {
    let message = format!("the archive is refused: {what}");
    check::error(ErrorCode::Invalid, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_back() -> Result<(), Error> {
        let lines = [
            Line::File(Sum {
                path: "users/a/meta.json".to_owned(),
                size_bytes: 2,
                sha256: "00".to_owned(),
                version: "v".to_owned(),
                changed: false,
            }),
            Line::LeftOut {
                path: "users/a/link".to_owned(),
                left_out: "a symbolic link".to_owned(),
            },
        ];
        let text: String = lines
            .iter()
            .map(|line| serde_json::to_string(line).expect("JSON") + "\n")
            .collect();
        assert!(!text.contains("changed"), "{text}");
        assert_eq!(parse_lines("sums", text.as_bytes())?, lines);
        assert!(parse_lines("sums", b"{\"path\":\"a\"}\n").is_err());
        Ok(())
    }

    #[test]
    fn a_newer_format_is_told_apart() {
        let of = |format: &str| {
            let text = format!(r#"{{"format":{format},"user":"a","prefix":"users/a/"}}"#);
            Begin::parse(text.as_bytes())
                .map(|_| ())
                .map_err(|error| error.code)
        };
        assert_eq!(of("1"), Ok(()));
        assert_eq!(of("2"), Err(ErrorCode::Unsupported));
        assert_eq!(of("\"1\""), Err(ErrorCode::Invalid));
        // A newer one may have other members.
        let newer = Begin::parse(br#"{"format":7}"#).map_err(|error| error.code);
        assert_eq!(newer.map(|_| ()), Err(ErrorCode::Unsupported));
    }
}
