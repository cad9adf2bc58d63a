//! Markers are templates: what stands in the text where something was left out. Pure.

/// The figures that a marker may name, all in the policy's unit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Figures {
    pub limit: u64,
    pub total: u64,
    pub head: u64,
    pub tail: u64,
    /// What this marker stands for: units under `head-tail`, lines under `newest-lines`.
    pub dropped: u64,
}

/// Fill in `{file}`, `{limit}`, `{kept}`, `{head}`, `{tail}`, `{total}` and `{dropped}`. Other braces stay
/// as they are, and a file's name is never read as a template.
pub fn render(template: &str, file: &str, figures: Figures) -> String {
    let mut text = String::with_capacity(template.len() + file.len());
    let mut rest = template;
    while let Some((before, opened)) = rest.split_once('{') {
        text.push_str(before);
        match opened
            .split_once('}')
            .and_then(|(name, after)| Some((value(name, file, figures)?, after)))
        {
            Some((value, after)) => {
                text.push_str(&value);
                rest = after;
            }
            None => {
                text.push('{');
                rest = opened;
            }
        }
    }
    text.push_str(rest);
    text
}

fn value(name: &str, file: &str, figures: Figures) -> Option<String> {
    Some(match name {
        "file" => file.to_owned(),
        "limit" => figures.limit.to_string(),
        "kept" => (figures.head + figures.tail).to_string(),
        "head" => figures.head.to_string(),
        "tail" => figures.tail.to_string(),
        "total" => figures.total.to_string(),
        "dropped" => figures.dropped.to_string(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_filled_in_once() {
        let figures = Figures {
            limit: 9,
            total: 20,
            head: 6,
            tail: 2,
            dropped: 12,
        };
        assert_eq!(
            render(
                "{file}: {kept}={head}+{tail} of {total} over {limit}, {dropped} {gone} {",
                "{limit}.md",
                figures
            ),
            "{limit}.md: 8=6+2 of 20 over 9, 12 {gone} {"
        );
    }
}
