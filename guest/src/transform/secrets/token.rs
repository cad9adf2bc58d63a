//! Tokens that are known by how they begin, and by their form: a table, JWTs, bot tokens. Pure.

use super::randomness::is_stand_in;
use crate::limits::SECRET_BYTES_MAX;

/// Characters that may follow a prefix.
#[derive(Clone, Copy)]
enum Alphabet {
    /// Letters and digits.
    Plain,
    /// Capitals and digits.
    Capitals,
    /// Letters, digits, `-` and `_`.
    Word,
    /// Those and `.`.
    Dotted,
}

impl Alphabet {
    fn holds(self, character: char) -> bool {
        match self {
            Self::Plain => character.is_ascii_alphanumeric(),
            Self::Capitals => character.is_ascii_uppercase() || character.is_ascii_digit(),
            Self::Word => is_word(character),
            Self::Dotted => is_word(character) || character == '.',
        }
    }
}

fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '-' || character == '_'
}

/// What it is, how it begins, what follows, and how much of that at least.
type Form = (&'static str, &'static str, Alphabet, usize);

#[rustfmt::skip]
const FORMS: [Form; 38] = [
    ("a GitHub token", "ghp_", Alphabet::Plain, 30),
    ("a GitHub token", "gho_", Alphabet::Plain, 30),
    ("a GitHub token", "ghu_", Alphabet::Plain, 30),
    ("a GitHub token", "ghs_", Alphabet::Plain, 30),
    ("a GitHub token", "ghr_", Alphabet::Plain, 30),
    ("a GitHub token", "github_pat_", Alphabet::Word, 30),
    ("a GitLab token", "glpat-", Alphabet::Word, 20),
    ("an Anthropic key", "sk-ant-", Alphabet::Word, 20),
    ("an OpenAI key", "sk-proj-", Alphabet::Word, 20),
    ("an OpenAI key", "sk-", Alphabet::Plain, 32),
    ("a Groq key", "gsk_", Alphabet::Plain, 32),
    ("an AWS key", "AKIA", Alphabet::Capitals, 16),
    ("an AWS key", "ASIA", Alphabet::Capitals, 16),
    ("a Slack token", "xoxb-", Alphabet::Word, 20),
    ("a Slack token", "xoxp-", Alphabet::Word, 20),
    ("a Slack token", "xoxa-", Alphabet::Word, 20),
    ("a Slack token", "xoxr-", Alphabet::Word, 20),
    ("a Slack token", "xoxs-", Alphabet::Word, 20),
    ("a Slack token", "xapp-", Alphabet::Word, 20),
    ("a Google key", "AIza", Alphabet::Word, 35),
    ("a Google token", "ya29.", Alphabet::Word, 20),
    ("an npm token", "npm_", Alphabet::Plain, 30),
    ("a PyPI token", "pypi-", Alphabet::Word, 50),
    ("a Hugging Face token", "hf_", Alphabet::Plain, 30),
    ("a Stripe key", "sk_live_", Alphabet::Plain, 16),
    ("a Stripe key", "sk_test_", Alphabet::Plain, 16),
    ("a Stripe key", "rk_live_", Alphabet::Plain, 16),
    ("a Stripe key", "whsec_", Alphabet::Plain, 24),
    ("a SendGrid key", "SG.", Alphabet::Dotted, 40),
    ("a DigitalOcean token", "dop_v1_", Alphabet::Plain, 40),
    ("a Shopify token", "shpat_", Alphabet::Plain, 30),
    ("a Linear key", "lin_api_", Alphabet::Plain, 30),
    ("a Tailscale key", "tskey-", Alphabet::Word, 20),
    ("a Vault token", "hvs.", Alphabet::Word, 24),
    ("a Databricks token", "dapi", Alphabet::Plain, 32),
    ("a Doppler token", "dp.pt.", Alphabet::Plain, 40),
    ("an age key", "AGE-SECRET-KEY-1", Alphabet::Capitals, 50),
    ("a Notion token", "ntn_", Alphabet::Plain, 40),
];

/// The first token in a line.
pub fn find(line: &str) -> Option<&'static str> {
    let mut before = None;
    for (at, character) in line.char_indices() {
        let begins = before.is_none_or(|before| !is_word(before));
        before = Some(character);
        if let Some(rest) = line.get(at..).filter(|_| begins) {
            let what = of_table(rest)
                .or_else(|| bot_token(rest))
                .or_else(|| web_token(rest));
            if what.is_some() {
                return what;
            }
        }
    }
    None
}

fn of_table(rest: &str) -> Option<&'static str> {
    FORMS.iter().find_map(|(what, prefix, alphabet, least)| {
        let after = rest.strip_prefix(prefix)?;
        let token = run(after, |character| alphabet.holds(character));
        (token.len() >= *least && !is_stand_in(token)).then_some(*what)
    })
}

/// Of a bot: its number and 35 characters.
fn bot_token(rest: &str) -> Option<&'static str> {
    let digits = run(rest, |character| character.is_ascii_digit());
    let after = rest.get(digits.len()..)?.strip_prefix(":AA")?;
    let is_token = (8..=10).contains(&digits.len()) && run(after, is_word).len() >= 30;
    is_token.then_some("a Telegram bot token")
}

/// Two parts that begin as JSON objects do in base64, with a dot between them.
fn web_token(rest: &str) -> Option<&'static str> {
    let header = run(rest.strip_prefix("eyJ")?, is_word);
    let body = rest
        .get("eyJ".len() + header.len()..)?
        .strip_prefix(".eyJ")?;
    let is_token = header.len() >= 12 && run(body, is_word).len() >= 12;
    is_token.then_some("a JSON web token")
}

/// As much of the beginning as holds only such characters.
fn run(text: &str, holds: impl Fn(char) -> bool) -> &str {
    let text = text
        .get(..text.floor_char_boundary(SECRET_BYTES_MAX))
        .unwrap_or(text);
    let end = text.find(|character| !holds(character));
    text.get(..end.unwrap_or(text.len())).unwrap_or_default()
}
