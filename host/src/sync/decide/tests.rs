//! Every state of a path there can be, followed to rest, with the manifest written or lost after each step.

use super::*;

/// What lies on a side: a content, and how often it was touched without changing.
type Content = Option<(u8, u8)>;

#[derive(Clone, Debug)]
struct World {
    here: Content,
    there: Content,
    /// Copies that a conflict made.
    beside: Vec<u8>,
    last: Option<((u8, u8), (u8, u8))>,
}

fn version((content, touched): (u8, u8)) -> String {
    format!("{content}-{touched}")
}

fn digest(content: u8) -> String {
    format!("sha of {content}")
}

impl World {
    /// Every combination of three contents, touched or not, there or not, remembered or not.
    fn all() -> Vec<World> {
        let mut contents: Vec<Content> = vec![None];
        for content in 0..3 {
            contents.extend([Some((content, 0)), Some((content, 1))]);
        }
        // Both sides were the same last; only then versions may have differed.
        let mut lasts = vec![None];
        for content in 0..3 {
            for (here, there) in [(0, 0), (0, 1), (1, 0)] {
                lasts.push(Some(((content, here), (content, there))));
            }
        }
        let mut all = Vec::new();
        for &here in &contents {
            for &there in &contents {
                for &last in &lasts {
                    all.push(World {
                        here,
                        there,
                        beside: Vec::new(),
                        last,
                    });
                }
            }
        }
        all
    }

    /// Decide, looking where that is asked for, at most once.
    fn step(&self) -> Step {
        let last = self.last.map(|(here, there)| Last {
            version_here: version(here),
            version_there: version(there),
            digest: digest(here.0),
        });
        let seen = |content: Content, looked: bool| {
            content.map(|content| Seen {
                version: version(content),
                digest: looked.then(|| digest(content.0)),
            })
        };
        let (mut here_known, mut there_known) = (false, false);
        loop {
            let (here, there) = (seen(self.here, here_known), seen(self.there, there_known));
            match decide(last.as_ref(), here.as_ref(), there.as_ref()).0 {
                Step::Look { here, there } => {
                    assert!(here || there, "a look at nothing: {self:?}");
                    let again = (here && here_known) || (there && there_known);
                    assert!(!again, "a second look: {self:?}");
                    here_known |= here;
                    there_known |= there;
                }
                step => return step,
            }
        }
    }

    /// The world after one step; the manifest is written or the program is killed before.
    fn after(&self, step: Step, written: bool) -> World {
        let mut next = self.clone();
        match step {
            Step::Nothing | Step::Look { .. } => return next,
            Step::Record | Step::Forget => {}
            // What is copied gets a version of its own.
            Step::Upload => next.there = self.here.map(|(content, _)| (content, 2)),
            Step::Download => next.here = self.there.map(|(content, _)| (content, 2)),
            Step::DeleteHere => next.here = None,
            Step::DeleteThere => next.there = None,
            Step::Conflict => {
                next.beside.extend(self.here.map(|(content, _)| content));
                next.here = self.there.map(|(content, _)| (content, 2));
            }
        }
        if written {
            next.last = next.here.zip(next.there);
        }
        next
    }

    fn holds(&self, content: u8) -> bool {
        let is = |side: Content| side.is_some_and(|(found, _)| found == content);
        is(self.here) || is(self.there) || self.beside.contains(&content)
    }
}

/// Follow `world` to rest; `kills` says after which steps the manifest is not written.
fn settle(start: &World, mut kills: u32) -> World {
    let mut world = start.clone();
    for _ in 0..8 {
        let step = world.step();
        if step == Step::Nothing {
            return world;
        }
        world = world.after(step, kills & 1 == 0);
        kills >>= 1;
    }
    panic!("{start:?} never comes to rest: {world:?}");
}

#[test]
fn nothing_is_dropped_that_was_not_let_go() {
    let mut looked_at = 0;
    for start in World::all() {
        for kills in 0..8 {
            let end = settle(&start, kills);
            for side in [start.here, start.there].into_iter().flatten() {
                let was_last = start.last.is_some_and(|(last, _)| last.0 == side.0);
                assert!(end.holds(side.0) || was_last, "{start:?} became {end:?}");
            }
            looked_at += 1;
        }
    }
    assert_eq!(looked_at, 7 * 7 * 10 * 8);
}

#[test]
fn both_sides_end_the_same_and_stay_so() {
    for start in World::all() {
        for kills in 0..8 {
            let end = settle(&start, kills);
            let content = |side: Content| side.map(|(content, _)| content);
            assert_eq!(content(end.here), content(end.there), "{start:?}");
            assert_eq!(end.step(), Step::Nothing);
        }
    }
}

#[test]
fn a_delete_goes_through_only_over_what_was_seen() {
    for start in World::all() {
        let Some((last_here, last_there)) = start.last else {
            assert_ne!(start.step(), Step::DeleteHere, "{start:?}");
            assert_ne!(start.step(), Step::DeleteThere, "{start:?}");
            continue;
        };
        match start.step() {
            Step::DeleteThere => {
                assert_eq!((start.here, start.there), (None, Some(last_there)));
            }
            Step::DeleteHere => {
                assert_eq!(start.there, None, "{start:?}");
                assert_eq!(start.here.map(|(content, _)| content), Some(last_here.0));
            }
            _ => {}
        }
        if start.here.is_none() && start.there == Some(last_there) {
            assert_eq!(start.step(), Step::DeleteThere, "{start:?}");
        }
    }
}

#[test]
fn nothing_is_uploaded_that_lies_there() {
    for start in World::all() {
        if start.step() == Step::Upload {
            let content = |side: Content| side.map(|(content, _)| content);
            assert_ne!(content(start.here), content(start.there), "{start:?}");
        }
    }
}

#[test]
fn what_is_decided_in_words() {
    let last = Some(((0, 0), (0, 0)));
    let (a, b, c) = (Some((0, 0)), Some((1, 0)), Some((2, 0)));
    for (last, here, there, step) in [
        (None, None, None, Step::Nothing),
        (None, a, None, Step::Upload),
        (None, None, a, Step::Download),
        (None, a, a, Step::Record),
        (None, a, b, Step::Conflict),
        (last, None, None, Step::Forget),
        (last, None, a, Step::DeleteThere),
        (last, None, b, Step::Download),
        (last, a, None, Step::DeleteHere),
        (last, a, a, Step::Nothing),
        (last, a, b, Step::Download),
        (last, b, None, Step::Upload),
        (last, b, a, Step::Upload),
        (last, b, b, Step::Record),
        (last, b, c, Step::Conflict),
        (last, Some((0, 1)), a, Step::Record),
        (last, Some((0, 1)), None, Step::DeleteHere),
        (last, Some((0, 1)), b, Step::Download),
    ] {
        let world = World {
            here,
            there,
            beside: Vec::new(),
            last,
        };
        assert_eq!(world.step(), step, "{world:?}");
    }
}
