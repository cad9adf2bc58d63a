//! Commands and addresses without what is secret in them, before they are written down (spec: run-agent, Files). Pure.

use super::secrets::{is_secret_name, of_line};

/// What stands for a secret.
const REDACTED: &str = "[redacted]";

/// What `curl` calls a user with a password.
const USER_AND_PASSWORD: [&str; 3] = ["-u", "--user", "--proxy-user"];

/// A command on one line, quoted for a shell; values under the name of a secret, and what looks like one, redacted.
pub fn command(arguments: &[String]) -> String {
    let mut words = Vec::new();
    let mut secret_follows = false;
    for argument in arguments {
        let word = match secret_follows && !argument.starts_with('-') {
            true => REDACTED.to_owned(),
            false => redacted(argument),
        };
        secret_follows = argument.starts_with('-')
            && !argument.contains('=')
            && (is_secret_name(argument) || USER_AND_PASSWORD.contains(&argument.as_str()));
        words.push(quoted(&word));
    }
    words.join(" ")
}

fn redacted(argument: &str) -> String {
    if let Some((name, value)) = argument.split_once(['=', ':'])
        && is_secret_name(name)
        && !value.is_empty()
    {
        let separator = argument.get(name.len()..name.len() + 1).unwrap_or("=");
        return format!("{name}{separator}{REDACTED}");
    }
    // An address stands alone; in a longer text what is around it counts too.
    let is_address = argument.contains("://") && !argument.contains(char::is_whitespace);
    let shown = match is_address && argument.matches("://").count() == 1 {
        true => endpoint(argument),
        false => without_user_info(argument),
    };
    match shown.lines().any(|line| of_line(line).is_some()) {
        true => REDACTED.to_owned(),
        false => shown,
    }
}

/// A text without the user info of the addresses in it.
fn without_user_info(text: &str) -> String {
    let mut parts = text.split("://");
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let ends = |c: char| c.is_whitespace() || "/?#\"'<>()".contains(c);
        let end = part.find(ends).unwrap_or(part.len());
        let (authority, rest) = part.split_at_checked(end).unwrap_or((part, ""));
        let host = authority.rsplit_once('@');
        shown.push_str("://");
        shown.push_str(host.map_or(authority, |(_, host)| host));
        shown.push_str(rest);
    }
    shown
}

/// An address without user info, and without what in its query or fragment is or looks like a secret.
pub fn endpoint(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else {
        let looks_so = of_line(address).is_some();
        return if looks_so {
            REDACTED.to_owned()
        } else {
            address.to_owned()
        };
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at_checked(end).unwrap_or((rest, ""));
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    let end = rest.find(['?', '#']).unwrap_or(rest.len());
    let (path, query) = rest.split_at_checked(end).unwrap_or((rest, ""));
    let path = match of_line(path) {
        Some(_) => format!("/{REDACTED}"),
        None => path.to_owned(),
    };
    let kept: Vec<&str> = query
        .get(1..)
        .unwrap_or_default()
        .split(['&', ';', '#'])
        .filter(|pair| !pair.is_empty() && !is_secret_pair(pair))
        .collect();
    let query = match kept.is_empty() {
        true => String::new(),
        false => format!("{}{}", query.get(..1).unwrap_or_default(), kept.join("&")),
    };
    format!("{scheme}://{host}{path}{query}")
}

fn is_secret_pair(pair: &str) -> bool {
    let name = pair
        .split('=')
        .next()
        .unwrap_or_default()
        .to_ascii_lowercase();
    let token_like = ["key", "sig", "signature", "auth", "code", "session"];
    token_like.contains(&name.as_str()) || is_secret_name(&name) || of_line(pair).is_some()
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+[]?&#~".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands() {
        // In halves, so that no scanner takes this file for a leak.
        let token = ["ghp_", "Zu4kQ9wtPLm2Xc7Vb1Nn5Rr8Dd3Ff6Gg"].concat();
        let before = format!("Use {token} to clone https://host/a/b");
        let inside = format!("{{\"url\":\"https://h\",\"token\":\"{token}\"}}");
        for (words, expected) in [
            (vec!["claude", "-p", "fix it"], "claude -p 'fix it'"),
            (
                vec!["x", "--password", "hunter2", "y"],
                "x --password [redacted] y",
            ),
            (
                vec!["x", "--api-key=abc", "-v"],
                "x --api-key=[redacted] -v",
            ),
            (
                vec!["env", "OPENAI_API_KEY=abc", "x"],
                "env OPENAI_API_KEY=[redacted] x",
            ),
            (vec!["x", "--token", "--verbose"], "x --token --verbose"),
            (vec!["x", token.as_str()], "x [redacted]"),
            (vec!["x", "it's", ""], "x 'it'\\''s' ''"),
            (vec!["x", "https://u:p@host/a"], "x https://host/a"),
            (
                vec!["curl", "-u", "me:pass", "https://host"],
                "curl -u [redacted] https://host",
            ),
            (
                vec!["x", "see https://u:p@a/b and ftp://c@d"],
                "x 'see https://a/b and ftp://d'",
            ),
            (
                vec!["x", before.as_str(), inside.as_str()],
                "x [redacted] [redacted]",
            ),
            (vec!["x", "--tokenizer", "bpe"], "x --tokenizer bpe"),
            (vec![], ""),
        ] {
            let words: Vec<String> = words.into_iter().map(str::to_owned).collect();
            assert_eq!(command(&words), expected);
        }
    }

    #[test]
    fn endpoints() {
        for (address, expected) in [
            ("https://api.example.com/v1", "https://api.example.com/v1"),
            (
                "https://user:secret@api.example.com/v1",
                "https://api.example.com/v1",
            ),
            ("https://user@host", "https://host"),
            (
                "https://host/v1?region=eu&api_key=abc&x=1",
                "https://host/v1?region=eu&x=1",
            ),
            ("https://host?token=abc", "https://host"),
            ("https://host/a#access_token=abc", "https://host/a"),
            ("https://host/p?q=a@b", "https://host/p?q=a@b"),
            ("local", "local"),
        ] {
            assert_eq!(endpoint(address), expected);
        }
    }
}
