//! `haversack:core/tenants`: users with a subscription: who is there, what lies where when one starts, what each
//! takes and may take. The shapes are those of `wit/core/tenants.wit`, which is the manual.

mod admit;
mod figure;
mod open;
mod status;
mod tenant;
mod usage;

use serde::{Deserialize, Serialize};

use crate::format::user_meta::Subscription;
use crate::transform::tier::PRESETS;
use crate::types::{Cost, Home, Problem};

pub use crate::format::user_state::UserState;
pub use crate::layout::moltbot::Category;
pub use crate::transform::tier::{Limits, Tier};
pub use admit::admit;
pub(super) use admit::check_room;
pub(super) use figure::grow;
pub use open::open;
pub use status::{status, touch};
pub use usage::usage;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TemplateFile {
    pub path: String,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct OpenRequest {
    pub home: Home,
    pub now_ms: u64,
    #[serde(default)]
    pub template: Vec<TemplateFile>,
    #[serde(default)]
    pub workspace: bool,
    #[serde(default)]
    pub cursor: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Placement {
    pub key: String,
    pub path: String,
    pub size_bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct OpenAnswer {
    pub created: bool,
    pub files: Vec<Placement>,
    pub next: Option<String>,
    pub problems: Vec<Problem>,
    pub cost: Cost,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct StatusRequest {
    pub home: Home,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SubscriptionStatus {
    Active,
    Cancelled,
    Expired,
}

impl From<Subscription> for SubscriptionStatus {
    fn from(subscription: Subscription) -> Self {
        match subscription {
            Subscription::Active => Self::Active,
            Subscription::Cancelled => Self::Cancelled,
            Subscription::Expired => Self::Expired,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct StatusAnswer {
    pub state: Option<UserState>,
    pub created_ms: Option<u64>,
    pub subscription: Option<SubscriptionStatus>,
    pub subscription_ended_ms: Option<u64>,
    pub retention_expires_ms: Option<u64>,
    pub last_active_ms: Option<u64>,
    pub storage_used_bytes: Option<u64>,
    pub problems: Vec<Problem>,
    pub cost: Cost,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TouchRequest {
    pub home: Home,
    pub now_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct TouchAnswer {
    pub written: bool,
    pub cost: Cost,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct TierPreset {
    pub name: String,
    pub limits: Limits,
}

/// The presets, smallest first.
pub fn tiers() -> Vec<TierPreset> {
    let preset = |(name, limits): (&str, Limits)| TierPreset {
        name: name.to_owned(),
        limits,
    };
    PRESETS.into_iter().map(preset).collect()
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct AdmitRequest {
    pub home: Home,
    pub tier: Tier,
    pub more_bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct AdmitAnswer {
    pub left_bytes: Option<u64>,
    pub stored_bytes: Option<u64>,
    pub problems: Vec<Problem>,
    pub cost: Cost,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct UsageRequest {
    pub home: Home,
    #[serde(default)]
    pub pages: Option<u32>,
    #[serde(default)]
    pub cursor: Option<String>,
    #[serde(default)]
    pub tier: Option<Tier>,
    #[serde(default)]
    pub repair: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CategoryUsage {
    pub category: Category,
    pub objects: u64,
    pub size_bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct UsageAnswer {
    pub categories: Vec<CategoryUsage>,
    pub objects: u64,
    pub size_bytes: u64,
    pub stored_bytes: Option<u64>,
    pub repaired: bool,
    pub left_bytes: Option<u64>,
    pub next: Option<String>,
    pub problems: Vec<Problem>,
    pub cost: Cost,
}
