//! `haversack sign`: a URL of the API, signed for a user and a time.

use clap::Args;
use haversack_host::Owner;
use serde_json::json;

use super::call::Caller;
use super::exit::{Code, Failure};
use super::secret::SecretFlags;
use super::tenant::User;
use super::{Shared, clock, output};

/// For how long a URL may hold.
const EXPIRES_S_MAX: u64 = 365 * 86_400;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  haversack sign user_1 --url http://127.0.0.1:8080/api/history
  haversack sign user_1 --url 'https://HOST/api/history?sessionKey=main&limit=20' --expires 15m
  curl -OJ \"$(haversack sign user_1 --url https://HOST/api/storage/export)\"

The URL gets userId, exp (seconds since 1970) and sig, which is HMAC-SHA256 over `userId.exp` in base64url. Whoever has \
it can read this user's data until then, so pass it on as you would a password.")]
pub struct Sign {
    /// Whose data the URL opens
    user: User,
    /// The URL without userId, exp and sig
    #[arg(long, value_name = "URL")]
    url: String,
    /// For how long it holds: 90s, 15m, 12h, 7d, up to 365d
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = expires)]
    expires: u64,
    #[command(flatten)]
    secret: SecretFlags,
}

/// Seconds.
fn expires(text: &str) -> Result<u64, String> {
    let units = [("s", 1), ("m", 60), ("h", 3_600), ("d", 86_400)];
    let seconds = units.iter().find_map(|(unit, seconds)| {
        let figure: u64 = text.strip_suffix(unit)?.parse().ok()?;
        figure.checked_mul(*seconds)
    });
    match seconds {
        Some(seconds) if (1..=EXPIRES_S_MAX).contains(&seconds) => Ok(seconds),
        _ => Err("a time from 1s to 365d, such as 90s, 15m, 12h or 7d".to_owned()),
    }
}

impl Sign {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let secret = self.secret.required()?;
        // The layout says what a user's id may be.
        let caller = Caller::without_store(shared)?;
        let Owner { user, .. } = self.user.owner(&caller).await?;
        let exp_s = clock::now_ms()? / 1_000 + self.expires;
        let sig = secret.sign(&user, exp_s);
        let joint = check(&self.url)?;
        let url = format!("{}{joint}userId={user}&exp={exp_s}&sig={sig}", self.url);
        match shared.json {
            true => output::json(&json!({ "url": url, "userId": user, "exp": exp_s })),
            false => output::text(&url),
        }
    }
}

/// What goes between the URL and the signature.
fn check(url: &str) -> anyhow::Result<&'static str> {
    let (before, query) = url.split_once('?').unwrap_or((url, ""));
    let host = before
        .strip_prefix("https://")
        .or_else(|| before.strip_prefix("http://"));
    let signed = |pair: &str| {
        let name = pair.split('=').next().unwrap_or_default();
        ["userId", "exp", "sig"].contains(&name)
    };
    let problem = if host.is_none_or(|host| host.is_empty() || host.starts_with('/')) {
        "it does not begin with http://HOST or https://HOST"
    } else if url.contains('#') {
        "it has a fragment (#…), which no server sees; leave it out"
    } else if !url.bytes().all(|byte| byte.is_ascii_graphic()) {
        "it has a blank, a control character or one that is not ASCII; write it as %XX"
    } else if query.split('&').any(signed) {
        "it is signed already; give it without userId, exp and sig"
    } else {
        return Ok(
            match (url.contains('?'), query.is_empty() || query.ends_with('&')) {
                (false, _) => "?",
                (true, true) => "",
                (true, false) => "&",
            },
        );
    };
    Err(Failure::new(Code::Invalid, format!("--url: {problem}")).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        for (text, seconds) in [("1s", 1), ("90s", 90), ("15m", 900), ("2h", 7_200)] {
            assert_eq!(expires(text), Ok(seconds), "{text}");
        }
        assert_eq!(expires("365d"), Ok(EXPIRES_S_MAX));
        for text in [
            "",
            "0s",
            "1",
            "h",
            "1w",
            "-1h",
            "366d",
            "1 h",
            "99999999999999999999d",
        ] {
            assert!(expires(text).is_err(), "{text}");
        }
    }

    #[test]
    fn urls() {
        for (url, joint) in [
            ("http://h/api/history", "?"),
            ("https://h/api/history?", ""),
            ("https://h/api/history?limit=1", "&"),
            ("https://h/api/history?limit=1&", ""),
        ] {
            assert_eq!(check(url).ok(), Some(joint), "{url}");
        }
        for url in [
            "",
            "h/api",
            "ftp://h/",
            "http:///api",
            "http://h/#x",
            "http://h/ x",
            "http://h/é",
            "http://h/?sig=1",
            "http://h/?a=1&userId=2",
        ] {
            assert!(check(url).is_err(), "{url}");
        }
    }
}
