//! A message of a conversation as a line for people. Knows the members that every provider has, and takes any
//! JSON.

use serde_json::Value;

use super::output::plain;

const TEXT_CHARACTERS_MAX: usize = 100;

/// `assistant   Green, at 80 degrees.`: who, and how it begins.
pub fn line(json: &str) -> String {
    let message: Value = serde_json::from_str(json).unwrap_or_default();
    let role = message["role"].as_str().unwrap_or("?");
    let said = match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks.iter().map(block).collect::<Vec<_>>().join(" "),
        _ => String::new(),
    };
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("{:<10}  {}", plain(role), plain(&shortened(&said)))
}

fn block(block: &Value) -> String {
    let text = |member: &str| block[member].as_str().unwrap_or_default();
    match text("type") {
        "text" => text("text").to_owned(),
        "toolCall" => format!("[call {}]", text("name")),
        other => format!("[{other}]"),
    }
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= TEXT_CHARACTERS_MAX {
        return text.to_owned();
    }
    let kept: String = text.chars().take(TEXT_CHARACTERS_MAX - 1).collect();
    format!("{kept}…")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_who_and_how_it_begins() {
        for (json, expected) in [
            (r#"{"role":"user","content":"a\n b"}"#, "user        a b"),
            (
                r#"{"role":"assistant","content":[{"type":"text","text":"x"},{"type":"toolCall","name":"ls"}]}"#,
                "assistant   x [call ls]",
            ),
            (
                r#"{"role":"toolResult","content":[{"type":"image","r2Key":"k"}]}"#,
                "toolResult  [image]",
            ),
            ("{}", "?           "),
            ("[", "?           "),
        ] {
            assert_eq!(line(json), expected);
        }
        let edge = |characters: usize| {
            line(&format!(
                r#"{{"role":"user","content":"{}"}}"#,
                "é".repeat(characters)
            ))
        };
        assert!(edge(100).ends_with("éé") && edge(101).ends_with("é…"));
        assert_eq!(edge(100).chars().count(), edge(101).chars().count());
    }
}
