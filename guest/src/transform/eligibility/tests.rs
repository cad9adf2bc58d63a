//! The rule of spec/gsv.md, sentence by sentence.

use super::*;

const NAMES: Names<'static> = Names {
    name: "Video Tool",
    directory: "video",
    key: "agents/hera/skills/video/SKILL.md",
    read_path: "skills/video/SKILL.md",
};

fn environment(json: &str) -> Environment {
    serde_json::from_str(json).unwrap()
}

fn header(always: bool, requires: &str) -> SkillHeader {
    let text = format!(
        "---\nalways: {always}\nmetadata: {{\"gsv\": {{\"requires\": {requires}}}}}\n---\n"
    );
    let file = crate::format::skill::parse(text.as_bytes(), false);
    assert_eq!(file.unreadable, None);
    file.header
}

/// `shown`, or the kinds of reasons.
fn kinds(always: bool, requires: &str, environment_json: &str) -> Vec<ReasonKind> {
    let environment = environment(environment_json);
    let conditions = Conditions::new(&environment).unwrap();
    let decision = decide(&header(always, requires), NAMES, &conditions);
    decision
        .reasons
        .into_iter()
        .map(|reason| reason.kind)
        .collect()
}

fn details(requires: &str, environment_json: &str) -> String {
    let environment = environment(environment_json);
    let conditions = Conditions::new(&environment).unwrap();
    let decision = decide(&header(false, requires), NAMES, &conditions);
    let details: Vec<_> = decision
        .reasons
        .into_iter()
        .map(|reason| reason.detail)
        .collect();
    details.join(" | ")
}

