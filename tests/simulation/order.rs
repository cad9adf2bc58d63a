//! Whether a history equals some order of its operations: each takes effect at once, at some moment between
//! its first call and its acknowledgement, and every look and answer fits. Knows no store.

use crate::scenario::Scenario;

/// What happened, in the order in which it happened. Operations are named by their index.
pub enum Event<S: Scenario> {
    Called(usize),
    Answered(usize, S::Answer),
    Looked(S::View),
}

impl<S: Scenario> Clone for Event<S> {
    fn clone(&self) -> Self {
        match self {
            Event::Called(operation) => Event::Called(*operation),
            Event::Answered(operation, answer) => Event::Answered(*operation, answer.clone()),
            Event::Looked(view) => Event::Looked(view.clone()),
        }
    }
}

/// One way in which things may stand: the model, and which of the open operations have happened to it.
struct Way<M> {
    model: M,
    happened: Vec<usize>,
}

/// None when there is such an order; else the first event that no order explains.
pub fn unexplained<S: Scenario>(
    scenario: &S,
    operations: &[S::Operation],
    events: &[Event<S>],
) -> Option<String> {
    let mut answers: Vec<Option<&S::Answer>> = vec![None; operations.len()];
    for event in events {
        if let Event::Answered(operation, answer) = event {
            answers[*operation] = Some(answer);
        }
    }
    let mut open: Vec<usize> = Vec::new();
    let mut ways = vec![Way {
        model: scenario.model(),
        happened: Vec::new(),
    }];
    for event in events {
        if let Event::Called(operation) = event {
            open.push(*operation);
            continue;
        }
        let before: Vec<S::Model> = ways.iter().map(|way| way.model.clone()).collect();
        spread(scenario, operations, &answers, &open, &mut ways);
        let what = match event {
            Event::Called(_) => continue,
            Event::Answered(operation, answer) => {
                ways.retain(|way| way.happened.contains(operation));
                for way in &mut ways {
                    way.happened.retain(|happened| happened != operation);
                }
                open.retain(|other| other != operation);
                if !ways.is_empty() {
                    continue;
                }
                format!("{:?} was answered {answer:?}", operations[*operation])
            }
            Event::Looked(view) => {
                ways.retain(|way| scenario.shown(&way.model) == *view);
                if !ways.is_empty() {
                    continue;
                }
                format!("a reader saw {view:?}")
            }
        };
        let before: Vec<String> = before.iter().map(|model| format!("{model:?}")).collect();
        let open: Vec<_> = open.iter().map(|open| &operations[*open]).collect();
        return Some(format!(
            "no order of the operations explains that {what}; before it stood {}; open were {open:?}",
            before.join(" or ")
        ));
    }
    None
}

/// Add every way that open operations can lead to from those there are.
fn spread<S: Scenario>(
    scenario: &S,
    operations: &[S::Operation],
    answers: &[Option<&S::Answer>],
    open: &[usize],
    ways: &mut Vec<Way<S::Model>>,
) {
    let mut next = 0;
    while next < ways.len() {
        for operation in open {
            if ways[next].happened.contains(operation) {
                continue;
            }
            let mut model = ways[next].model.clone();
            if !scenario.apply(&mut model, &operations[*operation], answers[*operation]) {
                continue;
            }
            let mut happened = ways[next].happened.clone();
            happened.push(*operation);
            happened.sort_unstable();
            let known = |way: &Way<S::Model>| way.happened == happened && way.model == model;
            if !ways.iter().any(known) {
                ways.push(Way { model, happened });
            }
        }
        next += 1;
    }
}
