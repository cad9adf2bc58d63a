//! Whether a conversation has grown so long that it is compacted. Pure.

use super::{Facts, Settings, Window};
use crate::format::message::Role;
use crate::limits::COMPACTION_MESSAGES_MIN;

/// The answer with its figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    pub compact: bool,
    /// What the conversation takes.
    pub tokens: u64,
    /// Whether a provider counted them; else they are estimated.
    pub reported: bool,
    /// What it may take: more is compacted.
    pub usable_tokens: u64,
}

/// More than two messages, and more tokens than the window has without its reserve. `system_tokens` is
/// what the system prompt takes by estimate; a provider's figure holds it already.
pub fn should_compact(
    messages: &[Facts],
    system_tokens: u64,
    window: Window,
    settings: &Settings,
) -> Verdict {
    let reported = last_reported(messages);
    let tokens = reported.unwrap_or_else(|| {
        messages.iter().fold(system_tokens, |sum, message| {
            sum.saturating_add(message.tokens)
        })
    });
    let usable_tokens = window.usable_tokens(settings);
    Verdict {
        compact: settings.enabled
            && messages.len() > COMPACTION_MESSAGES_MIN
            && tokens > usable_tokens,
        tokens,
        reported: reported.is_some(),
        usable_tokens,
    }
}

/// Input tokens of the newest answer that reports any. After a compaction, figures of answers from before
/// it are of a conversation that is no longer: they would call for the next compaction at once.
fn last_reported(messages: &[Facts]) -> Option<u64> {
    let compacted_ms = messages
        .first()
        .filter(|first| first.is_summary)
        .map(|first| first.timestamp_ms.unwrap_or(u64::MAX));
    messages
        .iter()
        .rev()
        .filter(|message| message.role == Role::Assistant)
        .find(|message| message.reported_input_tokens.is_some())
        .filter(|message| compacted_ms.is_none_or(|since| message.timestamp_ms > Some(since)))
        .and_then(|message| message.reported_input_tokens)
}

#[cfg(test)]
mod tests {
    use super::super::summary;
    use super::super::tests::facts_of;
    use super::*;

    fn answer(input: u64, cached: u64, ms: u64) -> String {
        format!(
            r#"{{"role":"assistant","content":[],"usage":{{"input":{input},"cacheRead":{cached}}},"timestamp":{ms}}}"#
        )
    }

    fn verdict(lines: &[String], window: u64) -> (bool, u64, bool) {
        let window = Window::new(window).unwrap();
        let verdict = should_compact(&facts_of(lines), 7, window, &Settings::default());
        (verdict.compact, verdict.tokens, verdict.reported)
    }

    #[test]
    fn reported_tokens_count_before_estimated_ones() {
        let user = r#"{"role":"user","content":"Hello"}"#.to_owned();
        let three = |last: String| vec![user.clone(), user.clone(), last];
        for (lines, window, expected) in [
            (
                three(answer(5_000, 75_001, 9)),
                100_000,
                (true, 80_001, true),
            ),
            (
                three(answer(5_000, 75_000, 9)),
                100_000,
                (false, 80_000, true),
            ),
            // Too few messages, whatever they report.
            (
                vec![user.clone(), answer(99_000, 0, 9)],
                100_000,
                (false, 99_000, true),
            ),
            // Zeros report nothing: three lines of 34 units, and the system prompt.
            (three(user.clone()), 20_000, (true, 37, false)),
            (three(user.clone()), 19_999, (false, 37, false)),
            (
                vec![answer(1, 2, 3), user.clone(), answer(0, 0, 9)],
                100_000,
                (false, 3, true),
            ),
        ] {
            assert_eq!(verdict(&lines, window), expected, "{lines:?}");
        }
    }

    #[test]
    fn figures_from_before_a_compaction_do_not_count() {
        let summary = summary::message_line("s", 10);
        let user = r#"{"role":"user","content":"Hello"}"#.to_owned();
        let after = |ms| vec![summary.clone(), answer(99_000, 0, ms), user.clone()];
        assert!(!verdict(&after(9), 100_000).2);
        assert!(!verdict(&after(10), 100_000).2);
        assert_eq!(verdict(&after(11), 100_000), (true, 99_000, true));
    }

    #[test]
    fn can_be_switched_off() {
        let settings = Settings {
            enabled: false,
            ..Settings::default()
        };
        let lines = vec![answer(99_000, 0, 9); 3];
        let window = Window::new(50_000).unwrap();
        let verdict = should_compact(&facts_of(&lines), 0, window, &settings);
        assert_eq!((verdict.compact, verdict.usable_tokens), (false, 30_000));
    }
}
