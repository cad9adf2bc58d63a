//! Signed URLs: HMAC-SHA256 over `userId.exp`, base64url without padding. Pure; knows no clock and no request.

use hmac::{Hmac, Mac};
use sha2::Sha256;

use crate::media::base64;

/// Bytes of a secret.
pub const SECRET_BYTES_MIN: usize = 16;
pub const SECRET_BYTES_MAX: usize = 4_096;
/// Figures of `exp`: seconds for longer than anybody signs.
const EXP_FIGURES_MAX: usize = 12;

/// What signs and verifies. Never shown.
pub struct Secret(Vec<u8>);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

/// Why a signature does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    Wrong,
    /// It held once.
    Expired,
}

impl Secret {
    /// The error is the rule that it breaks.
    pub fn new(bytes: &[u8]) -> Result<Self, String> {
        if (SECRET_BYTES_MIN..=SECRET_BYTES_MAX).contains(&bytes.len()) {
            return Ok(Secret(bytes.to_owned()));
        }
        Err(format!(
            "a signing secret has {SECRET_BYTES_MIN} to {SECRET_BYTES_MAX} bytes, and this one has {}; \
             `openssl rand -base64 32` makes one",
            bytes.len()
        ))
    }

    /// `sig` for a user and a moment in seconds since 1970.
    pub fn sign(&self, user: &str, exp_s: u64) -> String {
        base64url(&self.hmac(user, &exp_s.to_string()).finalize().into_bytes())
    }

    /// Whether `sig` was made for them and is not over at `now_s`. Takes as long for any wrong one of its length.
    pub fn verify(&self, user: &str, exp: &str, sig: &str, now_s: u64) -> Result<(), Refused> {
        let figures = exp.bytes().all(|byte| byte.is_ascii_digit());
        if !figures || exp.len() > EXP_FIGURES_MAX {
            return Err(Refused::Wrong);
        }
        let exp_s: u64 = exp.parse().map_err(|_| Refused::Wrong)?;
        let bytes = unbase64url(sig).ok_or(Refused::Wrong)?;
        let compared = self.hmac(user, exp).verify_slice(&bytes);
        compared.map_err(|_| Refused::Wrong)?;
        if now_s < exp_s {
            Ok(())
        } else {
            Err(Refused::Expired)
        }
    }

    /// `exp` has no dot, so that no two pairs are signed alike.
    fn hmac(&self, user: &str, exp: &str) -> Hmac<Sha256> {
        // An HMAC takes keys of every length; the error is there for other codes.
        let mut hmac = Hmac::<Sha256>::new_from_slice(&self.0).expect("a key of any length");
        hmac.update(user.as_bytes());
        hmac.update(b".");
        hmac.update(exp.as_bytes());
        hmac
    }
}

fn base64url(bytes: &[u8]) -> String {
    let text = base64::encode(bytes);
    text.trim_end_matches('=')
        .replace('+', "-")
        .replace('/', "_")
}

/// None for what [`base64url`] did not write.
fn unbase64url(text: &str) -> Option<Vec<u8>> {
    if text.contains(['+', '/', '=', '\r', '\n']) {
        return None;
    }
    let bytes = base64::decode(&text.replace('-', "+").replace('_', "/")).ok()?;
    (base64url(&bytes) == text).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &[u8] = b"0123456789abcdef";

    #[test]
    fn as_openssl_signs() {
        // printf 'user_1.1767225600' | openssl dgst -sha256 -hmac 0123456789abcdef -binary | basenc --base64url
        let secret = Secret::new(SECRET).expect("a secret");
        assert_eq!(
            secret.sign("user_1", 1_767_225_600),
            "pUZS0__KlJL4BV25nM9TXozUPp-NoQ7MfwKsL6ZkHBI"
        );
    }

    #[test]
    fn only_what_was_signed_holds() {
        let secret = Secret::new(SECRET).expect("a secret");
        let sig = secret.sign("user_1", 1_000);
        assert_eq!(secret.verify("user_1", "1000", &sig, 999), Ok(()));
        assert_eq!(
            secret.verify("user_1", "1000", &sig, 1_000),
            Err(Refused::Expired)
        );
        let other = Secret::new(b"0123456789abcdeF").expect("a secret");
        let others = other.sign("user_1", 1_000);
        let cut = &sig[..sig.len() - 1];
        let padded = format!("{sig}=");
        for (user, exp, sig) in [
            ("user_2", "1000", sig.as_str()),
            ("user_1", "1001", &sig),
            ("user_1", "01000", &sig),
            ("user_1", "+1000", &sig),
            ("user_1", "", &sig),
            ("user_1", "1e3", &sig),
            ("user_1", "9999999999999", &sig),
            ("user_1.10", "00", &sig),
            ("user_1", "1000", &others),
            ("user_1", "1000", cut),
            ("user_1", "1000", &padded),
            ("user_1", "1000", ""),
            ("user_1", "1000", "é"),
        ] {
            let verified = secret.verify(user, exp, sig, 5);
            assert_eq!(verified, Err(Refused::Wrong), "{user} {exp} {sig}");
        }
    }

    #[test]
    fn a_signature_has_one_spelling() {
        for length in 0..40 {
            let bytes: Vec<u8> = (0..length).map(|n| (n * 37 + 200) as u8).collect();
            let text = base64url(&bytes);
            assert!(!text.contains(['+', '/', '=']), "{text}");
            assert_eq!(unbase64url(&text), Some(bytes));
        }
        // Bits behind the last byte.
        assert_eq!(unbase64url("AA"), Some(vec![0]));
        assert_eq!(unbase64url("AB"), None);
    }

    #[test]
    fn secrets_have_bounds_and_are_not_shown() {
        assert!(Secret::new(&[7; SECRET_BYTES_MIN - 1]).is_err());
        assert!(Secret::new(&[7; SECRET_BYTES_MIN]).is_ok());
        assert!(Secret::new(&[7; SECRET_BYTES_MAX]).is_ok());
        assert!(Secret::new(&[7; SECRET_BYTES_MAX + 1]).is_err());
        let secret = Secret::new(SECRET).expect("a secret");
        assert_eq!(format!("{secret:?}"), "Secret");
    }
}
