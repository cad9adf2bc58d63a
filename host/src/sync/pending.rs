//! When a path that was touched is looked at: once it is quiet, at the latest after a while. Knows no file; time is an
//! argument.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How long nothing may have happened to a path.
pub const QUIET: Duration = Duration::from_millis(200);
/// After this a path is looked at, quiet or not.
pub const PATIENCE: Duration = Duration::from_secs(3);
/// So many paths at once are not looked at one by one any more.
pub const PATHS_MAX: usize = 4_096;

struct Touched {
    first: Instant,
    due: Instant,
}

/// Paths that wait.
#[derive(Default)]
pub struct Pending(BTreeMap<String, Touched>);

impl Pending {
    /// Something happened to the path.
    pub fn touch(&mut self, key: String, now: Instant) {
        let touched = self.0.entry(key).or_insert(Touched {
            first: now,
            due: now,
        });
        touched.due = (now + QUIET).min(touched.first + PATIENCE);
    }

    /// Look at the path then, if nothing happens to it before.
    pub fn put_off(&mut self, key: String, now: Instant, delay: Duration) {
        let first = now;
        let due = now + delay;
        self.0.entry(key).or_insert(Touched { first, due });
    }

    /// When the next one is due.
    pub fn next_due(&self) -> Option<Instant> {
        self.0.values().map(|touched| touched.due).min()
    }

    /// Those that are due; with `all`, the rest too.
    pub fn take_due(&mut self, now: Instant, all: bool) -> Vec<String> {
        let due = self
            .0
            .extract_if(.., |_, touched| all || touched.due <= now);
        due.map(|(key, _)| key).collect()
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_waits_for_quiet_but_not_for_ever() {
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        let mut pending = Pending::default();
        pending.touch("a".to_owned(), at(0));
        pending.touch("b".to_owned(), at(150));
        assert_eq!(pending.take_due(at(199), false), [""; 0]);
        assert_eq!(pending.next_due(), Some(at(200)));
        assert_eq!(pending.take_due(at(200), false), ["a"]);
        // Written again and again, it is still looked at.
        for ms in (150..3_140).step_by(10) {
            pending.touch("b".to_owned(), at(ms));
            assert_eq!(pending.take_due(at(ms), false), [""; 0]);
        }
        pending.touch("b".to_owned(), at(3_149));
        assert_eq!(pending.take_due(at(3_149), false), [""; 0]);
        assert_eq!(pending.take_due(at(3_150), false), ["b"]);
        assert!(pending.is_empty());
        pending.put_off("c".to_owned(), at(0), Duration::from_secs(5));
        assert_eq!(pending.take_due(at(4_999), false), [""; 0]);
        pending.touch("c".to_owned(), at(4_999));
        assert_eq!(pending.take_due(at(0), true), ["c"]);
    }
}
