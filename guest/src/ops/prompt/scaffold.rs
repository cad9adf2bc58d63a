//! What the caller puts into every prompt, whatever the system: base prompt, sections, tools, runtime values.

use super::{AssembleRequest, Runtime};
use crate::format::text::trim;
use crate::transform::assemble::Part;
use crate::transform::manifest::Stability;
use crate::transform::tooling;

/// Base prompt, sections of the caller's own, tools. Without a base prompt and a `default`, the text begins with
/// what follows.
pub fn parts(request: &AssembleRequest, default: Option<&str>) -> Vec<Part> {
    let given = [&request.session_prompt, &request.config_prompt];
    let base = given
        .into_iter()
        .flatten()
        .find(|text| !trim(text).is_empty());
    let base = base.map(String::as_str).or(default);
    let base = base.map(|base| Part::own("Base prompt", None, base.to_owned(), Stability::Stable));
    let mut parts: Vec<Part> = base.into_iter().collect();
    parts.extend(request.sections.iter().map(|extra| {
        let title = extra
            .title
            .as_deref()
            .map(trim)
            .filter(|title| !title.is_empty());
        Part::own(
            title.unwrap_or("Section"),
            title.map(|title| format!("## {title}")),
            extra.text.clone(),
            Stability::Stable,
        )
    }));
    let tools = request
        .tools
        .iter()
        .map(|tool| (tool.name.as_str(), tool.description.as_str()));
    parts.push(Part::own(
        "Tooling",
        Some("## Tooling".into()),
        tooling::listing(tools),
        Stability::Stable,
    ));
    parts
}

/// `Name: value` a line, those in `lines` first; on one line each whatever the value holds, and none without one.
pub fn runtime(mut lines: Vec<(&str, String)>, runtime: &Runtime) -> String {
    let given = [
        ("Model", &runtime.model),
        ("Time zone", &runtime.time_zone),
        ("Channel", &runtime.channel),
    ];
    lines.extend(
        given
            .into_iter()
            .filter_map(|(name, value)| Some((name, value.clone()?))),
    );
    lines.push(("Hosts", runtime.hosts.join(", ")));
    let lines: Vec<String> = lines
        .into_iter()
        .map(|(name, value)| (name, value.split_whitespace().collect::<Vec<_>>().join(" ")))
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| format!("{name}: {value}"))
        .collect();
    lines.join("\n")
}
