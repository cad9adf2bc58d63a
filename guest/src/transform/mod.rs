//! Pure functions that decide: what goes into a prompt, what is cut, which skill is shown.

pub mod eligibility;
pub mod skill_listing;
