//! Why a request failed, and what of that a caller is told. Knows no retries and sends nothing; shows
//! nothing of a server's message but its code, because messages can hold keys of access.

use std::time::Duration;

use http::StatusCode;

use crate::store::check::error;
use crate::store::{Error, ErrorCode};

/// One request's failure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Failure {
    /// Of an answer that was no success; none where there was no answer, or half of one.
    pub status: Option<StatusCode>,
    /// S3's word for it, such as `SlowDown`.
    pub code: Option<String>,
    pub retry_after: Option<Duration>,
    /// The request may have reached the server.
    pub sent: bool,
}

/// What a failed write may have done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// It was turned away, or never sent.
    None,
    /// The server failed with it; what it has done so far is all that it will do.
    Perhaps,
    /// No answer came: it may be carried out even later.
    Open,
}

impl Failure {
    fn is(&self, status: StatusCode) -> bool {
        self.status == Some(status)
    }

    fn has_code(&self, codes: &[&str]) -> bool {
        self.code
            .as_deref()
            .is_some_and(|code| codes.contains(&code))
    }

    pub fn is_missing(&self) -> bool {
        self.is(StatusCode::NOT_FOUND) && !self.has_code(&["NoSuchBucket"])
    }

    /// A condition did not hold.
    pub fn is_condition(&self) -> bool {
        self.is(StatusCode::PRECONDITION_FAILED)
    }

    pub fn is_out_of_range(&self) -> bool {
        self.is(StatusCode::RANGE_NOT_SATISFIABLE)
    }

    /// The server asks for fewer requests.
    pub fn is_throttled(&self) -> bool {
        self.is(StatusCode::TOO_MANY_REQUESTS)
    }

    /// There was no connection.
    pub fn is_unreached(&self) -> bool {
        self.status.is_none() && !self.sent
    }

    /// The server does not know this kind of request, or not in this form.
    pub fn is_not_known(&self) -> bool {
        self.is(StatusCode::NOT_IMPLEMENTED)
            || self.is(StatusCode::METHOD_NOT_ALLOWED)
            || self.has_code(&["MalformedXML", "NotImplemented"])
    }

    /// It is worth trying again.
    pub fn is_transient(&self) -> bool {
        match self.status {
            None => true,
            Some(StatusCode::NOT_IMPLEMENTED) => false,
            Some(StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT) => true,
            // S3's answer to one of two conditional writes that meet.
            Some(StatusCode::CONFLICT) => true,
            // S3 says some of it with 400.
            Some(status) => {
                status.is_server_error() || self.has_code(&["RequestTimeout", "SlowDown"])
            }
        }
    }

    pub fn effect(&self) -> Effect {
        match self.status {
            None if self.sent => Effect::Open,
            Some(_) if self.has_code(&["RequestTimeout"]) => Effect::Perhaps,
            Some(StatusCode::REQUEST_TIMEOUT) => Effect::Perhaps,
            // A gateway gave up waiting: what is behind it may still be at work.
            Some(StatusCode::BAD_GATEWAY | StatusCode::GATEWAY_TIMEOUT) => Effect::Open,
            Some(status) if status.as_u16() >= 520 => Effect::Open,
            Some(status) if status.is_server_error() => Effect::Perhaps,
            _ => Effect::None,
        }
    }

    fn is_denial(&self, status: StatusCode) -> bool {
        [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN].contains(&status)
            || self.has_code(&["ExpiredToken", "InvalidToken"])
    }

