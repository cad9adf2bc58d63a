//! `haversack store check` and `haversack store copy` as a user meets them: what they write, print and
//! leave, and how they exit.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// The user that root becomes where permissions are to count.
const NOBODY: u32 = 65_534;

fn haversack() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_haversack"));
    command
        .env_remove("HAVERSACK_STORE")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// A directory to work in, with FROM and TO by short names.
fn workplace() -> TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    for (key, text) in [
        ("notes/a b.md", "spaces"),
        ("notes/ä/日本.md", "letters"),
        ("notes.md", "beside its folder"),
        ("empty", ""),
        ("deep/1/2/3/4", "deep"),
    ] {
        write(&directory, &format!("from/{key}"), text);
    }
    directory
}

fn write(directory: &TempDir, name: &str, text: &str) {
    let path = directory.path().join(name);
    fs::create_dir_all(path.parent().expect("a parent")).expect("made");
    fs::write(path, text).expect("written");
}

fn read(directory: &TempDir, name: &str) -> Option<String> {
    fs::read_to_string(directory.path().join(name)).ok()
}

fn store(directory: &TempDir, arguments: &[&str]) -> Output {
    let mut command = haversack();
    command.current_dir(directory.path()).arg("store");
    command.args(arguments).output().expect("haversack starts")
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

fn ends(output: &Output, code: i32, names: &[&str]) {
    let message = err(output);
    assert_eq!(output.status.code(), Some(code), "{message}");
    for name in names {
        assert!(message.contains(name), "{message:?} does not name {name:?}");
    }
}

fn json(output: &Output) -> Value {
    serde_json::from_str(&out(output)).expect("JSON on standard output")
}

/// Everything below a folder but the store's own, as it lies there.
fn files(path: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![path.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("listed").flatten() {
            let entry = entry.path();
            if entry.ends_with(".haversack") {
                continue;
            }
            if entry.is_dir() {
                folders.push(entry.clone());
            }
            let name = entry.strip_prefix(path).expect("below");
            found.push(name.display().to_string());
        }
    }
    found.sort();
    found
}

#[test]
fn a_good_store_passes_and_keeps_what_it_had() {
    let place = workplace();
    let before = files(&place.path().join("from"));
    let output = store(&place, &["check", "from"]);
    ends(&output, 0, &[]);
    let table = out(&output);
    for group in ["reads", "concat", "upload", "races"] {
        assert!(table.contains(group), "{table}");
    }
    assert_eq!(err(&output), "", "no bar where no terminal is");
    assert_eq!(files(&place.path().join("from")), before);
    let scratch = fs::read_dir(place.path().join("from/.haversack/scratch")).expect("scratch");
    assert_eq!(scratch.count(), 0);
}

#[test]
fn an_interrupted_check_clears_up_and_says_so() {
    let place = workplace();
    let from = place.path().join("from");
    let before = files(&from);
    let mut command = haversack();
    command.args(["store", "check", "--json"]).arg(&from);
    let child = command.spawn().expect("haversack starts");
    // Its first objects show that it runs, and it runs for seconds.
    while files(&from) == before {
        std::thread::sleep(Duration::from_millis(1));
    }
    let pid = Pid::from_raw(child.id() as i32).expect("a process");
    kill_process(pid, Signal::INT).expect("interrupted");
    let output = child.wait_with_output().expect("an end");
    ends(&output, 1, &["stopped after", "removed again"]);
    assert_eq!(files(&from), before);
    let answer = json(&output);
    assert_eq!(answer["complete"], false);
    assert_eq!(answer["described"]["kind"], "disk");
    for check in answer["checks"].as_array().expect("checks") {
        assert_eq!(check["verdict"], "passed", "{check}");
    }
}

#[test]
fn a_directory_without_permission_to_write_is_one_clear_line() {
    let place = tempfile::tempdir().expect("a directory");
    let closed = place.path().join("closed");
    fs::create_dir(&closed).expect("made");
    for path in [place.path(), &closed] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o555)).expect("closed");
    }
    let is_root = fs::metadata(place.path()).expect("there").uid() == 0;
    for arguments in [
        &["store", "check", "closed"][..],
        &["store", "copy", "closed", "missing"],
    ] {
        let mut command = haversack();
        command.current_dir(place.path()).args(arguments);
        if is_root {
            command.uid(NOBODY).gid(NOBODY);
        }
        let output = command.output().expect("haversack starts");
        ends(&output, 5, &["ermission denied"]);
        assert_eq!(err(&output).lines().count(), 1, "{}", err(&output));
        assert_eq!(out(&output), "");
    }
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).expect("opened");
}

