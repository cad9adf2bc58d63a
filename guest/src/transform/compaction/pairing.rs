//! Which tool result is of which call, and whether a list of messages is one that a model's provider
//! takes. Pure.

use std::collections::BTreeMap;

use super::{Call, Facts};
use crate::format::message::Role;

/// A call without a result: the message that asks, and which of its calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CallAt {
    pub message: usize,
    pub call: usize,
}

/// What belongs together in a list of messages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pairing {
    /// For each message that is the result of a call in the list, the message that asks.
    pub asked_by: Vec<Option<usize>>,
    /// Results whose call is not before them, or has a result already.
    pub orphans: Vec<usize>,
    /// Calls that no result in the list is of.
    pub unanswered: Vec<CallAt>,
}

/// Pair results with calls. An id is that of the newest call that has it: some providers begin their ids
/// anew with every answer, so an older call of that id gets no result any more.
pub fn pair(messages: &[Facts]) -> Pairing {
    let mut pairing = Pairing {
        asked_by: vec![None; messages.len()],
        ..Pairing::default()
    };
    let mut open: BTreeMap<&str, Vec<CallAt>> = BTreeMap::new();
    for (index, message) in messages.iter().enumerate() {
        for (call, Call { id, .. }) in message.calls.iter().enumerate() {
            let at = CallAt {
                message: index,
                call,
            };
            let same_id = open.entry(id).or_default();
            if same_id.iter().any(|older| older.message != index) {
                pairing.unanswered.append(same_id);
            }
            same_id.push(at);
        }
        if message.role != Role::ToolResult {
            continue;
        }
        let id = message.answers.as_ref().map(|call| call.id.as_str());
        let asking = id.and_then(|id| open.get_mut(id)).and_then(Vec::pop);
        // Only what waits stays in memory.
        if let Some(id) = id.filter(|id| open.get(id).is_some_and(Vec::is_empty)) {
            open.remove(id);
        }
        match asking {
            Some(at) => {
                if let Some(asked_by) = pairing.asked_by.get_mut(index) {
                    *asked_by = Some(at.message);
                }
            }
            None => pairing.orphans.push(index),
        }
    }
    pairing.unanswered.extend(open.into_values().flatten());
    pairing.unanswered.sort_unstable();
    pairing
}

/// Why a provider would refuse a list of messages, at the first message where it would.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Breach {
    /// Another message follows, or nothing, and this call has no result yet.
    CallWithoutResult(CallAt),
    /// A result that is of no call of the assistant's message right before the results.
    ResultWithoutCall(usize),
}

/// What every provider takes: right after a message with calls come their results, one each, in any
/// order, and no result stands anywhere else.
pub fn check(messages: &[Facts]) -> Result<(), Breach> {
    let mut waiting: Vec<(&str, CallAt)> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        if message.role == Role::ToolResult {
            let id = message.answers.as_ref().map(|call| call.id.as_str());
            let at = waiting.iter().position(|(waits, _)| Some(*waits) == id);
            waiting.swap_remove(at.ok_or(Breach::ResultWithoutCall(index))?);
            continue;
        }
        if let Some((_, at)) = waiting.first() {
            return Err(Breach::CallWithoutResult(*at));
        }
        let calls = message
            .calls
            .iter()
            .enumerate()
            .map(|(call, Call { id, .. })| {
                let at = CallAt {
                    message: index,
                    call,
                };
                (id.as_str(), at)
            });
        waiting.extend(calls);
    }
    match waiting.first() {
        Some((_, at)) => Err(Breach::CallWithoutResult(*at)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::talk;
    use super::*;

    type Pairs = Vec<(usize, usize)>;

    /// `asked_by` of results, orphans, unanswered calls; letters as in [`talk`].
    fn paired(letters: &str) -> (Pairs, Vec<usize>, Pairs) {
        let pairing = pair(&talk(letters));
        let asked = pairing.asked_by.iter().enumerate();
        (
            asked.filter_map(|(at, by)| Some((at, (*by)?))).collect(),
            pairing.orphans,
            pairing
                .unanswered
                .iter()
                .map(|at| (at.message, at.call))
                .collect(),
        )
    }

    #[test]
    fn results_belong_to_the_newest_call_of_their_id() {
        assert_eq!(paired("u a:x =x"), (vec![(2, 1)], vec![], vec![]));
        assert_eq!(
            paired("a:x,y =y =x u a:x =x"),
            (vec![(1, 0), (2, 0), (5, 4)], vec![], vec![])
        );
        assert_eq!(paired("=x a:x"), (vec![], vec![0], vec![(1, 0)]));
        assert_eq!(paired("a:x =x =x"), (vec![(1, 0)], vec![2], vec![]));
        assert_eq!(
            paired("a:x,x =x =x"),
            (vec![(1, 0), (2, 0)], vec![], vec![])
        );
        assert_eq!(
            paired("a:x,y u a:x =x =x"),
            (vec![(3, 2)], vec![4], vec![(0, 0), (0, 1)])
        );
        assert_eq!(paired("a:x ="), (vec![], vec![1], vec![(0, 0)]));
        assert_eq!(paired("a:x u =x"), (vec![(2, 0)], vec![], vec![]));
    }

    #[test]
    fn providers_refuse_what_is_not_paired_at_once() {
        let at = |message, call| CallAt { message, call };
        for (letters, expected) in [
            ("", Ok(())),
            ("u a u a:x,y =y =x a", Ok(())),
            ("a:x,x =x =x", Ok(())),
            ("u a:x", Err(Breach::CallWithoutResult(at(1, 0)))),
            ("a:x,y =x u", Err(Breach::CallWithoutResult(at(0, 1)))),
            ("a:x u =x", Err(Breach::CallWithoutResult(at(0, 0)))),
            ("=x", Err(Breach::ResultWithoutCall(0))),
            ("a:x =x =x", Err(Breach::ResultWithoutCall(2))),
            ("a:x =y", Err(Breach::ResultWithoutCall(1))),
        ] {
            assert_eq!(check(&talk(letters)), expected, "{letters}");
        }
    }
}
