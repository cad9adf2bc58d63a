//! `haversack:core/threads`: the workspace of a solven thread. The shapes are those of `wit/core/threads.wit`.

mod configure;
mod sandbox;

pub use self::configure::{ConfigureAnswer, ConfigureRequest, configure};
pub use self::sandbox::{Copied, SandboxAnswer, SandboxRequest, sandbox};
pub use crate::transform::proot::{Bind, BindKind};
