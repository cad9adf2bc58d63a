//! Where a conversation is cut in two: what is removed and summarised, and the tail that is kept. Pure,
//! and one walk over the messages.

use super::Facts;
use super::pairing::pair;
use crate::format::message::Role;

/// Messages before `first_kept` are removed, it and the later ones stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// 0: nothing can be removed.
    pub first_kept: usize,
    pub removed_tokens: u64,
    /// Over the budget when the last turn of the user alone is.
    pub kept_tokens: u64,
}

/// The longest tail of at most `keep_recent_tokens` that can stand alone. It begins neither with a result
/// nor between a call and its result, however far apart these are, and holds at least the last turn of the
/// user, even over budget; without any user message, the newest messages that belong together.
pub fn cut(messages: &[Facts], keep_recent_tokens: u64) -> Cut {
    let pairing = pair(messages);
    let last_user = messages
        .iter()
        .rposition(|message| message.role == Role::User);
    let must_keep = last_user.unwrap_or(messages.len().saturating_sub(1));
    // Calls that wait for their results: these will come after the last message.
    let waiting = pairing
        .unanswered
        .iter()
        .map(|at| at.message)
        .find(|message| last_user.is_none_or(|user| *message > user));
    // The oldest message that anything walked over belongs to.
    let mut reach = waiting.unwrap_or(usize::MAX);
    let mut walked_tokens = 0u64;
    let mut best = None;
    for (index, message) in messages.iter().enumerate().rev() {
        walked_tokens = walked_tokens.saturating_add(message.tokens);
        let holds_enough = best.is_some_and(|(first, _)| first <= must_keep);
        if walked_tokens > keep_recent_tokens && holds_enough {
            break;
        }
        let asked_by = pairing.asked_by.get(index).copied().flatten();
        reach = reach.min(asked_by.unwrap_or(usize::MAX));
        if reach >= index && message.role != Role::ToolResult {
            best = Some((index, walked_tokens));
        }
    }
    let (first_kept, kept_tokens) = best.unwrap_or((messages.len(), 0));
    let whole_tokens = messages
        .iter()
        .fold(0u64, |sum, message| sum.saturating_add(message.tokens));
    let only_a_summary = first_kept == 1 && messages.first().is_some_and(|first| first.is_summary);
    if first_kept == 0 || only_a_summary {
        // A summary of a summary alone would be no shorter.
        return Cut {
            first_kept: 0,
            removed_tokens: 0,
            kept_tokens: whole_tokens,
        };
    }
    Cut {
        first_kept,
        removed_tokens: whole_tokens.saturating_sub(kept_tokens),
        kept_tokens,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::talk;
    use super::*;

    /// Where messages of 10 tokens each are cut for a budget.
    fn first_kept(letters: &str, budget: u64) -> usize {
        let mut messages = talk(letters);
        for message in &mut messages {
            message.tokens = 10;
        }
        cut(&messages, budget).first_kept
    }

    #[test]
    fn the_tail_is_the_longest_that_fits_and_can_stand_alone() {
        for (letters, budget, expected) in [
            ("", 100, 0),
            ("u a u a", 100, 0),
            ("u a u a", 40, 0),
            ("u a u a", 39, 1),
            ("u a u a", 20, 2),
            // At least the last turn of the user.
            ("u a u a", 19, 2),
            ("u a u a a a", 0, 2),
            ("u a a a", 10, 0),
            // Neither a result first, nor half of a group.
            ("u a:x =x u", 20, 3),
            ("u a:x =x u", 29, 3),
            ("u a:x =x u", 30, 1),
            ("u a:x,y =x =y u a", 50, 1),
            ("u a:x,y =x =y u a", 40, 4),
            // Results that come late hold everything in between together.
            ("u a:x u a =x u", 20, 5),
            ("u a:x u a =x u", 50, 1),
            ("u u a:x u =x a", 20, 2),
            // Orphans head no tail.
            ("u a =z u", 20, 3),
            ("u =z =z a u", 30, 3),
            ("u a =z u", 30, 1),
            // Without a user.
            ("a a a", 0, 2),
            ("a a:x =x", 0, 1),
            ("a a:x", 0, 1),
            ("a a:x a", 0, 1),
            ("=x =y", 100, 2),
            // Calls before the last user were interrupted: nothing will come.
            ("a:x u a u", 20, 2),
            ("u a:x", 0, 0),
            // A summary alone is not worth a summary.
            ("s u a", 20, 0),
            ("s u a u", 10, 3),
        ] {
            assert_eq!(first_kept(letters, budget), expected, "{letters} {budget}");
        }
    }

    #[test]
    fn tokens_add_up() {
        let messages = talk("u a u a");
        let all: u64 = messages.iter().map(|message| message.tokens).sum();
        let cut = cut(&messages, 0);
        assert_eq!(cut.removed_tokens + cut.kept_tokens, all);
        assert_eq!(cut.kept_tokens, messages[2].tokens + messages[3].tokens);
    }
}
