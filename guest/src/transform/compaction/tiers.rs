//! What a summary is made from when the whole conversation cannot be: tier by tier, ending with one that
//! needs no model. Pure.

use super::request::bounded_head;
use super::{Facts, Window};
use crate::format::message::Role;

/// How much of the conversation the summarising model sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tier {
    /// Everything; long tool results are cut.
    Full,
    /// A message over half the window is a note with its size.
    Partial,
    /// No model: [`plain_summary`].
    Plain,
}

impl Tier {
    /// What to try when this one failed; none after the last.
    pub fn next(self) -> Option<Self> {
        match self {
            Self::Full => Some(Self::Partial),
            Self::Partial => Some(Self::Plain),
            Self::Plain => None,
        }
    }
}

/// A summary without any model: what was removed in figures, under the summary before it. That one is
/// bounded, or summaries would pile up.
pub fn plain_summary(previous: Option<&str>, removed: &[Facts], window: Window) -> String {
    let removed = match removed {
        [first, rest @ ..] if first.is_summary => rest,
        _ => removed,
    };
    let of = |role: Role| removed.iter().filter(|facts| facts.role == role).count();
    let images: u64 = removed.iter().map(|facts| u64::from(facts.images)).sum();
    let other = match of(Role::Unknown) {
        0 => String::new(),
        count => format!(", {count} of another kind"),
    };
    let figures = format!(
        "No summary of this part of the conversation is available, because no model could write one. \
         Removed here: {} in all, {} from the user, {} from the assistant, {}{other}, with {}. \
         They are kept in the session's archive.",
        count(removed.len() as u64, "message"),
        of(Role::User),
        of(Role::Assistant),
        count(of(Role::ToolResult) as u64, "tool result"),
        count(images, "image"),
    );
    match previous {
        Some(previous) => format!("{}\n\n{figures}", bounded_head(previous, window).text),
        None => figures,
    }
}

fn count(number: u64, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}

#[cfg(test)]
mod tests {
    use super::super::tests::talk;
    use super::*;

    #[test]
    fn tiers_end_without_a_model() {
        let tiers: Vec<Tier> =
            std::iter::successors(Some(Tier::Full), |tier| tier.next()).collect();
        assert_eq!(tiers, [Tier::Full, Tier::Partial, Tier::Plain]);
    }

    #[test]
    fn a_plain_summary_counts_and_says_that_it_is_none() {
        let window = Window::new(2_000).unwrap();
        let mut removed = talk("s u a:x,y =x =y u o");
        removed[1].images = 2;
        let summary = plain_summary(Some("Before."), &removed, window);
        assert!(summary.starts_with("Before.\n\nNo summary"), "{summary}");
        let figures = "6 messages in all, 2 from the user, 1 from the assistant, 2 tool results, 1 of \
                       another kind, with 2 images.";
        assert!(summary.contains(figures), "{summary}");
        let one = plain_summary(None, &talk("u"), window);
        assert!(
            one.contains("1 message in all, 1 from the user, 0 from"),
            "{one}"
        );
        assert!(one.contains("0 images"), "{one}");
        let long = "x".repeat(100_000);
        let bounded = plain_summary(Some(&long), &removed, window);
        assert!(bounded.len() < 3_000);
        assert!(bounded.contains("left out"), "{bounded}");
    }
}
