//! Which system calls proot and what runs under it may make. Everything else is answered as by a kernel that does not have
//! it (ENOSYS), so that programs take their older ways, which proot sees. Knows no paths.
//!
//! proot hands on calls that it does not know. One that takes a path or a handle then reaches the host's files: `statx`,
//! `openat2`, `io_uring`. What it knows is the table in its program; the rule is to allow nothing else, but for `getrandom`.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use rustix::io::Errno;
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch};

use super::Error;

/// An architecture's calls by number.
struct Table {
    arch: TargetArch,
    /// What proot 5.1.0 has in its table (`sysnums-x86_64.h` and `sysnums-arm64.h`, with Debian's additions: the
    /// x86-64 table of the program in Debian's 5.1.0-1.3 has an entry for each number up to 316, `renameat2`).
    known: &'static [RangeInclusive<i64>],
    /// What proot knows, but does not look into though it reaches past its view: [`WITHHELD`].
    withheld: [i64; WITHHELD.len()],
    /// Younger than proot's table. It takes no path, no handle and no process, and Node.js does not start without it.
    getrandom: i64,
}

/// Roots and file systems, handles in the place of paths, events of whole file systems, and the memory of processes that
/// are not in the sandbox. proot itself falls back to `ptrace` for the memory of those that are.
const WITHHELD: [&str; 12] = [
    "chroot",
    "pivot_root",
    "mount",
    "umount2",
    "unshare",
    "setns",
    "name_to_handle_at",
    "open_by_handle_at",
    "fanotify_init",
    "fanotify_mark",
    "process_vm_readv",
    "process_vm_writev",
];

const X86_64: Table = Table {
    arch: TargetArch::x86_64,
    known: &[0..=316],
    withheld: [161, 155, 165, 166, 272, 308, 303, 304, 300, 301, 310, 311],
    getrandom: 318,
};

/// Numbers from 244 to 259 are for single machines, and none has any. Debian's addition is not verified here, so that
/// `renameat2` is left out.
const AARCH64: Table = Table {
    arch: TargetArch::aarch64,
    known: &[0..=243, 260..=272],
    withheld: [51, 41, 40, 39, 97, 268, 264, 265, 262, 263, 270, 271],
    getrandom: 278,
};

/// Calls of another architecture (32-bit ones on a 64-bit machine) end the process.
pub fn program() -> Result<BpfProgram, Error> {
    let name = std::env::consts::ARCH;
    let table = [X86_64, AARCH64]
        .into_iter()
        .find(|table| TargetArch::try_from(name).is_ok_and(|arch| arch == table.arch))
        .ok_or_else(|| {
            Error::Unsupported(format!(
                "the sandbox knows which system calls proot sees on x86_64 and aarch64, not on {name}"
            ))
        })?;
    let refused = |error: seccompiler::BackendError| {
        Error::Unsupported(format!("no filter of system calls: {error}"))
    };
    let missing = SeccompAction::Errno(Errno::NOSYS.raw_os_error().unsigned_abs());
    let filter = SeccompFilter::new(allowed(&table), missing, SeccompAction::Allow, table.arch);
    filter.map_err(refused)?.try_into().map_err(refused)
}

/// Without conditions on what the calls are given.
fn allowed<Rule>(table: &Table) -> BTreeMap<i64, Vec<Rule>> {
    let known = table.known.iter().cloned().flatten();
    let allowed = known.filter(|number| !table.withheld.contains(number));
    let allowed = allowed.chain([table.getrandom]);
    allowed.map(|number| (number, Vec::new())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_past_proot_are_closed_and_what_it_needs_is_open() {
        for (table, open, closed) in [
            // openat, ptrace, wait4, execve, newfstatat, renameat2, getrandom; open_by_handle_at, process_vm_writev,
            // seccomp, execveat, statx, io_uring_setup, openat2, faccessat2, the same as x32.
            (
                X86_64,
                &[257, 101, 61, 59, 262, 316, 318][..],
                &[304, 311, 317, 322, 332, 425, 437, 439, 0x4000_0002][..],
            ),
            (
                AARCH64,
                &[56, 117, 260, 221, 79, 278][..],
                &[265, 271, 276, 277, 281, 291, 425, 437, 439][..],
            ),
        ] {
            let allowed = allowed::<()>(&table);
            for number in open {
                assert!(allowed.contains_key(number), "{number}");
            }
            for number in closed {
                assert!(!allowed.contains_key(number), "{number}");
            }
            for (number, name) in table.withheld.iter().zip(WITHHELD) {
                assert!(table.known.iter().any(|known| known.contains(number)));
                assert!(!allowed.contains_key(number), "{name}");
            }
        }
    }
}
