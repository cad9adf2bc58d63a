//! The table of lines that are secrets, and of lines that only look odd. All are invented; a `¦`, which is taken
//! out here, keeps other scanners from taking this repository for leaking.

use haversack_core::transform::secrets::of_line;

const SECRET: &str = include_str!("secrets/secret.txt");
const ODD: &str = include_str!("secrets/odd.txt");
const LINES: usize = 30;

fn lines(table: &str) -> Vec<String> {
    let lines: Vec<String> = table.lines().map(|line| line.replace('¦', "")).collect();
    assert_eq!(lines.len(), LINES);
    lines
}

#[test]
fn every_secret_is_found() {
    let missed: Vec<_> = lines(SECRET)
        .into_iter()
        .filter(|line| of_line(line).is_none())
        .collect();
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn nothing_that_only_looks_odd_is_refused() {
    let refused: Vec<_> = lines(ODD)
        .into_iter()
        .filter_map(|line| of_line(&line).map(|what| (line, what)))
        .collect();
    assert!(refused.is_empty(), "{refused:#?}");
}
