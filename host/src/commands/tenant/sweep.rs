//! `haversack tenant sweep`: what retention would do to whom and why, and with --apply it is done.

use std::collections::BTreeMap;

use clap::Args;
use indicatif::ProgressBar;
use serde::Deserialize;
use serde_json::{Value, json};

use super::steps::{Settled, Steps};
use crate::commands::call::Caller;
use crate::commands::change::RequestId;
use crate::commands::clock::{moment, now_ms, written};
use crate::commands::exit::{Code, Failure};
use crate::commands::output::{self, Problem, Table, plain};
use crate::commands::{Shared, progress};

#[derive(Debug, Args)]
#[command(after_help = "\
Without --apply nothing is written. With it, users whose retention is over are moved to deleted/, deleted users whose \
grace is over are purged, and copies that nobody needs any more go. Whoever renews meanwhile keeps everything.

Interrupt it whenever you like: another sweep, from any machine, goes on after two minutes, one with the same \
--request-id at once.

Examples:
  haversack tenant sweep
  haversack tenant sweep --all
  haversack tenant sweep --apply
  haversack tenant sweep --apply --retention-days 30 --grace-days 7")]
pub struct Sweep {
    /// Do it
    #[arg(long)]
    apply: bool,
    /// Days that data stay where a user's meta.json has the end of the subscription and no date
    #[arg(long, value_name = "DAYS", default_value_t = 90)]
    retention_days: u32,
    /// Days that deleted data can be restored
    #[arg(long, value_name = "DAYS", default_value_t = 30)]
    grace_days: u32,
    /// Show users to whom nothing happens too
    #[arg(long)]
    all: bool,
    /// Show what would happen at this moment [default: now]
    #[arg(long, value_name = "RFC3339", value_parser = moment, conflicts_with = "apply")]
    now: Option<u64>,
    #[command(flatten)]
    id: RequestId,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Planned {
    home: Value,
    state: String,
    since_ms: Option<u64>,
    action: String,
    why: String,
}

/// The plan of everybody.
#[derive(Default)]
struct Plan {
    users: Vec<Value>,
    problems: Vec<Value>,
}

impl Planned {
    fn user(&self) -> String {
        let text = |member: &str| self.home[member].as_str().unwrap_or_default().to_owned();
        format!("{}:{}", text("system"), text("id"))
    }

    fn is_due(&self) -> bool {
        self.function().is_some()
    }

    /// The call that does it.
    fn function(&self) -> Option<&'static str> {
        match self.action.as_str() {
            "soft-delete" => Some("apply"),
            "purge" | "clear-copies" => Some("purge"),
            _ => None,
        }
    }

    /// What would happen, in words.
    fn would(&self) -> &'static str {
        match self.action.as_str() {
            "soft-delete" => "move to deleted/",
            "purge" => "delete for good",
            "clear-copies" => "delete its old copies",
            "attend" => "nothing: look at it",
            _ => "nothing",
        }
    }
}

