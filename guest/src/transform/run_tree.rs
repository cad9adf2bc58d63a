//! The tree of a task's runs: every run has one place, whatever its references say. Pure.

use std::collections::BTreeMap;

/// A run with what it refers to, and the time by which runs are ordered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run<A> {
    pub id: String,
    pub age: A,
    pub parent: Option<String>,
    pub previous: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    Root,
    /// Started by the run above.
    Child,
    /// Restarted as the run above.
    Earlier,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// Its parent is no run of this task.
    DanglingParent,
    /// The run that it restarts is no run of this task.
    DanglingPrevious,
    /// The run that it restarts was restarted by a newer one, too.
    SharedPrevious,
    /// Its references led back to it; they were broken here.
    Cycle,
}

/// A run's place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Of the run, in what was given.
    pub index: usize,
    pub depth: u32,
    pub relation: Relation,
    /// The run above.
    pub above: Option<usize>,
    pub faults: Vec<Fault>,
}

/// All runs, each once, in the order in which a tree is printed: below each run first those that it restarted, then its
/// children, oldest first.
///
/// The newest run of a chain of restarts heads it. Its parent is the chain's: that of the newest that has one.
pub fn tree<A: Ord>(runs: &[Run<A>]) -> Vec<Node> {
    let mut by_age: Vec<usize> = (0..runs.len()).collect();
    let key = |at: &usize| runs.get(*at).map(|run| (&run.age, &run.id));
    by_age.sort_by(|left, right| key(left).cmp(&key(right)));
    let rank = ranks(&by_age);
    let ids: BTreeMap<&str, usize> = runs
        .iter()
        .enumerate()
        .map(|(at, run)| (run.id.as_str(), at))
        .collect();
    let find = |id: &Option<String>| id.as_deref().and_then(|id| ids.get(id).copied());
    let mut places: Vec<Place> = runs.iter().map(|_| Place::default()).collect();
    // Oldest first, so that the newest of several that restarted a run has it.
    for at in &by_age {
        let Some(run) = runs.get(*at) else { continue };
        if run.previous.is_some() && find(&run.previous).is_none() {
            fault(&mut places, *at, Fault::DanglingPrevious);
        }
        if run.parent.is_some() && find(&run.parent).is_none() {
            fault(&mut places, *at, Fault::DanglingParent);
        }
        if let Some(previous) = find(&run.previous) {
            let before = places
                .get_mut(previous)
                .and_then(|place| place.above.replace((*at, Relation::Earlier)));
            if let Some((other, _)) = before {
                fault(&mut places, other, Fault::SharedPrevious);
            }
        }
    }
    for at in 0..runs.len() {
        let is_head = places.get(at).is_some_and(|place| place.above.is_none());
        if is_head
            && let Some(parent) = parent_of_chain(runs, &find, at)
            && let Some(place) = places.get_mut(at)
        {
            place.above = Some((parent, Relation::Child));
        }
    }
    break_cycles(&mut places, &rank);
    print(&places, &by_age)
}

#[derive(Debug, Clone, Default)]
struct Place {
    above: Option<(usize, Relation)>,
    faults: Vec<Fault>,
}

fn fault(places: &mut [Place], at: usize, fault: Fault) {
    if let Some(place) = places.get_mut(at)
        && !place.faults.contains(&fault)
    {
        place.faults.push(fault);
    }
}

/// How old each run is among all; 0 is the oldest.
fn ranks(by_age: &[usize]) -> Vec<usize> {
    let mut ranks = vec![0; by_age.len()];
    for (rank, at) in by_age.iter().enumerate() {
        if let Some(slot) = ranks.get_mut(*at) {
            *slot = rank;
        }
    }
    ranks
}

/// The parent of the head of a chain, or of the newest before it that has one.
fn parent_of_chain<A>(
    runs: &[Run<A>],
    find: &impl Fn(&Option<String>) -> Option<usize>,
    head: usize,
) -> Option<usize> {
    let mut at = head;
    for _ in 0..runs.len() {
        let run = runs.get(at)?;
        if let Some(parent) = find(&run.parent) {
            return Some(parent);
        }
        // A parent that is not there makes a root; so does a chain that ends.
        if run.parent.is_some() {
            return None;
        }
        at = find(&run.previous)?;
    }
    None
}

/// Each run has at most one above it, so that a way up ends or comes round; there the oldest becomes a root.
fn break_cycles(places: &mut [Place], rank: &[usize]) {
    let mut seen = vec![0_usize; places.len()];
    for start in 0..places.len() {
        let walk = start + 1;
        let mut at = start;
        while seen.get(at) == Some(&0) {
            if let Some(mark) = seen.get_mut(at) {
                *mark = walk;
            }
            match places.get(at).and_then(|place| place.above) {
                Some((above, _)) => at = above,
                None => break,
            }
        }
        let goes_up = |at: usize| {
            places
                .get(at)
                .and_then(|place| place.above)
                .map(|(above, _)| above)
        };
        if seen.get(at) != Some(&walk) || goes_up(at).is_none() {
            continue;
        }
        // This walk came round to a run of its own.
        let (mut oldest, mut next) = (at, goes_up(at));
        while let Some(here) = next.filter(|here| *here != at) {
            if rank.get(here) < rank.get(oldest) {
                oldest = here;
            }
            next = goes_up(here);
        }
        if next.is_none() {
            continue;
        }
        fault(places, oldest, Fault::Cycle);
        if let Some(place) = places.get_mut(oldest) {
            place.above = None;
        }
    }
}

