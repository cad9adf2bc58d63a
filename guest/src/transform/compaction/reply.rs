//! What the summarising model answered. Pure.

/// A summary that may stand for what is removed, and memories for the day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// Never blank.
    pub summary: String,
    /// Never blank.
    pub memories: Option<String>,
    /// A tag was opened and never closed: the model was probably cut off.
    pub is_torn: bool,
}

/// The reply says nothing: it must not become a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EmptyReply;

impl std::fmt::Display for EmptyReply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(
            "the model's reply holds no summary; ask again, or go on with the next tier, which needs less \
             of the model",
        )
    }
}

impl std::error::Error for EmptyReply {}

/// Read `<summary>` and `<memories>`. Without the first the whole reply is the summary, without the second
/// there are no memories (spec: gsv, Compaction).
pub fn parse(reply: &str) -> Result<Reply, EmptyReply> {
    let memories = Tagged::find(reply, "memories");
    let tagged = Tagged::find(reply, "summary");
    let summary = tagged.map_or(reply, |tagged| tagged.text).trim();
    if summary.is_empty() {
        return Err(EmptyReply);
    }
    let text = memories.map(|memories| memories.text.trim());
    Ok(Reply {
        summary: summary.to_owned(),
        memories: text.filter(|text| says_something(text)).map(str::to_owned),
        is_torn: [tagged, memories]
            .into_iter()
            .flatten()
            .any(|tagged| !tagged.is_closed),
    })
}

#[derive(Clone, Copy)]
struct Tagged<'a> {
    text: &'a str,
    is_closed: bool,
}

impl<'a> Tagged<'a> {
    /// What the first `<tag>` holds. One that is never closed ends with the next one that is opened.
    fn find(reply: &'a str, tag: &str) -> Option<Self> {
        let (_, inside) = reply.split_once(&format!("<{tag}>"))?;
        if let Some((text, _)) = inside.split_once(&format!("</{tag}>")) {
            return Some(Self {
                text,
                is_closed: true,
            });
        }
        let end = ["<summary>", "<memories>"]
            .iter()
            .filter_map(|next| inside.find(next))
            .min();
        Some(Self {
            text: inside.get(..end.unwrap_or(inside.len()))?,
            is_closed: false,
        })
    }
}

/// Models like to say that there is nothing instead of saying nothing.
fn says_something(memories: &str) -> bool {
    let word = memories.trim_matches(|character: char| !character.is_alphanumeric());
    !word.is_empty() && !["none", "nothing", "n/a"].contains(&word.to_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(text: &str) -> (String, Option<String>, bool) {
        let reply = parse(text).unwrap_or_else(|_| panic!("{text}"));
        (reply.summary, reply.memories, reply.is_torn)
    }

    #[test]
    fn tags_are_found_and_their_absence_forgiven() {
        for (text, summary, memories, torn) in [
            (
                "<summary>\n s \n</summary>\n<memories>\n- m\n</memories>",
                "s",
                Some("- m"),
                false,
            ),
            (
                "<memories>- m</memories><summary>s</summary>",
                "s",
                Some("- m"),
                false,
            ),
            ("Sure!\n<summary>s</summary> Done.", "s", None, false),
            (" all of it \n", "all of it", None, false),
            (
                "<summary>s</summary><memories> \n</memories>",
                "s",
                None,
                false,
            ),
            (
                "<summary>s</summary><memories>None.</memories>",
                "s",
                None,
                false,
            ),
            (
                "<summary>s</summary><memories>- (none)</memories>",
                "s",
                None,
                false,
            ),
            ("<summary>None</summary>", "None", None, false),
            ("<summary>cut o", "cut o", None, true),
            ("<summary>s<memories>- m</memories>", "s", Some("- m"), true),
            ("<summary>s</summary><memories>- m", "s", Some("- m"), true),
            (
                "s\n<memories>- m</memories>",
                "s\n<memories>- m</memories>",
                Some("- m"),
                false,
            ),
            ("<Summary>s", "<Summary>s", None, false),
        ] {
            let expected = (summary.to_owned(), memories.map(str::to_owned), torn);
            assert_eq!(reply(text), expected, "{text}");
        }
    }

    #[test]
    fn an_empty_reply_is_no_summary() {
        for text in [
            "",
            " \n\u{a0}",
            "<summary></summary>",
            "<summary> \n</summary><memories>- m</memories>",
            "<summary>",
        ] {
            assert_eq!(parse(text), Err(EmptyReply), "{text}");
        }
    }
}