    /// As the contract says it. `what` is the key or the list that it is about.
    pub fn error(&self, what: &str) -> Error {
        let (code, message) = match self.status {
            _ if self.has_code(&["NoSuchBucket"]) => (
                ErrorCode::Invalid,
                "there is no such bucket; check its name and the endpoint".to_owned(),
            ),
            None if self.is_unreached() => (
                ErrorCode::Unavailable,
                "the bucket's server cannot be reached; check the endpoint and the network"
                    .to_owned(),
            ),
            None => (
                ErrorCode::Unavailable,
                "the bucket's answer was cut or is none; try again later".to_owned(),
            ),
            Some(status) if self.is_denial(status) => (
                ErrorCode::Denied,
                format!("the bucket refuses ({self}); check the credentials and their rights"),
            ),
            Some(StatusCode::TOO_MANY_REQUESTS) => (
                ErrorCode::Unavailable,
                format!("the bucket asks for fewer requests ({self}); try again later"),
            ),
            Some(status) if self.is_transient() || status.is_server_error() => (
                ErrorCode::Unavailable,
                format!("the bucket's server fails ({self}); try again later"),
            ),
            Some(_)
                if self.has_code(&["MetadataTooLarge", "KeyTooLongError", "EntityTooLarge"]) =>
            {
                (
                    ErrorCode::TooLarge,
                    format!("it is over a limit of the bucket ({self}); make it smaller"),
                )
            }
            Some(status) if status.is_redirection() || self.has_code(&REGION_CODES) => (
                ErrorCode::Invalid,
                format!("the bucket is elsewhere ({self}); check the region and the endpoint"),
            ),
            Some(_) => (ErrorCode::Other, format!("the bucket refuses ({self})")),
        };
        let wait = self.retry_after.map(|wait| wait.as_millis());
        Error {
            retry_after_ms: wait.map(|ms| u32::try_from(ms).unwrap_or(u32::MAX)),
            ..error(code, format!("{what}: {message}"))
        }
    }
}

const REGION_CODES: [&str; 3] = [
    "AuthorizationHeaderMalformed",
    "PermanentRedirect",
    "IllegalLocationConstraintException",
];

/// The number and the word, for messages.
impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.status, &self.code) {
            (Some(status), Some(code)) => write!(f, "{} {code}", status.as_u16()),
            (Some(status), None) => write!(f, "{}", status.as_u16()),
            (None, _) => f.write_str("no answer"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(status: u16, code: Option<&str>) -> Failure {
        Failure {
            status: StatusCode::from_u16(status).ok(),
            code: code.map(str::to_owned),
            sent: true,
            ..Failure::default()
        }
    }

    #[test]
    fn what_is_repeated_and_what_it_may_have_done() {
        let lost = Failure {
            sent: true,
            ..Failure::default()
        };
        for (failure, transient, effect) in [
            (Failure::default(), true, Effect::None),
            (lost, true, Effect::Open),
            (answered(429, None), true, Effect::None),
            (answered(409, None), true, Effect::None),
            (answered(408, None), true, Effect::Perhaps),
            (answered(500, None), true, Effect::Perhaps),
            (answered(503, Some("SlowDown")), true, Effect::Perhaps),
            (answered(501, None), false, Effect::Perhaps),
            (answered(400, None), false, Effect::None),
            (answered(400, Some("RequestTimeout")), true, Effect::Perhaps),
            (answered(403, None), false, Effect::None),
            (answered(412, None), false, Effect::None),
        ] {
            assert_eq!(failure.is_transient(), transient, "{failure:?}");
            assert_eq!(failure.effect(), effect, "{failure:?}");
        }
    }

    #[test]
    fn what_a_caller_is_told() {
        for (status, code, expected, word) in [
            (
                403,
                Some("AccessDenied"),
                ErrorCode::Denied,
                "403 AccessDenied",
            ),
            (401, None, ErrorCode::Denied, "credentials"),
            (400, Some("ExpiredToken"), ErrorCode::Denied, "credentials"),
            (429, None, ErrorCode::Unavailable, "fewer"),
            (503, Some("SlowDown"), ErrorCode::Unavailable, "SlowDown"),
            (
                404,
                Some("NoSuchBucket"),
                ErrorCode::Invalid,
                "no such bucket",
            ),
            (400, Some("MetadataTooLarge"), ErrorCode::TooLarge, "limit"),
            (301, None, ErrorCode::Invalid, "region"),
            (
                400,
                Some("AuthorizationHeaderMalformed"),
                ErrorCode::Invalid,
                "region",
            ),
            (
                400,
                Some("InvalidDigest"),
                ErrorCode::Other,
                "InvalidDigest",
            ),
        ] {
            let error = answered(status, code).error("key \"o\"");
            assert_eq!(error.code, expected, "{status} {code:?}");
            assert!(error.message.contains(word), "{}", error.message);
            assert!(error.message.starts_with("key \"o\": "));
        }
    }
}