impl Sweep {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let caller = Caller::over_store(shared, Some("moltbot"))?;
        let plan = self.plan(&caller).await?;
        let users: Vec<Planned> = plan
            .users
            .iter()
            .map(Planned::deserialize)
            .collect::<Result<_, _>>()?;
        if self.apply {
            return self.apply(shared, &caller, users, plan.problems).await;
        }
        if shared.json {
            return output::json(&json!({
                "apply": false, "users": plan.users, "problems": plan.problems,
            }));
        }
        self.show(&users, plan.problems)
    }

    async fn plan(&self, caller: &Caller) -> anyhow::Result<Plan> {
        let mut request = json!({
            "system": "moltbot",
            "now-ms": self.now.map_or_else(now_ms, Ok)?,
            "retention-days": self.retention_days,
            "grace-days": self.grace_days,
        });
        let bar = progress::bar(None)?;
        let mut plan = Plan::default();
        loop {
            let arguments = json!({ "request": request });
            let mut page = caller.call("retention", "plan", arguments).await?;
            let (Value::Array(users), Value::Array(problems)) =
                (page["users"].take(), page["problems"].take())
            else {
                anyhow::bail!("retention.plan answered no list of users");
            };
            plan.users.extend(users);
            plan.problems.extend(problems);
            bar.set_message(format!("{} users looked at", plan.users.len()));
            match page["continue-from"].take() {
                Value::Null => break,
                next => request["continue-from"] = next,
            }
        }
        bar.finish_and_clear();
        Ok(plan)
    }

    fn show(&self, users: &[Planned], problems: Vec<Value>) -> anyhow::Result<()> {
        let problems: Vec<Problem> = serde_json::from_value(Value::Array(problems))?;
        output::problems(&problems);
        let shown = |user: &&Planned| self.all || user.action != "keep";
        let mut table = Table::new(&["user", "state", "since", "would happen", "why"]);
        let mut rows = 0;
        for user in users.iter().filter(shown) {
            rows += 1;
            table.row([
                user.user(),
                user.state.clone(),
                user.since_ms.map_or_else(|| "-".to_owned(), written),
                user.would().to_owned(),
                user.why.clone(),
            ]);
        }
        if rows > 0 {
            table.print()?;
        }
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for user in users {
            *counts.entry(user.would()).or_default() += 1;
        }
        let counts = counts.iter().map(|(what, count)| format!("{count} {what}"));
        let counts: Vec<String> = counts.collect();
        let due = users.iter().filter(|user| user.is_due()).count();
        eprintln!("haversack: {} users: {}", users.len(), counts.join(", "));
        if due > 0 {
            eprintln!("haversack: nothing was done; --apply does it, for {due} users");
        }
        Ok(())
    }

    async fn apply(
        &self,
        shared: &Shared,
        caller: &Caller,
        users: Vec<Planned>,
        problems: Vec<Value>,
    ) -> anyhow::Result<()> {
        let id = self.id.or_new()?;
        let (due, others): (Vec<Planned>, Vec<Planned>) =
            users.into_iter().partition(Planned::is_due);
        let bar = progress::bar(Some(due.len() as u64))?;
        let mut told = Told {
            json: shared.json,
            users: Vec::new(),
            failure: None,
        };
        let work = async {
            for user in &due {
                bar.set_message(user.user());
                let settled = self.apply_one(caller, user, &id, &bar).await;
                bar.suspend(|| told.tell(user, settled))?;
                bar.inc(1);
            }
            anyhow::Ok(())
        };
        let ended = tokio::select! {
            ended = work => ended,
            _ = tokio::signal::ctrl_c() => {
                let message = format!(
                    "stopped, and nothing is lost; `haversack tenant sweep --apply --request-id {id}` goes on at \
                     once, any other sweep after two minutes"
                );
                Err(Failure::new(Code::Unavailable, message).into())
            }
        };
        bar.finish_and_clear();
        ended?;
        for user in others.iter().filter(|user| user.action == "attend") {
            told.attend(user)?;
        }
        if shared.json {
            output::json(&json!({
                "apply": true, "users": told.users, "problems": problems, "request-id": id,
            }))?;
        } else {
            let problems: Vec<Problem> = serde_json::from_value(Value::Array(problems))?;
            output::problems(&problems);
            eprintln!("haversack: {} users were due", due.len());
        }
        told.failure.map_or(Ok(()), |failure| Err(failure.into()))
    }

    async fn apply_one(
        &self,
        caller: &Caller,
        user: &Planned,
        id: &str,
        bar: &ProgressBar,
    ) -> anyhow::Result<Settled> {
        let steps = Steps {
            caller,
            bar,
            function: user.function().unwrap_or("apply"),
            waits: false,
        };
        let request = json!({
            "home": user.home,
            "request-id": id,
            "retention-days": self.retention_days,
            "grace-days": self.grace_days,
        });
        steps.run(request).await
    }
}

/// What became of each, said as it happens; the first that failed decides the exit code.
struct Told {
    json: bool,
    users: Vec<Value>,
    failure: Option<Failure>,
}

impl Told {
    /// Of whom nothing was done, because a person should look.
    fn attend(&mut self, user: &Planned) -> anyhow::Result<()> {
        let name = user.user();
        self.users.push(json!({
            "home": user.home, "step": "attend", "state": user.state, "why": user.why,
        }));
        if !self.json {
            let why = plain(&user.why);
            output::text(&format!(
                "{name}: {}: nothing was done, look at it: {why}",
                user.state
            ))?;
        }
        self.fail(Code::Unreadable, &name, "needs a person, as said above")
    }

    fn tell(&mut self, user: &Planned, settled: anyhow::Result<Settled>) -> anyhow::Result<()> {
        let name = user.user();
        let settled = match settled {
            Ok(settled) => settled,
            Err(error) => {
                let code = error
                    .downcast_ref::<Failure>()
                    .map_or(Code::Other, Failure::code);
                let message = format!("{error:#}");
                self.users
                    .push(json!({ "home": user.home, "step": "failed", "why": message }));
                if !self.json {
                    output::text(&format!("{name}: failed: {}", plain(&message)))?;
                }
                return self.fail(code, &name, "failed");
            }
        };
        self.users.push(json!({
            "home": user.home,
            "step": settled.step,
            "state": settled.state,
            "why": settled.why,
            "to": settled.to,
            "problems": settled.problems,
        }));
        if !self.json {
            let problems: Vec<Problem> =
                serde_json::from_value(Value::Array(settled.problems.clone()))?;
            output::problems(&problems);
            let to = settled.to.as_deref().filter(|_| settled.state == "deleted");
            let what = match (settled.step.as_str(), to) {
                ("done", Some(to)) => format!("moved to {to}"),
                (_, _) => settled.why.clone(),
            };
            output::text(&format!("{name}: {}: {}", settled.state, plain(&what)))?;
        }
        match settled.step.as_str() {
            "wait" => self.fail(
                Code::Unavailable,
                &name,
                "is at work elsewhere: sweep again later",
            ),
            "blocked" => self.fail(Code::TooLarge, &name, "is blocked by the store"),
            _ => Ok(()),
        }
    }

    fn fail(&mut self, code: Code, name: &str, what: &str) -> anyhow::Result<()> {
        let message = format!("not everybody could be swept: {name} {what}");
        self.failure
            .get_or_insert_with(|| Failure::new(code, message));
        Ok(())
    }
}