#[test]
fn a_second_copy_finds_everything_equal() {
    let place = workplace();
    let output = store(&place, &["copy", "from", "to"]);
    ends(&output, 0, &["made the directory to"]);
    let from = files(&place.path().join("from"));
    assert_eq!(files(&place.path().join("to")), from);
    assert_eq!(
        read(&place, "to/notes/ä/日本.md").as_deref(),
        Some("letters")
    );
    assert_eq!(read(&place, "to/empty").as_deref(), Some(""));

    let output = store(&place, &["copy", "from", "to", "--json"]);
    ends(&output, 0, &[]);
    let answer = json(&output);
    assert_eq!(answer["copied"]["objects"], 0);
    assert_eq!(answer["equal"]["objects"], 5);
    let bytes: u64 = ["spaces", "letters", "beside its folder", "", "deep"]
        .map(|text| text.len() as u64)
        .iter()
        .sum();
    assert_eq!(answer["equal"]["bytes"], bytes);
}

#[test]
fn what_differs_is_kept_and_named_until_it_may_be_replaced() {
    let place = workplace();
    write(&place, "to/notes.md", "older");
    write(&place, "to/deep/1/2/3/4", "deeP");
    write(&place, "to/only here", "stays");
    let output = store(&place, &["copy", "from", "to"]);
    ends(
        &output,
        7,
        &[
            "different: notes.md: 17 bytes in the source, 5 in the target",
            "different: deep/1/2/3/4: other bytes of the same length",
            "2 objects are different in to and kept; --replace",
        ],
    );
    assert!(
        out(&output).contains("copied           3"),
        "{}",
        out(&output)
    );
    assert_eq!(read(&place, "to/notes.md").as_deref(), Some("older"));
    assert_eq!(read(&place, "to/notes/a b.md").as_deref(), Some("spaces"));

    let output = store(&place, &["copy", "from", "to", "--replace", "--dry-run"]);
    ends(&output, 0, &[]);
    let plan = out(&output);
    assert!(plan.contains("replace         17 B  notes.md"), "{plan}");
    assert_eq!(read(&place, "to/notes.md").as_deref(), Some("older"));

    let output = store(&place, &["copy", "from", "to", "--replace", "--json"]);
    ends(&output, 0, &[]);
    assert_eq!(json(&output)["replaced"]["objects"], 2);
    assert_eq!(json(&output)["equal"]["objects"], 3);
    assert_eq!(
        read(&place, "to/notes.md").as_deref(),
        Some("beside its folder")
    );
    assert_eq!(read(&place, "to/only here").as_deref(), Some("stays"));
}

#[test]
fn a_prefix_ends_at_a_slash() {
    let place = workplace();
    for prefix in ["notes", "notes/"] {
        let output = store(&place, &["copy", "from", "to", "--prefix", prefix]);
        ends(&output, 0, &[]);
        let copied = files(&place.path().join("to"));
        assert_eq!(
            copied,
            ["notes", "notes/a b.md", "notes/ä", "notes/ä/日本.md"]
        );
    }
    let output = store(&place, &["copy", "from", "to", "--prefix", "note"]);
    ends(&output, 3, &["nothing lies below note in from"]);
    for prefix in ["..", "/notes", ".haversack", ""] {
        let output = store(&place, &["copy", "from", "to", "--prefix", prefix]);
        ends(&output, 2, &["prefix"]);
    }
}

#[test]
fn a_dry_run_writes_nothing() {
    let place = workplace();
    let output = store(&place, &["copy", "from", "to", "--dry-run"]);
    ends(&output, 0, &[]);
    let plan = out(&output);
    assert!(
        plan.contains("copy             6 B  notes/a b.md"),
        "{plan}"
    );
    assert!(plan.contains("would be copied        5"), "{plan}");
    assert_eq!(files(place.path()), {
        let from = files(&place.path().join("from")).into_iter();
        let mut expected: Vec<_> = from.map(|name| format!("from/{name}")).collect();
        expected.insert(0, "from".to_owned());
        expected
    });
    assert!(!place.path().join("from/.haversack").exists());

    let output = store(&place, &["copy", "from", "to", "--dry-run", "--json"]);
    let answer = json(&output);
    assert_eq!(answer["dry-run"], true);
    assert_eq!(answer["copied"]["objects"], 5);
    assert_eq!(answer["details"][0]["outcome"], "copy");
}