fn print(places: &[Place], by_age: &[usize]) -> Vec<Node> {
    // What is put on the stack last is printed first: children below what was restarted, each oldest first.
    let mut below: Vec<Vec<(usize, Relation)>> = vec![Vec::new(); places.len()];
    let mut stack = Vec::new();
    for relation in [Relation::Child, Relation::Earlier] {
        for at in by_age.iter().rev() {
            match places.get(*at).and_then(|place| place.above) {
                Some((above, found)) if found == relation => {
                    if let Some(list) = below.get_mut(above) {
                        list.push((*at, found));
                    }
                }
                None if relation == Relation::Child => stack.push((*at, Relation::Root, 0, None)),
                _ => {}
            }
        }
    }
    let mut nodes = Vec::with_capacity(places.len());
    while let Some((index, relation, depth, above)) = stack.pop() {
        let faults = places.get(index).map(|place| place.faults.clone());
        nodes.push(Node {
            index,
            depth,
            relation,
            above,
            faults: faults.unwrap_or_default(),
        });
        for (at, relation) in below.get(index).into_iter().flatten() {
            stack.push((*at, *relation, depth + 1, Some(index)));
        }
    }
    nodes
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn run(id: &str, parent: &str, previous: &str) -> Run<u32> {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Run {
            id: id.to_owned(),
            age: 0,
            parent: some(parent),
            previous: some(previous),
        }
    }

    /// `id` indented by its depth, `<` before an earlier one, faults behind it.
    fn shown(runs: &[Run<u32>]) -> String {
        let lines = tree(runs).into_iter().map(|node| {
            let mark = if node.relation == Relation::Earlier {
                "<"
            } else {
                ""
            };
            let faults: String = node
                .faults
                .iter()
                .map(|fault| format!(" {fault:?}"))
                .collect();
            format!(
                "{}{mark}{}{faults}",
                ".".repeat(node.depth as usize),
                runs[node.index].id
            )
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn trees() {
        for (runs, expected) in [
            (vec![], ""),
            (
                vec![
                    run("a", "", ""),
                    run("b", "a", ""),
                    run("c", "b", ""),
                    run("d", "a", ""),
                ],
                "a\n.b\n..c\n.d",
            ),
            // Restarts: the newest heads, children stay with theirs.
            (
                vec![
                    run("a", "", ""),
                    run("b", "", "a"),
                    run("c", "", "b"),
                    run("x", "a", ""),
                ],
                "c\n.<b\n..<a\n...x",
            ),
            (
                vec![run("p", "", ""), run("a", "p", ""), run("b", "", "a")],
                "p\n.b\n..<a",
            ),
            (
                vec![run("a", "gone", "lost")],
                "a DanglingPrevious DanglingParent",
            ),
            (vec![run("a", "a", "")], "a Cycle"),
            (vec![run("a", "", "a")], "a Cycle"),
            (vec![run("a", "b", ""), run("b", "a", "")], "a Cycle\n.b"),
            (vec![run("a", "", "b"), run("b", "", "a")], "a Cycle\n.<b"),
            // The run that it restarts is its parent, too.
            (vec![run("a", "", ""), run("b", "a", "a")], "a Cycle\n.b"),
            (
                vec![run("a", "", ""), run("b", "", "a"), run("c", "", "a")],
                "b SharedPrevious\nc\n.<a",
            ),
        ] {
            assert_eq!(shown(&runs), expected);
        }
    }

    #[test]
    fn a_chain_of_any_length_is_no_recursion() {
        let runs: Vec<_> = (0..20_000_u32)
            .map(|at| {
                let parent = at.checked_sub(1).map(|before| before.to_string());
                Run {
                    id: at.to_string(),
                    age: at,
                    parent,
                    previous: None,
                }
            })
            .collect();
        assert_eq!(tree(&runs).last().map(|node| node.depth), Some(19_999));
    }

    proptest! {
        #[test]
        fn no_run_ever_disappears(links in prop::collection::vec((0_usize..12, 0_usize..12, 0_u32..4), 0..10)) {
            let name = |at: usize| if at == 11 { String::new() } else { format!("r{at}") };
            let runs: Vec<Run<u32>> = links
                .iter()
                .enumerate()
                .map(|(at, (parent, previous, age))| Run { age: *age, ..run(&name(at), &name(*parent), &name(*previous)) })
                .collect();
            let nodes = tree(&runs);
            let mut found: Vec<usize> = nodes.iter().map(|node| node.index).collect();
            found.sort();
            prop_assert_eq!(found, (0..runs.len()).collect::<Vec<_>>());
            for (at, node) in nodes.iter().enumerate() {
                // Printed behind the run above, one level deeper.
                let above = nodes[..at].iter().rev().find(|other| other.depth < node.depth);
                prop_assert_eq!(above.map(|other| other.index), node.above);
                prop_assert_eq!(node.relation == Relation::Root, node.above.is_none());
            }
        }
    }
}
