//! As much XML as S3's answers need: the text of an element by its name. Pure; knows no S3.

/// The inner text of every element `name`, as it stands, in order. Elements of one name do not nest in
/// S3's answers.
pub fn elements<'a>(text: &'a str, name: &str) -> Vec<&'a str> {
    let mut found = Vec::new();
    let mut rest = text;
    let (open, close) = (format!("<{name}"), format!("</{name}>"));
    while let Some(at) = rest.find(&open) {
        rest = &rest[at + open.len()..];
        let Some(end) = rest.find('>') else {
            break;
        };
        // The beginning of a longer name is another element.
        if !rest.starts_with(['>', ' ', '/', '\t', '\r', '\n']) {
            continue;
        }
        if rest[..end].ends_with('/') {
            found.push("");
            continue;
        }
        let inner = &rest[end + 1..];
        let Some(length) = inner.find(&close) else {
            break;
        };
        found.push(&inner[..length]);
        rest = &inner[length..];
    }
    found
}

/// The text of the first element `name`, with its entities resolved.
pub fn text(xml: &str, name: &str) -> Option<String> {
    elements(xml, name).first().map(|inner| unescape(inner))
}

/// The code of an error answer, also inside of other text; none where it is not a plain word.
pub fn code(message: &str) -> Option<String> {
    let code = text(message, "Code")?;
    let is_word = !code.is_empty()
        && code.len() <= 64
        && code.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_word.then_some(code)
}

fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('&') {
        out.push_str(before);
        rest = behind;
        let resolved = behind
            .split_once(';')
            .and_then(|(name, after)| entity(name).map(|character| (character, after)));
        match resolved {
            Some((character, after)) => {
                out.push(character);
                rest = after;
            }
            None => out.push('&'),
        }
    }
    out.push_str(rest);
    out
}

fn entity(name: &str) -> Option<char> {
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_by_name() {
        let xml = "<R xmlns=\"x\"><KeyCount>2</KeyCount><C><Key>a&amp;b</Key></C><C><Key/></C>\
                   <C><Key x=\"1\">&#233;&#x1F600;&lt;&quot;&nope;&</Key></C><Key>cut";
        assert_eq!(elements(xml, "C").len(), 3);
        assert_eq!(elements(xml, "Key").len(), 3);
        assert_eq!(text(xml, "Key").as_deref(), Some("a&b"));
        let last = elements(xml, "C")
            .pop()
            .and_then(|inner| text(inner, "Key"));
        assert_eq!(last.as_deref(), Some("é😀<\"&nope;&"));
        assert_eq!(text(xml, "KeyCount").as_deref(), Some("2"));
        assert_eq!(text(xml, "Missing"), None);
        assert!(elements("<Key", "Key").is_empty());
    }

    #[test]
    fn codes_are_words() {
        assert_eq!(
            code("x <Error><Code>SlowDown</Code>").as_deref(),
            Some("SlowDown")
        );
        assert_eq!(code("<Code>AKIA and more</Code>"), None);
        assert_eq!(code("nothing"), None);
    }
}
