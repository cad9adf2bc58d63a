//! Answers that come in pages with a `next`: printed as they come, or gathered for JSON.

use serde_json::{Value, json};

use super::Shared;
use super::call::Caller;
use super::output::{self, Problem};

/// Call until there is no `next`, and hand each item of the list `name` to `print`; with `--json` print all of
/// them at the end as one answer. Answers how many there were.
pub async fn each(
    caller: &Caller,
    shared: &Shared,
    (interface, function): (&str, &str),
    mut request: Value,
    name: &str,
    mut print: impl FnMut(&Value) -> anyhow::Result<()>,
) -> anyhow::Result<usize> {
    let (mut all, mut told, mut count) = (Vec::new(), Vec::new(), 0);
    loop {
        let arguments = json!({ "request": request });
        let mut page = caller.call(interface, function, arguments).await?;
        let next = page["next"].take();
        let lists = (page[name].take(), page["problems"].take());
        let (Value::Array(items), Value::Array(problems)) = lists else {
            anyhow::bail!("{interface}.{function} answered no list {name}");
        };
        count += items.len();
        if shared.json {
            all.extend(items);
            told.extend(problems);
        } else {
            let problems: Vec<Problem> = serde_json::from_value(Value::Array(problems))?;
            output::problems(&problems);
            items.iter().try_for_each(&mut print)?;
        }
        match next {
            Value::Null => break,
            next => request["cursor"] = next,
        }
    }
    if shared.json {
        output::json(&json!({ name: all, "problems": told }))?;
    }
    Ok(count)
}