#[test]
fn decides_in_the_order_of_the_rule() {
    use ReasonKind::*;
    let linux = r#"{"hosts": [{"id": "a", "role": "execution", "os": "Linux", "bins": ["git"]}]}"#;
    let off = |by: &str| format!(r#"{{"settings": [{{"skill": "{by}", "enabled": false}}]}}"#);
    for (always, requires, environment, expected) in [
        // A setting that disables comes first, by every name.
        (true, "{}", off("Video Tool").as_str(), vec![Disabled]),
        (false, "{}", off("video").as_str(), vec![Disabled]),
        (
            false,
            "{}",
            off("agents/hera/skills/video/SKILL.md").as_str(),
            vec![Disabled],
        ),
        (
            false,
            "{}",
            off("skills/video/SKILL.md").as_str(),
            vec![Disabled],
        ),
        (
            false,
            r#"{"bins": 1}"#,
            off("video").as_str(),
            vec![Disabled],
        ),
        (false, "{}", off("vide").as_str(), vec![]),
        (
            false,
            "{}",
            r#"{"settings": [{"skill": "video", "enabled": true}]}"#,
            vec![],
        ),
        // The name's setting goes before the directory's.
        (
            false,
            "{}",
            r#"{"settings": [{"skill": "video", "enabled": false}, {"skill": "Video Tool"}]}"#,
            vec![],
        ),
        // Invalid hides unless always.
        (false, r#"{"bins": 1}"#, linux, vec![InvalidRequirements]),
        (
            false,
            r#"{"hostRoles": ["worker"]}"#,
            linux,
            vec![InvalidRequirements],
        ),
        (
            false,
            r#"{"capabilities": ["shell"]}"#,
            linux,
            vec![InvalidRequirements],
        ),
        (
            false,
            r#"{"bin": ["git"]}"#,
            linux,
            vec![InvalidRequirements],
        ),
        (true, r#"{"bins": 1}"#, "{}", vec![]),
        // Always shows.
        (true, r#"{"bins": ["none"], "config": ["x"]}"#, "{}", vec![]),
        (
            false,
            r#"{"bins": ["none"]}"#,
            r#"{"settings": [{"skill": "video", "always": true}]}"#,
            vec![],
        ),
        (
            true,
            r#"{"bins": ["none"]}"#,
            r#"{"settings": [{"skill": "video", "always": false}]}"#,
            vec![NoHost],
        ),
        // No requirements shows.
        (false, "{}", "{}", vec![]),
        (false, r#"{"bins": []}"#, "{}", vec![]),
        // A host is needed, but not for the configuration alone.
        (false, r#"{"os": ["linux"]}"#, "{}", vec![NoHost]),
        (
            false,
            r#"{"config": ["a"]}"#,
            r#"{"config-json": "{\"a\": 1}"}"#,
            vec![],
        ),
        (false, r#"{"config": ["a"]}"#, "{}", vec![Config]),
        (false, r#"{"bins": "git", "os": "LINUX"}"#, linux, vec![]),
        (false, r#"{"bins": ["git", "jq"]}"#, linux, vec![Unmet]),
        (
            false,
            r#"{"bins": ["jq"], "config": ["a"]}"#,
            linux,
            vec![Unmet, Config],
        ),
        // Field by field.
        (
            false,
            r#"{"bins": ["jq"], "os": ["linux"]}"#,
            r#"{"hosts": [{"id": "a", "role": "execution", "os": "linux"}], "settings": [{"skill": "video", "requires": {"bins": []}}]}"#,
            vec![],
        ),
        (
            false,
            r#"{"bins": ["git"]}"#,
            r#"{"hosts": [{"id": "a", "role": "execution", "bins": ["git"]}], "settings": [{"skill": "video", "requires": {"os": ["darwin"]}}]}"#,
            vec![Unmet],
        ),
        (
            false,
            r#"{"bins": 1}"#,
            r#"{"settings": [{"skill": "video", "requires": {"bins": []}}]}"#,
            vec![],
        ),
        (
            false,
            r#"{"bin": 1}"#,
            r#"{"settings": [{"skill": "video", "requires": {"bins": []}}]}"#,
            vec![InvalidRequirements],
        ),
        (
            false,
            "{}",
            r#"{"settings": [{"skill": "video", "requires": {"host-roles": ["boss"]}}]}"#,
            vec![InvalidRequirements],
        ),
    ] {
        assert_eq!(
            kinds(always, requires, environment),
            expected,
            "{always} {requires} {environment}"
        );
    }
}

#[test]
fn one_host_satisfies_all() {
    let hosts = r#"{"hosts": [
        {"id": "gw", "role": "execution", "os": "linux", "capabilities": ["shell.exec", "text.search"], "env": ["KEY"], "bins": ["rg"]},
        {"id": "mac", "role": "specialized", "os": "darwin", "capabilities": ["filesystem.read"], "bins": ["memo", "git"]}]}"#;
    for (requires, shown) in [
        (r#"{"hostRoles": ["specialized", "execution"]}"#, true),
        (r#"{"hostRoles": ["execution"], "bins": ["memo"]}"#, false),
        (r#"{"hostRoles": ["specialized"], "bins": ["memo"]}"#, true),
        (r#"{"capabilities": ["shell.exec", "text.search"]}"#, true),
        (
            r#"{"capabilities": ["shell.exec", "filesystem.read"]}"#,
            false,
        ),
        (
            r#"{"anyCapabilities": ["shell.exec", "filesystem.edit"]}"#,
            true,
        ),
        (r#"{"anyCapabilities": ["filesystem.edit"]}"#, false),
        (r#"{"os": ["win32", "Darwin"]}"#, true),
        (r#"{"os": ["win32"]}"#, false),
        (r#"{"env": ["KEY"]}"#, true),
        (r#"{"env": ["KEY", "OTHER"]}"#, false),
        (r#"{"bins": ["memo", "git"]}"#, true),
        (r#"{"bins": ["memo", "rg"]}"#, false),
        (r#"{"anyBins": ["grep", "rg"]}"#, true),
        (r#"{"anyBins": ["grep", "ag"]}"#, false),
    ] {
        assert_eq!(
            kinds(false, requires, hosts).is_empty(),
            shown,
            "{requires}"
        );
    }
    assert_eq!(
        details(
            r#"{"hostRoles": ["execution"], "os": ["darwin"], "bins": ["rg", "memo"], "anyBins": ["ag", "ack"]}"#,
            hosts
        ),
        "gw lacks os darwin (it has linux), bins memo, anyBins any of ag ack; \
         mac lacks hostRoles execution (it is specialized), bins rg, anyBins any of ag ack"
    );
    assert_eq!(
        details(r#"{"bins": ["rg", "jq"], "config": ["a.b"]}"#, "{}"),
        "no host was given; it needs bins rg jq | not set in the configuration: a.b; no configuration was given"
    );
}

#[test]
fn paths_of_the_configuration_are_truthy_as_in_javascript() {
    let config = r#"{"yes": true, "no": false, "null": null, "zero": 0, "minus": -0.0, "tiny": 1e-400, "huge": 1e400,
        "one": 1, "empty": "", "text": "false", "object": {}, "array": [], "channels": {"discord": {"token": "x"}},
        "list": [{"on": 1}], "twice": 0, "twice": 1, "big": 12345678901234567890}"#;
    let environment = Environment {
        config_json: Some(config.to_owned()),
        ..Environment::default()
    };
    let conditions = Conditions::new(&environment).unwrap();
    for (path, truthy) in [
        ("yes", true),
        ("no", false),
        ("null", false),
        ("zero", false),
        ("minus", false),
        ("tiny", false),
        ("huge", true),
        ("one", true),
        ("empty", false),
        ("text", true),
        ("object", true),
        ("array", true),
        ("channels.discord.token", true),
        ("channels.discord", true),
        ("channels.slack.token", false),
        ("yes.no", false),
        ("list.0.on", true),
        ("list.1.on", false),
        ("list.00", false),
        ("twice", true),
        ("big", true),
        ("", false),
        ("channels.", false),
    ] {
        let mut header = SkillHeader::default();
        header.requires.config = vec![path.to_owned()];
        let decision = decide(&header, NAMES, &conditions);
        assert_eq!(decision.reasons.is_empty(), truthy, "{path}");
    }
}

#[test]
fn refuses_an_environment_that_cannot_be_meant() {
    let refused = |environment: Environment| Conditions::new(&environment).err().unwrap().message;
    let config = |json: &str| Environment {
        config_json: Some(json.to_owned()),
        ..Environment::default()
    };
    assert_eq!(
        refused(config("{\n  \"a\": ,\n}")),
        "environment.config-json is not JSON: expected value at line 2 column 8"
    );
    refused(config(""));
    let twice = environment(r#"{"settings": [{"skill": "x"}, {"skill": "x", "enabled": false}]}"#);
    assert!(refused(twice).contains("two entries for `x`"));
    assert!(serde_json::from_str::<Environment>(r#"{"host": []}"#).is_err());
    assert!(serde_json::from_str::<Setting>(r#"{"skill": "x", "enable": false}"#).is_err());
}
