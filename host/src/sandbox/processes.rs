//! The processes of a sandbox: those that proot traces, whatever became of their parents. Knows `/proc` only.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};

/// Send a signal to each of them; proot itself ignores nearly all.
pub fn signal(proot: u32, signal: Signal) {
    for process in traced_by(proot) {
        // It may have ended by itself.
        let _ = kill_process(process, signal);
    }
}

fn traced_by(tracer: u32) -> Vec<Pid> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let numbers = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let traced = numbers.filter(|number| {
        let status = fs::read_to_string(format!("/proc/{number}/status"));
        status.is_ok_and(|status| tracer_in(&status) == Some(tracer))
    });
    traced.filter_map(Pid::from_raw).collect()
}

fn tracer_in(status: &str) -> Option<u32> {
    let mut lines = status.lines();
    lines.find_map(|line| line.strip_prefix("TracerPid:")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tracer_stands_in_the_status() {
        assert_eq!(tracer_in("Name:\tsh\nTracerPid:\t42\nUid:\t0\n"), Some(42));
        assert_eq!(tracer_in("Name:\tTracerPid: 7\n"), None);
        assert!(traced_by(std::process::id()).is_empty());
    }
}
