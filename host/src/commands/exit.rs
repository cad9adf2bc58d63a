//! How a run ends: one clear line on standard error, and an exit code that means something.

use std::process::ExitCode;

use haversack_host::CallError;
use serde_json::Value;

/// What went wrong, as an exit code. `haversack --help` lists them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    Other,
    Invalid,
    NotFound,
    NoStore,
    Unreadable,
    Unsupported,
    Conflict,
    Unavailable,
    TooLarge,
}

impl Code {
    fn number(self) -> u8 {
        match self {
            Self::Other => 1,
            Self::Invalid => 2,
            Self::NotFound => 3,
            Self::NoStore => 4,
            Self::Unreadable => 5,
            Self::Unsupported => 6,
            Self::Conflict => 7,
            Self::Unavailable => 8,
            Self::TooLarge => 9,
        }
    }

    /// The code for an error of the contract, by its `code` member.
    fn of_contract(name: &str) -> Self {
        match name {
            "invalid" => Self::Invalid,
            "not-found" => Self::NotFound,
            "unsupported" => Self::Unsupported,
            "conflict" => Self::Conflict,
            "too-large" => Self::TooLarge,
            "denied" => Self::Unreadable,
            "unavailable" => Self::Unavailable,
            _ => Self::Other,
        }
    }

    /// The code for a local file that could not be read.
    pub fn of_io(error: &std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::NotFound => Self::NotFound,
            std::io::ErrorKind::InvalidData => Self::Invalid,
            _ => Self::Unreadable,
        }
    }
}

/// A failure with its code and its one line.
#[derive(Debug)]
pub struct Failure {
    code: Code,
    message: String,
}

impl Failure {
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    pub fn code(&self) -> Code {
        self.code
    }

    /// An `error` record of the contract.
    pub fn of_contract(error: &Value) -> Self {
        let text = |member: &str| {
            error
                .get(member)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let code = Code::of_contract(text("code"));
        match text("current") {
            "" => Self::new(code, text("message")),
            version => {
                let message = text("message");
                Self::new(code, format!("{message} (its version now is {version})"))
            }
        }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

/// A command that was run for the user ended with this code, and has said itself what there was to say.
#[derive(Debug)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code))] // Nothing else runs commands.
pub struct OfCommand(pub u8);

impl std::fmt::Display for OfCommand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the command ended with code {}", self.0)
    }
}

impl std::error::Error for OfCommand {}

/// Print the error and answer the code to leave with.
pub fn report(error: &anyhow::Error) -> ExitCode {
    // A reader that has seen enough (`| head`) is no failure.
    if let Some(io) = error.downcast_ref::<std::io::Error>()
        && io.kind() == std::io::ErrorKind::BrokenPipe
    {
        return ExitCode::SUCCESS;
    }
    if let Some(OfCommand(code)) = error.downcast_ref() {
        return ExitCode::from(*code);
    }
    eprintln!("haversack: {error:#}");
    let code = match (
        error.downcast_ref::<Failure>(),
        error.downcast_ref::<CallError>(),
    ) {
        (Some(failure), _) => failure.code,
        (_, Some(CallError::Deadline(_))) => Code::Unavailable,
        (_, Some(CallError::Memory(_))) => Code::TooLarge,
        (_, Some(CallError::Arguments(_))) => Code::Invalid,
        _ => Code::Other,
    };
    ExitCode::from(code.number())
}
