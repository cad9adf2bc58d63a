//! The disk store and what lies on the disk, a file here for each kind of it. One process: the races are in
//! `disk_processes`.

mod content;
mod folder;
mod foreign;
mod rights;

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result};
use haversack_host::store::disk::DiskStore;
use haversack_tests::store_calls::failure;
use haversack_tests::table::{Table, Verdict, wanted};

/// Set in the child that runs a test as a user without rights.
const UNPRIVILEGED: &str = "HAVERSACK_TEST_UNPRIVILEGED";
/// `nobody`.
const NOBODY: u32 = 65_534;

/// A test's end other than by an error.
enum Ended {
    Passed,
    NoTool(String),
}
use Ended::{NoTool, Passed};

fn main() -> ExitCode {
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(cause) => {
            eprintln!("no tokio runtime: {cause}");
            return ExitCode::FAILURE;
        }
    };
    if let Ok(directory) = std::env::var(UNPRIVILEGED) {
        return match runtime.block_on(rights::without_permission(Path::new(&directory))) {
            Ok(()) => ExitCode::SUCCESS,
            Err(cause) => {
                eprintln!("without rights: {cause:#}");
                ExitCode::FAILURE
            }
        };
    }
    let mut table = Table::default();
    macro_rules! test {
        ($($group:ident::$name:ident)+) => {$(
            if wanted(stringify!($name)) {
                let start = Instant::now();
                let result = tempfile::tempdir().context("making a directory").and_then(|directory| {
                    runtime.block_on($group::$name(directory.path()))
                });
                let verdict = match result {
                    Ok(Passed) => Verdict::Passed,
                    Ok(NoTool(reason)) => Verdict::NoTool(reason),
                    Err(cause) => Verdict::Failed(format!("{cause:#}")),
                };
                table.add(stringify!($name), verdict, start.elapsed());
            }
        )+};
    }
    test! {
        folder::a_missing_root_says_how_to_go_on
        folder::reading_makes_nothing
        folder::the_folder_is_as_described
        folder::a_higher_format_is_refused
        folder::the_folder_may_vanish
        foreign::links_are_never_followed
        foreign::hard_links_as_the_option_says
        foreign::pipes_and_sockets_are_skipped
        foreign::names_that_are_no_keys_are_skipped
        content::edits_by_hand_change_the_version
        content::metadata_is_bound_to_content
        content::metadata_of_large_objects
        rights::permissions_are_kept
        rights::rights_are_respected
        folder::left_over_scratch_is_swept
        folder::directories_come_and_go
        foreign::other_spellings_on_disks_that_ignore_case
        folder::git_sees_no_change
    }
    table.finish()
}

fn open(directory: &Path) -> Result<DiskStore> {
    DiskStore::open(directory).map_err(failure)
}

/// Names in a directory, sorted.
fn names(directory: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(directory)?;
    let name = |entry: std::io::Result<fs::DirEntry>| -> Result<String> {
        Ok(entry?.file_name().to_string_lossy().into_owned())
    };
    let mut names = entries.map(name).collect::<Result<Vec<_>>>()?;
    names.sort();
    Ok(names)
}
