//! Random values under names like `password`, in headers and in addresses. Pure.

use super::randomness::is_random;
use crate::limits::SECRET_BYTES_MAX;

/// How names of secrets end, in lower case, without hyphens, underscores and blanks.
const NAMES: [&str; 15] = [
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "secretkey",
    "privatekey",
    "authkey",
    "signingkey",
    "encryptionkey",
    "credential",
    "credentials",
];

/// The first such value in a line.
pub fn find(line: &str) -> Option<&'static str> {
    let named = line
        .match_indices(['=', ':'])
        .filter_map(|(at, _)| Some((line.get(..at)?, line.get(at + 1..)?)))
        .any(|(before, after)| is_secret_name(before) && is_random(value(after)));
    if named {
        return Some("a random value under the name of a secret");
    }
    let header = ["Bearer ", "Basic "].iter().any(|scheme| {
        let mut parts = line.split(scheme).skip(1);
        parts.any(|after| value(after).len() >= 16 && is_random(value(after)))
    });
    if header {
        return Some("the credentials of a request");
    }
    let in_address = line.split("://").skip(1).any(|rest| {
        let authority = rest.split(['/', ' ', '"', '\'', '`']).next();
        let user = authority.and_then(|authority| authority.rsplit_once('@'));
        let password = user.and_then(|(user, _)| user.split_once(':'));
        password.is_some_and(|(_, password)| is_random(password))
    });
    in_address.then_some("a password in an address")
}

/// Whether what stands before a separator ends in the name of a secret, of one or two words.
pub fn is_secret_name(before: &str) -> bool {
    let quotes = |character: char| character.is_whitespace() || "\"'`*:".contains(character);
    let from = before.len().saturating_sub(SECRET_BYTES_MAX);
    let before = before
        .get(before.ceil_char_boundary(from)..)
        .unwrap_or(before);
    let name = before.trim_end_matches(quotes);
    let from = name
        .char_indices()
        .rev()
        .find(|(_, character)| !(character.is_ascii_alphanumeric() || "-_. ".contains(*character)));
    let from = from.map_or(0, |(at, character)| at + character.len_utf8());
    let name: String = name
        .get(from..)
        .unwrap_or_default()
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .collect::<String>()
        .to_ascii_lowercase();
    NAMES.iter().any(|ending| name.ends_with(ending))
}

/// The value after a separator: without quotes, up to a blank or a closing quote.
fn value(after: &str) -> &str {
    let opening = |character: char| character.is_whitespace() || "\"'`*=>".contains(character);
    let after = after
        .get(..after.floor_char_boundary(SECRET_BYTES_MAX))
        .unwrap_or(after);
    let value = after.trim_start_matches(opening);
    let closing = |character: char| character.is_whitespace() || "\"'`,;)".contains(character);
    value.split(closing).next().unwrap_or_default()
}
