//! Conversations in letters for the tables, and what holds for every conversation.

use proptest::prelude::*;

use super::chunk::{Position, next_chunk};
use super::context::{Item, Repair, context};
use super::cut::cut;
use super::pairing::{check, pair};
use super::*;
use crate::format::jsonl::render;
use crate::format::message::{Message, Role, read};

/// A conversation, a word a message: `u` a user, `a` an assistant, `a:x,y` one that calls x and y, `=x` the
/// result of x, `=` one of nothing, `s` a summary, `o` something else.
pub fn lines_of(letters: &str) -> Vec<String> {
    let words = letters.split(' ').filter(|word| !word.is_empty());
    words
        .enumerate()
        .map(|(ms, word)| match word.split_at(1) {
            ("u", "") => format!(r#"{{"role":"user","content":"Hello","timestamp":{ms}}}"#),
            ("s", "") => summary::message_line("Before.", ms as u64),
            ("o", "") => format!(r#"{{"role":"other","timestamp":{ms}}}"#),
            ("=", "") => format!(r#"{{"role":"toolResult","timestamp":{ms}}}"#),
            ("=", id) => format!(
                r#"{{"role":"toolResult","toolCallId":"{id}","toolName":"Bash","content":"out","timestamp":{ms}}}"#
            ),
            ("a", calls) => {
                let calls: Vec<String> = calls
                    .trim_start_matches(':')
                    .split(',')
                    .filter(|id| !id.is_empty())
                    .map(|id| format!(r#"{{"type":"toolCall","id":"{id}","name":"Bash"}}"#))
                    .collect();
                let calls = calls.join(",");
                format!(r#"{{"role":"assistant","content":[{calls}],"timestamp":{ms}}}"#)
            }
            other => panic!("{other:?}"),
        })
        .collect()
}

pub fn facts_of(lines: &[String]) -> Vec<Facts> {
    let text = render(lines.iter().map(String::as_str));
    let log = read(&text);
    assert_eq!(log.faults, []);
    let entries = log.entries.iter();
    entries.map(|entry| Facts::of(&entry.message)).collect()
}

pub fn talk(letters: &str) -> Vec<Facts> {
    facts_of(&lines_of(letters))
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => "[a-z é日😀\n\"]{0,30}",
        1 => (1usize..9_000).prop_map(|length| "word 日".chars().cycle().take(length).collect()),
    ]
}

fn content(text: String, images: usize) -> String {
    let text = serde_json::Value::from(text);
    let image = format!(
        r#",{{"type":"image","mimeType":"image/png","data":"{}"}}"#,
        "A".repeat(400)
    );
    format!(
        r#"[{{"type":"text","text":{text}}}{}]"#,
        image.repeat(images)
    )
}

fn user() -> impl Strategy<Value = Vec<String>> {
    (text(), 0usize..3).prop_map(|(text, images)| {
        let content = content(text, images);
        vec![format!(r#"{{"role":"user","content":{content}}}"#)]
    })
}

/// An answer with calls, and its results in some order.
fn turn() -> impl Strategy<Value = Vec<String>> {
    let results = proptest::collection::vec((text(), 0usize..2), 0..4);
    (text(), results, any::<u64>()).prop_map(|(said, results, order)| {
        let calls: String = (0..results.len())
            .map(|id| format!(r#",{{"type":"toolCall","id":"c{id}","name":"Bash","arguments":{{}}}}"#))
            .collect();
        let said = serde_json::Value::from(said);
        let mut lines: Vec<String> = results
            .into_iter()
            .enumerate()
            .map(|(id, (text, images))| {
                let content = content(text, images);
                format!(r#"{{"role":"toolResult","toolCallId":"c{id}","toolName":"Bash","content":{content}}}"#)
            })
            .collect();
        if !lines.is_empty() {
            let by = order as usize % lines.len();
            lines.rotate_left(by);
        }
        let answer = format!(
            r#"{{"role":"assistant","content":[{{"type":"text","text":{said}}}{calls}]}}"#
        );
        lines.insert(0, answer);
        lines
    })
}

/// As a working agent writes it.
fn in_order() -> impl Strategy<Value = Vec<String>> {
    let parts = proptest::collection::vec(prop_oneof![user().boxed(), turn().boxed()], 0..12);
    parts.prop_map(|parts| parts.concat())
}

/// As stopped agents, late results and old bugs leave it: lines go, and change places.
fn broken() -> impl Strategy<Value = Vec<String>> {
    let damage = proptest::collection::vec((any::<prop::sample::Index>(), 0u8..3), 0..6);
    (in_order(), damage).prop_map(|(mut lines, damage)| {
        for (at, kind) in damage {
            if lines.len() < 2 {
                break;
            }
            let at = at.index(lines.len() - 1);
            match kind {
                0 => drop(lines.remove(at)),
                1 => lines.swap(at, at + 1),
                _ => lines.insert(at, lines[at].clone()),
            }
        }
        lines
    })
}

/// The lines that a model is given, and how many of them are not in the log.
fn given(lines: &[String]) -> (Vec<String>, Vec<Repair>) {
    let context = context(&facts_of(lines));
    let items = context.items.into_iter().map(|item| match item {
        Item::Message(index) => lines[index].clone(),
        Item::Line(line) => line,
    });
    (items.collect(), context.repairs)
}

fn all_chunks(lines: &[String], tier: Tier, window: Window) -> Vec<chunk::Chunk> {
    let mut chunks = Vec::new();
    let mut from = Some(Position::default());
    while let Some(position) = from {
        let rest = lines[position.message..].iter();
        let messages = rest.map(|line| Message::parse(line).unwrap());
        let chunk = next_chunk(messages, position, tier, window);
        assert!(chunk.next != Some(position), "no progress at {position:?}");
        from = chunk.next;
        chunks.push(chunk);
    }
    chunks
}

proptest! {
    #[test]
    fn a_cut_keeps_a_suffix_that_stands_alone(lines in broken(), budget in 0u64..4_000) {
        let facts = facts_of(&lines);
        let cut = cut(&facts, budget);
        let (removed, kept) = facts.split_at(cut.first_kept);
        let sum = |facts: &[Facts]| facts.iter().map(|facts| facts.tokens).sum::<u64>();
        prop_assert_eq!((cut.removed_tokens, cut.kept_tokens), (sum(removed), sum(kept)));
        if cut.first_kept == 0 {
            return Ok(());
        }
        // What was paired stays on one side, and no side breaks what was whole.
        let (whole, left, right) = (pair(&facts), pair(removed), pair(kept));
        prop_assert_eq!(left.orphans.len() + right.orphans.len(), whole.orphans.len());
        prop_assert_eq!(left.unanswered.len() + right.unanswered.len(), whole.unanswered.len());
        prop_assert!(kept.first().is_none_or(|first| first.role != Role::ToolResult));
        // At least the last turn of the user; and only that, or less than the budget, or a group that
        // could not be cut.
        let last_user = facts.iter().rposition(|facts| facts.role == Role::User);
        prop_assert!(last_user.is_none_or(|user| cut.first_kept <= user));
        prop_assert!(cut.first_kept < facts.len() || facts.iter().all(|facts| facts.role == Role::ToolResult));
        // Nothing longer would have fitted and stood alone.
        for longer in 0..cut.first_kept {
            let tail = &facts[longer..];
            let stands = tail[0].role != Role::ToolResult && pair(tail).orphans.iter().all(|at| whole.orphans.contains(&(at + longer)));
            prop_assert!(sum(tail) > budget || !stands, "{} would do", longer);
        }
    }

    #[test]
    fn what_a_model_is_given_is_valid(lines in broken(), budget in 0u64..4_000) {
        let cut = cut(&facts_of(&lines), budget);
        let kept = &lines[cut.first_kept..];
        let with_summary: Vec<String> = std::iter::once(summary::message_line("s", 1)).chain(kept.iter().cloned()).collect();
        for lines in [kept, &with_summary, &lines] {
            let (given, repairs) = given(lines);
            prop_assert_eq!(check(&facts_of(&given)), Ok(()));
            // Nothing is given twice, left out or changed without being said.
            let mut added = given.clone();
            let mut missing = Vec::new();
            for line in lines {
                match added.iter().position(|given| given == line) {
                    Some(at) => drop(added.remove(at)),
                    None => missing.push(line),
                }
            }
            let said = |test: fn(&Repair) -> bool| repairs.iter().filter(|repair| test(repair)).count();
            prop_assert_eq!(missing.len(), said(|repair| matches!(repair, Repair::LeftOut(_))));
            prop_assert_eq!(added.len(), missing.len() + said(|repair| matches!(repair, Repair::NoResult(_))));
            prop_assert_eq!(repairs.is_empty(), given == lines);
        }
    }

    #[test]
    fn a_log_in_order_needs_no_repair_however_often_it_is_cut(lines in in_order(), budgets in proptest::collection::vec(0u64..2_000, 1..5)) {
        let mut live = lines.clone();
        let mut archived: Vec<String> = Vec::new();
        for (round, budget) in budgets.into_iter().enumerate() {
            let cut = cut(&facts_of(&live), budget);
            if cut.first_kept == 0 {
                continue;
            }
            let kept = live.split_off(cut.first_kept);
            archived.extend(live.drain(..).filter(|line| summary::text_of(&Message::parse(line).unwrap()).is_none()));
            live = std::iter::once(summary::message_line("s", round as u64)).chain(kept).collect();
            prop_assert_eq!(check(&facts_of(&live)), Ok(()));
            prop_assert_eq!(given(&live), (live.clone(), vec![]));
        }
        let in_the_end = live.iter().filter(|line| summary::text_of(&Message::parse(line).unwrap()).is_none());
        let whole: Vec<String> = archived.into_iter().chain(in_the_end.cloned()).collect();
        prop_assert_eq!(whole, lines);
    }

    #[test]
    fn chunks_stay_in_bounds_and_hold_everything(lines in broken(), tokens in 2_000u64..6_000, full: bool) {
        let window = Window::new(tokens).unwrap();
        let tier = if full { Tier::Full } else { Tier::Partial };
        let chunks = all_chunks(&lines, tier, window);
        let mut told = Vec::new();
        for chunk in &chunks {
            prop_assert!(estimate::text_tokens(&chunk.text) <= window.chunk_tokens());
            told.extend(chunk.left_out.iter().copied());
        }
        let all: String = chunks.iter().map(|chunk| chunk.text.as_str()).collect();
        let shown: Vec<render::Rendered> = lines.iter().map(|line| render::render(&Message::parse(line).unwrap(), tier, window)).collect();
        let left_out: Vec<_> = shown.iter().enumerate().filter_map(|(at, shown)| Some((at, shown.left_out?))).collect();
        prop_assert_eq!(&told, &left_out);
        prop_assert_eq!(all.matches("left out here").count(), left_out.len());
        // Apart from markers and where lines are broken, the chunks are the messages.
        let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
        let unmarked = all.replace("[this message goes on in the next part]\n", "")
            .replace("[the rest of a message that began in the part before]\n", "");
        let expected: String = shown.iter().map(|shown| letters(&shown.text)).collect();
        prop_assert_eq!(letters(&unmarked), expected);
    }
}

/// Quadratic work over so many messages would take minutes.
#[test]
fn a_hundred_thousand_messages_are_one_walk() {
    let turns: Vec<String> = lines_of("u a:x,y =y =x a");
    let lines: Vec<String> = turns.iter().cycle().take(100_000).cloned().collect();
    let facts = facts_of(&lines);
    let cut = cut(&facts, 20_000);
    assert!((99_000..99_990).contains(&cut.first_kept), "{cut:?}");
    assert_eq!(check(&facts[cut.first_kept..]), Ok(()));
    assert_eq!(context(&facts).repairs, []);
    // Results that never come leave very many calls open.
    let open = lines_of("u a:x a:y a:z");
    let lines: Vec<String> = open.iter().cycle().take(100_000).cloned().collect();
    assert_eq!(context(&facts_of(&lines)).repairs.len(), 75_000);
}