#[test]
fn what_is_no_object_is_named_and_all_else_copied() {
    let place = workplace();
    std::os::unix::fs::symlink("/etc", place.path().join("from/link")).expect("linked");
    write(&place, "to/blocked/x", "an object below");
    write(&place, "from/blocked", "an object where a folder is");
    let output = store(&place, &["copy", "from", "to", "--json"]);
    ends(
        &output,
        2,
        &["skipped: link: a symbolic link", "failed: ", "\"blocked\""],
    );
    let answer = json(&output);
    assert_eq!(answer["skipped"], 1);
    assert_eq!(answer["failed"]["objects"], 1);
    assert_eq!(answer["copied"]["objects"], 5);
    let details = answer["details"].as_array().expect("details");
    let keys: Vec<_> = details.iter().map(|detail| &detail["key"]).collect();
    assert!(keys.contains(&&Value::from("link")) && keys.contains(&&Value::from("blocked")));

    fs::remove_file(place.path().join("from/blocked")).expect("removed");
    let output = store(&place, &["copy", "from", "to"]);
    ends(&output, 5, &["not everything in from is copied: 1 skipped"]);
}

#[test]
fn a_store_is_not_copied_into_itself() {
    let place = workplace();
    for (from, to, what) in [
        ("from", "from", "the same store"),
        ("from", "./from/../from", "the same store"),
        ("from", "from/notes", "TO (from/notes) lies inside FROM"),
        ("from", "from/not/yet", "TO (from/not/yet) lies inside FROM"),
        ("from/notes", "from", "FROM (from/notes) lies inside TO"),
    ] {
        let output = store(&place, &["copy", from, to]);
        ends(&output, 2, &[what]);
        assert!(
            !place.path().join("from/.haversack").exists(),
            "{from} {to}"
        );
    }
    let output = store(&place, &["copy", "from", "from-2"]);
    ends(&output, 0, &[]);
    ends(&store(&place, &["copy", "nowhere", "to"]), 4, &["nowhere"]);
    ends(&store(&place, &["check", "nowhere"]), 4, &["nowhere"]);
    assert!(!place.path().join("to").exists());
}

#[test]
fn the_number_of_requests_has_bounds() {
    let place = workplace();
    for (number, code) in [("0", 2), ("1", 0), ("1000", 0), ("1001", 2)] {
        let output = store(
            &place,
            &["copy", "from", "to", "--requests-at-once", number],
        );
        ends(&output, code, &[]);
    }
}

/// Linux says how much memory a process ever had.
#[cfg(target_os = "linux")]
mod memory {
    use super::*;

    const PEAK_KIB_MAX: u64 = 256 << 10;

    /// Copy `count` objects of `size_bytes` and answer the most memory that the process ever had, in KiB.
    fn peak_kib(count: u64, size_bytes: u64) -> u64 {
        let place = tempfile::tempdir().expect("a directory");
        fs::create_dir(place.path().join("from")).expect("made");
        for number in 0..count {
            let path = place.path().join(format!("from/{number}"));
            let file = fs::File::create(path).expect("made");
            // A hole costs nothing to make; what is written of it is real.
            file.set_len(size_bytes).expect("grown");
        }
        let mut command = haversack();
        command.current_dir(place.path());
        command.args(["store", "copy", "from", "to"]);
        let mut child = command.spawn().expect("haversack starts");
        let status = format!("/proc/{}/status", child.id());
        let mut peak = 0;
        while child.try_wait().expect("a child").is_none() {
            let text = fs::read_to_string(&status).unwrap_or_default();
            let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            if let Some(kib) = line.and_then(|line| line.trim().strip_suffix(" kB")) {
                peak = kib.parse().expect("a number");
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        ends(&child.wait_with_output().expect("an end"), 0, &[]);
        for number in 0..count {
            let copy = fs::metadata(place.path().join(format!("to/{number}"))).expect("copied");
            assert_eq!(copy.len(), size_bytes);
        }
        assert!(peak > 0, "no VmHWM in {status}");
        peak
    }

    #[test]
    fn a_large_object_needs_little_memory() {
        let peak = peak_kib(1, 300 << 20);
        assert!(peak < PEAK_KIB_MAX, "{peak} KiB");
    }

    #[test]
    fn many_objects_of_the_largest_value_need_little_memory() {
        let peak = peak_kib(80, 8 << 20);
        assert!(peak < PEAK_KIB_MAX, "{peak} KiB");
    }

    #[test]
    #[ignore = "writes 2 GiB"]
    fn an_object_of_2_gib_needs_little_memory() {
        let peak = peak_kib(1, 2 << 30);
        assert!(peak < PEAK_KIB_MAX, "{peak} KiB");
    }
}
