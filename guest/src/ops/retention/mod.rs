//! `haversack:core/retention`: the end of a subscription, and what becomes of the data. The shapes are those of
//! `wit/core/retention.wit`, which is the manual; one file beside this does one thing each. What would happen and
//! why is decided in `transform/retention.rs`, objects are moved by `protocol/moving/`.

mod apply;
mod arbiter;
mod end;
mod place;
mod plan;
mod purge;
mod renew;

use serde::{Deserialize, Serialize};

use crate::layout::System;
use crate::layout::concept::{Concept, require};
use crate::layout::moltbot::UserId;
use crate::limits::{
    GRACE_DAYS_DEFAULT, RETENTION_DAYS_DEFAULT, RETENTION_DAYS_MAX, RETENTION_REQUESTS_DEFAULT,
    RETENTION_REQUESTS_MAX, RETENTION_REQUESTS_MIN,
};
use crate::ops::moment;
use crate::protocol::moving::Budget;
use crate::transform::retention::Rules;
use crate::types::{Cost, Error, Home, Problem, Result};

pub use crate::transform::retention::Action;
pub use apply::apply;
pub use end::end;
pub use plan::plan;
pub use purge::purge;
pub use renew::{renew, restore};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    Cancelled,
    Expired,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct EndRequest {
    pub home: Home,
    pub request_id: String,
    pub now_ms: u64,
    #[serde(default)]
    pub ending: Option<Ending>,
    #[serde(default)]
    pub retention_days: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct EndAnswer {
    pub state: String,
    pub ended_ms: Option<u64>,
    pub expires_ms: Option<u64>,
    pub changed: bool,
    pub repeat: bool,
    pub cost: Cost,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PlanRequest {
    pub system: String,
    pub now_ms: u64,
    #[serde(default)]
    pub retention_days: Option<u32>,
    #[serde(default)]
    pub grace_days: Option<u32>,
    #[serde(default)]
    pub continue_from: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Planned {
    pub home: Home,
    pub state: String,
    pub since_ms: Option<u64>,
    pub due_ms: Option<u64>,
    pub action: Action,
    pub why: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PlanAnswer {
    pub users: Vec<Planned>,
    pub problems: Vec<Problem>,
    pub continue_from: Option<String>,
    pub cost: Cost,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct StepRequest {
    pub home: Home,
    pub request_id: String,
    pub now_ms: u64,
    #[serde(default)]
    pub retention_days: Option<u32>,
    #[serde(default)]
    pub grace_days: Option<u32>,
    #[serde(default)]
    pub budget_requests: Option<u32>,
    #[serde(default)]
    pub continue_from: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    Done,
    Again,
    Wait,
    Kept,
    Blocked,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct StepAnswer {
    pub step: Step,
    pub state: String,
    pub why: String,
    pub to: Option<String>,
    pub objects: u32,
    pub size_bytes: u64,
    pub repeat: bool,
    pub problems: Vec<Problem>,
    pub continue_from: Option<String>,
    pub retry_after_ms: Option<u64>,
    pub cost: Cost,
}

fn user_of(home: &Home) -> Result<UserId> {
    require(System::parse(&home.system)?, Concept::Retention)?;
    UserId::parse(&home.id)
}

fn days(name: &str, given: Option<u32>, default: u32) -> Result<u32> {
    let days = given.unwrap_or(default);
    if days <= RETENTION_DAYS_MAX {
        return Ok(days);
    }
    Err(Error::invalid(format!(
        "{name} is {days}; it may be 0 to {RETENTION_DAYS_MAX}, a century"
    )))
}

fn rules(now_ms: u64, retention_days: Option<u32>, grace_days: Option<u32>) -> Result<Rules> {
    moment::day("now-ms", now_ms, 0)?;
    Ok(Rules {
        now_ms,
        retention_days: days("retention-days", retention_days, RETENTION_DAYS_DEFAULT)?,
        grace_days: days("grace-days", grace_days, GRACE_DAYS_DEFAULT)?,
    })
}

impl StepRequest {
    fn rules(&self) -> Result<Rules> {
        rules(self.now_ms, self.retention_days, self.grace_days)
    }

    fn budget(&self) -> Result<Budget> {
        let requests = self.budget_requests.unwrap_or(RETENTION_REQUESTS_DEFAULT);
        if (RETENTION_REQUESTS_MIN..=RETENTION_REQUESTS_MAX).contains(&requests) {
            return Ok(Budget::new(requests));
        }
        Err(Error::invalid(format!(
            "budget-requests is {requests}; it may be {RETENTION_REQUESTS_MIN} to {RETENTION_REQUESTS_MAX}"
        )))
    }
}
