//! How often and after which wait a failed request is sent again. Knows failures, no requests.

use std::time::Duration;

use tokio::time::Instant;

use super::failure::Failure;
use crate::store::backoff::random;

/// Bounds of a call's repetitions. All of it may be set, for tests and for other services' manners.
#[derive(Clone, Debug)]
pub struct Retry {
    /// Requests for one thing, the first one included.
    pub tries_max: u32,
    /// The same while there is no connection: an address that is wrong stays so.
    pub unreached_tries_max: u32,
    /// From the first request to the beginning of the last.
    pub time_max: Duration,
    /// First wait after 429; R2 gives that to more than one write a second to a key.
    pub throttled_delay: Duration,
    /// First wait after anything else.
    pub failed_delay: Duration,
    /// Waits double up to this.
    pub delay_max: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Retry {
            tries_max: 8,
            unreached_tries_max: 4,
            time_max: Duration::from_secs(150),
            throttled_delay: Duration::from_millis(500),
            failed_delay: Duration::from_millis(100),
            delay_max: Duration::from_secs(8),
        }
    }
}

/// The tries of one call.
pub struct Tries<'a> {
    retry: &'a Retry,
    since: Instant,
    made: u32,
}

impl Retry {
    pub fn tries(&self) -> Tries<'_> {
        Tries {
            retry: self,
            since: Instant::now(),
            made: 0,
        }
    }
}

impl Tries<'_> {
    /// After a failed try: wait and answer true, or false when it was the last.
    pub async fn again(&mut self, failure: &Failure) -> bool {
        self.made += 1;
        let tries_max = if failure.is_unreached() {
            self.retry.unreached_tries_max.min(self.retry.tries_max)
        } else {
            self.retry.tries_max
        };
        if !failure.is_transient() || self.made >= tries_max {
            return false;
        }
        let delay = self.delay(failure, random());
        if self.since.elapsed() + delay > self.retry.time_max {
            return false;
        }
        tokio::time::sleep(delay).await;
        true
    }

    /// Half as much again at random, so that many do not come back at once.
    fn delay(&self, failure: &Failure, random: u64) -> Duration {
        let first = if failure.is_throttled() {
            self.retry.throttled_delay
        } else {
            self.retry.failed_delay
        };
        let doubled = first.saturating_mul(1 << (self.made - 1).min(16));
        let delay = doubled.min(self.retry.delay_max);
        let jitter = delay.mul_f64((random % 1_000) as f64 / 2_000.0);
        (delay + jitter).max(failure.retry_after.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::*;

    fn answered(status: StatusCode) -> Failure {
        Failure {
            status: Some(status),
            sent: true,
            ..Failure::default()
        }
    }

    #[test]
    fn delays_double_from_half_a_second_where_the_server_asks() {
        let retry = Retry::default();
        let mut tries = retry.tries();
        let delays = |tries: &mut Tries, failure: &Failure, random| {
            [1, 2, 3, 10].map(|made| {
                tries.made = made;
                tries.delay(failure, random).as_millis()
            })
        };
        let throttled = answered(StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(
            delays(&mut tries, &throttled, 0),
            [500, 1_000, 2_000, 8_000]
        );
        let most = delays(&mut tries, &throttled, 999);
        assert_eq!(most, [749, 1_499, 2_999, 11_996]);
        let failed = answered(StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(delays(&mut tries, &failed, 0), [100, 200, 400, 8_000]);
        let told = Failure {
            retry_after: Some(Duration::from_secs(5)),
            ..throttled
        };
        assert_eq!(delays(&mut tries, &told, 0), [5_000, 5_000, 5_000, 8_000]);
    }

    #[tokio::test]
    async fn tries_end() {
        let retry = Retry {
            tries_max: 3,
            failed_delay: Duration::ZERO,
            ..Retry::default()
        };
        let failed = answered(StatusCode::SERVICE_UNAVAILABLE);
        let mut tries = retry.tries();
        assert!(tries.again(&failed).await);
        assert!(tries.again(&failed).await);
        assert!(!tries.again(&failed).await);
        assert!(!retry.tries().again(&answered(StatusCode::FORBIDDEN)).await);
        let hasty = Retry {
            unreached_tries_max: 2,
            ..retry.clone()
        };
        let mut tries = hasty.tries();
        assert!(tries.again(&Failure::default()).await);
        assert!(!tries.again(&Failure::default()).await);
        let told = Failure {
            retry_after: Some(retry.time_max + Duration::from_secs(1)),
            ..failed
        };
        assert!(!retry.tries().again(&told).await, "longer than it has");
    }
}
