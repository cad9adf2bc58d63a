//! How far a long run is, on standard error and only where that is a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// A bar of `length` steps with `{msg}` behind it; with none, something that moves.
pub fn bar(length: Option<u64>) -> anyhow::Result<ProgressBar> {
    let (bar, template) = match length {
        Some(length) => (ProgressBar::new(length), "{bar:30} {pos}/{len}  {msg}"),
        None => (ProgressBar::new_spinner(), "{spinner} {elapsed}  {msg}"),
    };
    bar.set_style(ProgressStyle::with_template(template)?.progress_chars("=> "));
    if !bar.is_hidden() {
        bar.enable_steady_tick(Duration::from_millis(200));
    }
    Ok(bar)
}
