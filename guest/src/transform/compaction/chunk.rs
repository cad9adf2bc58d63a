//! A conversation in chunks for the summarising model, none larger than a quarter of its window. A chunk
//! begins where the last one ended, so that between two of them only a position is remembered. Pure.

use super::estimate::{text_tokens, text_within};
use super::render::{LeftOut, render};
use super::{Tier, Window};
use crate::format::message::Message;

const GOES_ON: &str = "[this message goes on in the next part]\n";
const CONTINUED: &str = "[the rest of a message that began in the part before]\n";

/// Where a chunk begins: a message, and a place in its rendered text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Position {
    pub message: usize,
    pub offset_bytes: usize,
}

/// Part of a conversation as text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Chunk {
    pub text: String,
    /// Estimated; at most [`Window::chunk_tokens`].
    pub tokens: u64,
    /// Where the next one begins; none after the last.
    pub next: Option<Position>,
    /// What the model does not see, by message.
    pub left_out: Vec<(usize, LeftOut)>,
}

/// The chunk that begins at `from`. `messages` are those from `from.message` on, in order; no more of them
/// are taken than the chunk holds, and one.
pub fn next_chunk<'a>(
    messages: impl IntoIterator<Item = Message<'a>>,
    from: Position,
    tier: Tier,
    window: Window,
) -> Chunk {
    let mut chunk = Chunk::default();
    let mut at = from;
    for message in messages {
        let rendered = render(&message, tier, window);
        let rest = rendered.text.get(at.offset_bytes..).unwrap_or_default();
        let lead = if at.offset_bytes > 0 { CONTINUED } else { "" };
        let tokens = text_tokens(lead).saturating_add(text_tokens(rest));
        let room = window.chunk_tokens().saturating_sub(chunk.tokens);
        if tokens > room && !chunk.text.is_empty() {
            chunk.next = Some(at);
            return chunk;
        }
        if at.offset_bytes == 0
            && let Some(left_out) = rendered.left_out
        {
            chunk.left_out.push((at.message, left_out));
        }
        chunk.text.push_str(lead);
        if tokens > room {
            let length = split(rest, room, lead);
            chunk.text.push_str(rest.get(..length).unwrap_or_default());
            chunk.text.push('\n');
            chunk.text.push_str(GOES_ON);
            chunk.tokens = text_tokens(&chunk.text);
            at.offset_bytes += length;
            chunk.next = Some(at);
            return chunk;
        }
        chunk.text.push_str(rest);
        chunk.tokens = chunk.tokens.saturating_add(tokens);
        at = Position {
            message: at.message + 1,
            offset_bytes: 0,
        };
    }
    chunk
}

/// How much of `text` goes into `room` with what is put around it; at a line's end in the last tenth
/// where there is one, and at least one character.
fn split(text: &str, room: u64, lead: &str) -> usize {
    let around = text_tokens(lead) + text_tokens(GOES_ON) + text_tokens("\n");
    let length = text_within(text, room.saturating_sub(around));
    let fits = text.get(..length).unwrap_or_default();
    let line_end = fits.rfind('\n').map_or(0, |end| end + 1);
    let first = text.chars().next().map_or(0, char::len_utf8);
    let length = if line_end > length - length / 10 {
        line_end
    } else {
        length
    };
    length.max(first)
}

#[cfg(test)]
mod tests {
    use super::super::tests::lines_of;
    use super::*;

    fn chunks(lines: &[String], tier: Tier) -> Vec<Chunk> {
        let window = Window::new(2_000).unwrap();
        let mut chunks = Vec::new();
        let mut from = Some(Position::default());
        while let Some(position) = from {
            let rest = lines[position.message..].iter();
            let chunk = next_chunk(
                rest.map(|line| Message::parse(line).unwrap()),
                position,
                tier,
                window,
            );
            assert!(text_tokens(&chunk.text) <= chunk.tokens);
            assert!(chunk.tokens <= 500, "{}", chunk.tokens);
            from = chunk.next;
            chunks.push(chunk);
        }
        chunks
    }

    fn user(length: usize) -> String {
        format!(r#"{{"role":"user","content":"{}"}}"#, "q".repeat(length))
    }

    #[test]
    fn what_fits_is_one_chunk() {
        let all = chunks(&lines_of("u a u"), Tier::Full);
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].text.matches("User:\n").count(), 2);
        assert_eq!(chunks(&[], Tier::Full), [Chunk::default()]);
    }

    #[test]
    fn a_message_is_split_only_when_it_fills_a_chunk_alone() {
        // "User:\n  " and a newline are 9 units: 1,666 units are 500 tokens.
        let counts = |lengths: &[usize]| -> Vec<usize> {
            let lines: Vec<String> = lengths.iter().map(|length| user(*length)).collect();
            let all = chunks(&lines, Tier::Full);
            all.iter()
                .map(|chunk| chunk.text.matches('q').count())
                .collect()
        };
        assert_eq!(counts(&[1_657]), [1_657]);
        assert_eq!(counts(&[800, 800, 800]), [1_600, 800]);
        assert_eq!(counts(&[100, 1_657]), [100, 1_657]);
        // Twice 250 tokens fill a chunk, 250 and 251 do not fit.
        assert_eq!(counts(&[824, 824]), [1_648]);
        assert_eq!(counts(&[824, 825]), [824, 825]);
        let split = counts(&[1_658]);
        assert_eq!((split.len(), split.iter().sum::<usize>()), (2, 1_658));
    }

    #[test]
    fn a_split_is_marked_on_both_sides_and_nothing_is_lost() {
        let text: String = (0..900).map(|number| format!("line {number}\\n")).collect();
        let line = format!(r#"{{"role":"user","content":"{text}"}}"#);
        let all = chunks(&[line], Tier::Full);
        assert!(all.len() > 5);
        let mut whole = String::new();
        for (index, chunk) in all.iter().enumerate() {
            assert_eq!(chunk.text.starts_with(CONTINUED), index > 0);
            assert_eq!(chunk.text.ends_with(GOES_ON), index + 1 < all.len());
            let body = chunk.text.strip_prefix(CONTINUED).unwrap_or(&chunk.text);
            let marker = format!("\n{GOES_ON}");
            whole.push_str(body.strip_suffix(marker.as_str()).unwrap_or(body));
        }
        for number in 0..900 {
            assert!(whole.contains(&format!("  line {number}\n")), "{number}");
        }
    }

    #[test]
    fn what_is_left_out_is_told_once() {
        let long = user(9_000);
        let result = format!(
            r#"{{"role":"toolResult","content":"{}"}}"#,
            "y".repeat(2_500)
        );
        let told = |tier| -> Vec<(usize, LeftOut)> {
            let lines = [long.clone(), result.clone()];
            let all = chunks(&lines, tier);
            all.into_iter().flat_map(|chunk| chunk.left_out).collect()
        };
        let cut = LeftOut::ResultCut {
            total: 2_500,
            kept: 2_000,
        };
        assert_eq!(told(Tier::Full), [(1, cut)]);
        let message = LeftOut::Message { tokens: 2_709 };
        assert_eq!(told(Tier::Partial), [(0, message), (1, cut)]);
    }
}
