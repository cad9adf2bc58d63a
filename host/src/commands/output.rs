//! What commands print: text, JSON, tables, and warnings beside them. A closed pipe is an error that
//! `exit::report` knows, not a panic.

use std::io::Write;

use serde::Deserialize;
use serde_json::Value;

/// Text, with a line end after it.
pub fn text(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        out.write_all(b"\n")?;
    }
    Ok(out.flush()?)
}

pub fn json(value: &Value) -> anyhow::Result<()> {
    text(&serde_json::to_string_pretty(value)?)
}

/// A problem record of the contract.
#[derive(Debug, Deserialize)]
pub struct Problem {
    kind: String,
    key: String,
    line: Option<u32>,
    message: String,
}

/// Problems on standard error, one line each, so that standard output stays what was asked for.
pub fn problems(problems: &[Problem]) {
    for Problem {
        kind,
        key,
        line,
        message,
    } in problems
    {
        let line = line
            .map(|line| format!(", line {line}"))
            .unwrap_or_default();
        eprintln!(
            "haversack: {kind}: {}{line}: {}",
            plain(key),
            plain(message)
        );
    }
}

/// Control characters shown, so that no key or file can play with the terminal.
pub fn plain(text: &str) -> String {
    text.chars()
        .map(|c| {
            if c.is_control() || turns_text(c) {
                c.escape_default().to_string()
            } else {
                c.to_string()
            }
        })
        .collect()
}

/// Characters without width, or that turn the direction of what follows.
fn turns_text(c: char) -> bool {
    matches!(c, '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Columns as wide as their widest cell; the last one as long as it is.
pub struct Table {
    rows: Vec<Vec<String>>,
    /// Columns of figures, which stand to the right.
    figures: Vec<usize>,
}

impl Table {
    pub fn new(headings: &[&str]) -> Self {
        Self {
            rows: vec![
                headings
                    .iter()
                    .map(|heading| (*heading).to_owned())
                    .collect(),
            ],
            figures: Vec::new(),
        }
    }

    /// Align this column, counted from 0, to the right.
    pub fn figures(mut self, column: usize) -> Self {
        self.figures.push(column);
        self
    }

    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows
            .push(cells.into_iter().map(|cell| plain(&cell)).collect());
    }

    pub fn print(&self) -> anyhow::Result<()> {
        let columns = self.rows.first().map_or(0, Vec::len);
        let width = |column: usize| {
            self.rows
                .iter()
                .filter_map(|row| row.get(column))
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut lines = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
                let blanks = " ".repeat(width - cell.chars().count());
                let gap = if column == 0 { "" } else { "  " };
                if self.figures.contains(&column) {
                    line.push_str(&format!("{gap}{blanks}{cell}"));
                } else {
                    line.push_str(&format!("{gap}{cell}{blanks}"));
                }
            }
            lines.push_str(line.trim_end());
            lines.push('\n');
        }
        text(&lines)
    }
}
