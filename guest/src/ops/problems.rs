//! The problems of a call that may have as many as there are lines: so many are told one by one, and a last
//! one says how many more there are. Knows no system.

use crate::types::{Problem, ProblemKind};

/// Problems, up to a number.
#[derive(Debug)]
pub struct Problems {
    told: Vec<Problem>,
    left: usize,
    /// Where the first is that is not told, and how many there are.
    more: Option<(String, u64)>,
}

impl Problems {
    pub fn up_to(count: usize) -> Self {
        Self {
            told: Vec::new(),
            left: count,
            more: None,
        }
    }

    pub fn push(&mut self, problem: Problem) {
        match (self.left.checked_sub(1), &mut self.more) {
            (Some(left), _) => {
                self.left = left;
                self.told.push(problem);
            }
            (None, Some((_, count))) => *count += 1,
            (None, more) => *more = Some((problem.key, 1)),
        }
    }

    pub fn extend(&mut self, problems: impl IntoIterator<Item = Problem>) {
        for problem in problems {
            self.push(problem);
        }
    }

    /// What is told, and last how many more there are.
    pub fn into_told(mut self) -> Vec<Problem> {
        if let Some((key, count)) = self.more {
            let message = format!(
                "and {count} more, the first of them here; {} are told",
                self.told.len()
            );
            let problem = Problem::new(ProblemKind::Truncated, key, message);
            self.told.push(problem);
        }
        self.told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_told_is_counted() {
        for (count, last) in [
            (0, None),
            (2, Some("k1: bad")),
            (
                3,
                Some("k2: and 1 more, the first of them here; 2 are told"),
            ),
            (
                9,
                Some("k2: and 7 more, the first of them here; 2 are told"),
            ),
        ] {
            let mut problems = Problems::up_to(2);
            problems.extend(
                (0..count).map(|number| {
                    Problem::new(ProblemKind::Unreadable, format!("k{number}"), "bad")
                }),
            );
            let told = problems.into_told();
            assert_eq!(told.len(), count.min(3));
            let shown = told
                .last()
                .map(|last| format!("{}: {}", last.key, last.message));
            assert_eq!(shown.as_deref(), last);
        }
    }
}
