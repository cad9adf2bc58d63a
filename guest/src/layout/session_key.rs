//! Session keys of gsv (spec/gsv.md, "Identity"): how they are built, read and told from the main one.
//! Knows no store.
//!
//! `agent:{id}:{token}:…`; the agent id keeps its case, every other token is lower-cased, runs
//! outside `[a-z0-9+\-_@.]` become `_`, and an empty one becomes `unknown`.

use serde::{Deserialize, Serialize};

use super::field::{AgentId, Field};
use super::key::quoted;
use crate::limits::SEGMENT_BYTES_MAX;
use crate::types::{Error, Result};

/// The last token of the main session's key unless the system's setting says otherwise.
pub const MAIN_KEY_DEFAULT: &str = "main";

/// How the direct messages of an agent are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DmScope {
    Main,
    PerPeer,
    PerChannelPeer,
    PerAccountChannelPeer,
}

/// A direct message: from whom, and over what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Dm {
    pub scope: DmScope,
    pub channel: String,
    pub account: String,
    pub peer: String,
}

/// A group or channel; `kind` is the channel's own word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Room {
    pub channel: String,
    pub kind: String,
    pub peer: String,
}

/// What a session belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Conversation {
    Main,
    Dm(Dm),
    Room(Room),
    Heartbeat,
    /// A scheduled job, by name.
    Cron(String),
}

/// A session key in canonical form.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionKey {
    agent: AgentId,
    text: String,
}

impl SessionKey {
    /// The key of a conversation; `main_key` is the system's setting, none means `main`.
    pub fn of(
        agent: &AgentId,
        main_key: Option<&str>,
        conversation: &Conversation,
    ) -> Result<Self> {
        let main_key = main_key.unwrap_or(MAIN_KEY_DEFAULT);
        let tokens: Vec<&str> = match conversation {
            Conversation::Main => vec![main_key],
            Conversation::Dm(dm) => match dm.scope {
                DmScope::Main => vec![main_key],
                DmScope::PerPeer => vec!["dm", &dm.peer],
                DmScope::PerChannelPeer => vec![dm.channel.as_str(), "dm", &dm.peer],
                DmScope::PerAccountChannelPeer => {
                    vec![dm.channel.as_str(), &dm.account, "dm", &dm.peer]
                }
            },
            Conversation::Room(room) => vec![room.channel.as_str(), &room.kind, &room.peer],
            Conversation::Heartbeat => vec!["heartbeat", "system", "internal"],
            Conversation::Cron(job) => vec!["cron", job],
        };
        Self::from_tokens(agent.clone(), tokens.into_iter())
    }

    /// Reads a key and brings it into canonical form.
    pub fn parse(text: &str) -> Result<Self> {
        let mut tokens = text.split(':');
        let is_agent = tokens
            .next()
            .is_some_and(|first| first.eq_ignore_ascii_case("agent"));
        let agent = tokens.next().map(AgentId::parse);
        let (true, Some(agent)) = (is_agent, agent) else {
            return Err(Self::refuse(text));
        };
        let agent = agent?;
        if tokens.clone().next().is_none() {
            return Err(Self::refuse(text));
        }
        Self::from_tokens(agent, tokens)
    }

    /// Reads a key of `agent`; another agent's is refused.
    pub fn parse_of(agent: &AgentId, text: &str) -> Result<Self> {
        let key = Self::parse(text)?;
        if key.agent == *agent {
            return Ok(key);
        }
        Err(Error::invalid(format!(
            "session key {} belongs to agent {}, not to {agent}: an agent's keys begin with \
             agent:{agent}:",
            quoted(text),
            key.agent
        )))
    }

