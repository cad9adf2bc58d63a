//! What hosts and the configuration lack of a skill's requirements, for people. Knows no skill.

use serde_json::value::RawValue;

use super::{Host, Reason, ReasonKind};
use crate::format::json_member;
use crate::format::skill::{Field, Requirements};

/// Why no host satisfies all of it; none when one does, or when nothing is asked of a host.
pub(super) fn of_hosts(requires: &Requirements, hosts: &[Host]) -> Option<Reason> {
    let asked: Vec<Field> = OF_HOST
        .into_iter()
        .map(|(field, _)| field)
        .filter(|field| !requires.field(*field).is_empty())
        .collect();
    if asked.is_empty() {
        return None;
    }
    if hosts.is_empty() {
        let needs: Vec<_> = asked
            .iter()
            .map(|field| format!("{} {}", field.name(), requires.field(*field).join(" ")))
            .collect();
        let detail = format!("no host was given; it needs {}", needs.join(", "));
        return Some(Reason::new(ReasonKind::NoHost, detail));
    }
    let mut details = Vec::with_capacity(hosts.len());
    for host in hosts {
        let lacks = of_host(requires, host);
        if lacks.is_empty() {
            return None;
        }
        details.push(format!("{} lacks {}", host.id, lacks.join(", ")));
    }
    Some(Reason::new(ReasonKind::Unmet, details.join("; ")))
}

/// The requirements on a host, in the order of the rule, and whether all of a list are needed.
const OF_HOST: [(Field, bool); 7] = [
    (Field::HostRoles, false),
    (Field::Capabilities, true),
    (Field::AnyCapabilities, false),
    (Field::Os, false),
    (Field::Env, true),
    (Field::Bins, true),
    (Field::AnyBins, false),
];

/// What one host lacks.
fn of_host(requires: &Requirements, host: &Host) -> Vec<String> {
    let mut lacks = Vec::new();
    for (field, all) in OF_HOST {
        let wanted = requires.field(field);
        let missing: Vec<_> = wanted
            .iter()
            .filter(|value| !has(host, field, value))
            .map(String::as_str)
            .collect();
        if missing.is_empty() || (!all && missing.len() < wanted.len()) {
            continue;
        }
        let any_of = if all || missing.len() == 1 {
            ""
        } else {
            "any of "
        };
        let instead = match field {
            Field::HostRoles => format!(" (it is {})", host.role),
            Field::Os => match &host.os {
                Some(os) => format!(" (it has {os})"),
                None => " (its own is not known)".to_owned(),
            },
            _ => String::new(),
        };
        lacks.push(format!(
            "{} {any_of}{}{instead}",
            field.name(),
            missing.join(" ")
        ));
    }
    lacks
}

fn has(host: &Host, field: Field, value: &String) -> bool {
    match field {
        Field::HostRoles => host.role == *value,
        Field::Capabilities | Field::AnyCapabilities => host.capabilities.contains(value),
        Field::Os => host
            .os
            .as_ref()
            .is_some_and(|os| os.to_lowercase() == value.to_lowercase()),
        Field::Env => host.env.contains(value),
        Field::Bins | Field::AnyBins => host.bins.contains(value),
        Field::Config => true,
    }
}

/// Which paths of the configuration are not truthy; none when all are.
pub(super) fn of_config(paths: &[String], config: Option<&RawValue>) -> Option<Reason> {
    let is_truthy = |path: &String| {
        let names: Vec<_> = path.split('.').collect();
        config
            .and_then(|config| json_member::find(config, &names))
            .is_some_and(truthy)
    };
    let lacking: Vec<_> = paths
        .iter()
        .filter(|path| !is_truthy(path))
        .map(String::as_str)
        .collect();
    if lacking.is_empty() {
        return None;
    }
    let none = match config {
        Some(_) => "",
        None => "; no configuration was given",
    };
    let detail = format!("not set in the configuration: {}{none}", lacking.join(", "));
    Some(Reason::new(ReasonKind::Config, detail))
}

/// As JavaScript sees a JSON value: `false`, `null`, `""` and zero are not.
fn truthy(json: &str) -> bool {
    match json.as_bytes().first() {
        Some(b'{' | b'[' | b't') => true,
        Some(b'"') => json != "\"\"",
        Some(b'-' | b'0'..=b'9') => json.parse::<f64>().is_ok_and(|number| number != 0.0),
        _ => false,
    }
}
