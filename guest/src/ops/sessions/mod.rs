//! `haversack:core/sessions`.

pub mod state;