    pub fn agent(&self) -> &AgentId {
        &self.agent
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it is its agent's main session, `agent:{id}:{main-key}`; none means `main`.
    pub fn is_main(&self, main_key: Option<&str>) -> bool {
        let main_key = canonical_token(main_key.unwrap_or(MAIN_KEY_DEFAULT));
        self.text == format!("agent:{}:{main_key}", self.agent)
    }

    fn from_tokens<'a>(agent: AgentId, tokens: impl Iterator<Item = &'a str>) -> Result<Self> {
        let mut text = format!("agent:{agent}");
        for token in tokens {
            text.push(':');
            text.push_str(&canonical_token(token));
        }
        if text.len() > SEGMENT_BYTES_MAX {
            return Err(Self::refuse(&text));
        }
        Ok(Self { agent, text })
    }
}

impl std::fmt::Display for SessionKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

fn canonical_token(token: &str) -> String {
    let mut canonical = String::with_capacity(token.len());
    let mut replaced = false;
    for character in token.to_lowercase().chars() {
        let allowed = character.is_ascii_lowercase()
            || character.is_ascii_digit()
            || matches!(character, '+' | '-' | '_' | '@' | '.');
        if allowed {
            canonical.push(character);
        } else if !replaced {
            canonical.push('_');
        }
        replaced = !allowed;
    }
    if canonical.is_empty() {
        canonical.push_str("unknown");
    }
    canonical
}

/// In a place, a key stands in canonical form only: a place never changes on its way to a key.
impl Field for SessionKey {
    const WHAT: &'static str = "session key";
    const RULE: &'static str = "agent:{id}:{token}:…, at least one token behind the agent id, tokens of \
                                a-z 0-9 + - _ @ . in canonical form, at most 255 bytes";

    fn from_value(value: &str) -> Result<Self> {
        let key = Self::parse(value)?;
        if key.text == value {
            Ok(key)
        } else {
            Err(Error::invalid(format!(
                "session key {} is not in canonical form, which is {}",
                quoted(value),
                key.text
            )))
        }
    }

    fn to_value(&self) -> String {
        self.text.clone()
    }
}

/// A session key in the name of a state file: percent-encoded outside `[A-Za-z0-9._-]`
/// (spec/protocols.md, "Reset").
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EncodedSessionKey(SessionKey);

impl EncodedSessionKey {
    const BYTES_MAX: usize = 200;

    /// Refuses a key whose encoded form is over 200 bytes.
    pub fn new(key: SessionKey) -> Result<Self> {
        if encode(key.as_str()).len() > Self::BYTES_MAX {
            return Err(Self::refuse(key.as_str()));
        }
        Ok(Self(key))
    }

    pub fn session_key(&self) -> &SessionKey {
        &self.0
    }
}

impl Field for EncodedSessionKey {
    const WHAT: &'static str = "session key of a state file";
    const RULE: &'static str = "a canonical session key, at most 200 bytes when percent-encoded outside \
                                A-Z a-z 0-9 . _ -";

    fn from_value(value: &str) -> Result<Self> {
        Self::new(SessionKey::from_value(value)?)
    }

    fn to_value(&self) -> String {
        self.0.to_value()
    }

    /// Only the one spelling that `to_key` gives, so that no session has two state files.
    fn from_key(text: &str) -> Result<Self> {
        let key = decode(text).ok_or_else(|| Self::refuse(text))?;
        let key = Self::from_value(&key)?;
        if key.to_key() == text {
            Ok(key)
        } else {
            Err(Self::refuse(text))
        }
    }

    fn to_key(&self) -> String {
        encode(self.0.as_str())
    }
}

fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len() + 8);
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-') {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let high = char::from(rest.next()?).to_digit(16)?;
            let low = char::from(rest.next()?).to_digit(16)?;
            bytes.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(conversation: Conversation) -> String {
        let agent = AgentId::parse("Hera").unwrap();
        SessionKey::of(&agent, None, &conversation)
            .unwrap()
            .to_string()
    }

    fn dm(scope: DmScope) -> Conversation {
        Conversation::Dm(Dm {
            scope,
            channel: "WhatsApp".into(),
            account: "Work Phone".into(),
            peer: "+49 170/1".into(),
        })
    }

    #[test]
    fn conversations_have_keys() {
        for (conversation, key) in [
            (Conversation::Main, "agent:Hera:main"),
            (dm(DmScope::Main), "agent:Hera:main"),
            (dm(DmScope::PerPeer), "agent:Hera:dm:+49_170_1"),
            (
                dm(DmScope::PerChannelPeer),
                "agent:Hera:whatsapp:dm:+49_170_1",
            ),
            (
                dm(DmScope::PerAccountChannelPeer),
                "agent:Hera:whatsapp:work_phone:dm:+49_170_1",
            ),
            (
                Conversation::Room(Room {
                    channel: "discord".into(),
                    kind: "channel".into(),
                    peer: "".into(),
                }),
                "agent:Hera:discord:channel:unknown",
            ),
            (
                Conversation::Heartbeat,
                "agent:Hera:heartbeat:system:internal",
            ),
            (
                Conversation::Cron("Nightly: run".into()),
                "agent:Hera:cron:nightly_run",
            ),
        ] {
            assert_eq!(of(conversation.clone()), key);
            assert_eq!(
                SessionKey::parse(key).unwrap().is_main(None),
                key == "agent:Hera:main"
            );
        }
    }

    #[test]
    fn canonical_form_keeps_the_agent_and_lowers_the_rest() {
        for (text, canonical) in [
            ("agent:Hera:Main", "agent:Hera:main"),
            ("AGENT:hera:main", "agent:hera:main"),
            ("agent:hera:a  b//c", "agent:hera:a_b_c"),
            ("agent:hera:", "agent:hera:unknown"),
            ("agent:hera:x::y", "agent:hera:x:unknown:y"),
            ("agent:hera:\u{212A}elvin", "agent:hera:kelvin"),
        ] {
            let key = SessionKey::parse(text).unwrap();
            assert_eq!(key.as_str(), canonical);
            assert_eq!(SessionKey::parse(canonical).unwrap(), key);
        }
    }

    #[test]
    fn what_is_no_key_is_refused_with_the_rule() {
        let long = format!("agent:hera:{}", "x".repeat(245));
        for text in ["", "main", "agent:hera", "agents:hera:main", &long] {
            let error = SessionKey::parse(text).unwrap_err();
            assert!(error.message.contains("agent:{id}:"), "{}", error.message);
        }
        let error = SessionKey::parse("agent:a b:main").unwrap_err();
        assert!(error.message.contains("agent id"), "{}", error.message);
    }

    #[test]
    fn main_is_the_agents_main_key_only() {
        let key = |text| SessionKey::parse(text).unwrap();
        assert!(key("agent:hera:home").is_main(Some("Home")));
        assert!(!key("agent:hera:main").is_main(Some("home")));
        assert!(!key("agent:main:discord:channel:dm:x").is_main(None));
        assert!(!key("agent:hera:main:x").is_main(None));
        assert!(key("agent:hera:a_b").is_main(Some("a:b")));
    }

    #[test]
    fn another_agents_key_is_refused() {
        let hera = AgentId::parse("hera").unwrap();
        assert!(SessionKey::parse_of(&hera, "agent:hera:MAIN").is_ok());
        for other in ["agent:Hera:main", "agent:nex:main"] {
            let error = SessionKey::parse_of(&hera, other).unwrap_err();
            assert!(error.message.contains("not to hera"), "{}", error.message);
        }
    }

    #[test]
    fn state_files_have_one_spelling_of_a_key() {
        let key = EncodedSessionKey::from_value("agent:hera:wa:dm:+49@x").unwrap();
        assert_eq!(key.to_key(), "agent%3Ahera%3Awa%3Adm%3A%2B49%40x");
        assert_eq!(EncodedSessionKey::from_key(&key.to_key()).unwrap(), key);
        for text in [
            "agent%3ahera%3Amain",
            "agent:hera:main",
            "agent%3Ahera%3A%6Dain",
            "agent%3",
            "%FF",
            "%",
            "agent%3Ahera%3AMain",
        ] {
            assert!(EncodedSessionKey::from_key(text).is_err(), "{text}");
        }
        let long = format!("agent:hera:{}", "x".repeat(190));
        assert!(EncodedSessionKey::from_value(&long).is_err());
    }
}
