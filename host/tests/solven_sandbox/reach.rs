//! What a command in a thread must not reach: other threads, by whatever way.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, ensure};

use super::place::{Place, text};
use super::{AS_ADA, THREAD, at, exec};

/// By absolute paths, `..`, and links that are made inside.
pub fn paths(place: &Place) -> anyhow::Result<()> {
    let root = PathBuf::from(&place.address).canonicalize()?;
    let there = root.join("threads/t2/secret.txt").display().to_string();
    let lines = format!(
        "ln -s {there} /one; ln -s ../t2/secret.txt /two; ln -s {}/threads /three; mkdir /d; cd /d; \
         ln {there} /hard; \
         for path in {there} /../t2/secret.txt ../../t2/secret.txt /../../threads/t2/secret.txt /one /two \
         /three/t2/secret.txt /.solven/../../t2/secret.txt /dev/../../t2/secret.txt \
         /usr/../../t2/secret.txt /.solven/skills/user/../../../../threads/t2/secret.txt /hard; \
         do cat $path && echo REACHED $path; done; cat /one > /dev/null || echo end",
        root.display()
    );
    let output = exec(place, &AS_ADA, &["sh", "-c", &lines])?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(said == "end\n", "{said}");
    // Writing through a link that was made inside does not lead there either.
    exec(
        place,
        &[],
        &["sh", "-c", "echo stolen > /one; echo stolen > /two"],
    )?;
    ensure!(std::fs::read_to_string(&there)? == "of t2\n");
    // From outside such a link is reported and not followed.
    let output = place.run(&["files", "ls", THREAD, "/"])?;
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(told.contains("threads/t1/one"), "{told}");
    Ok(())
}

/// Calls that reach files without proot seeing a path, made as such: each is answered ENOSYS (38).
const CALLS: &str = r#"
import ctypes, platform, sys
libc = ctypes.CDLL(None, use_errno=True)
there = sys.argv[1].encode()
room = ctypes.create_string_buffer(4096)
at = -100
first, second = (304, 303) if platform.machine() == "x86_64" else (265, 264)
reads = (310, 311) if platform.machine() == "x86_64" else (270, 271)
statx = 332 if platform.machine() == "x86_64" else 291
execveat = 322 if platform.machine() == "x86_64" else 281
for name, number, arguments in [
    ("statx", statx, (at, there, 0, 0xfff, room)),
    ("openat2", 437, (at, there, ctypes.create_string_buffer(24), 24)),
    ("io_uring_setup", 425, (1, room)),
    ("open_by_handle_at", first, (at, room, 0)),
    ("name_to_handle_at", second, (at, b"/calls.py", room, room, 0)),
    ("process_vm_readv", reads[0], (1, room, 1, room, 1, 0)),
    ("process_vm_writev", reads[1], (1, room, 1, room, 1, 0)),
    ("execveat", execveat, (at, there, 0, 0, 0)),
    ("faccessat2", 439, (at, there, 0, 0)),
    ("open_tree", 428, (at, there, 0)),
    ("of no kernel", 9999, ()),
]:
    ctypes.set_errno(0)
    answer = libc.syscall(number, *arguments)
    print(name, answer, ctypes.get_errno())
"#;
/// `open` as a 32-bit program makes it, from a 64-bit one.
const CALL_32: &str = r#"
import ctypes, mmap
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes([0xb8, 20, 0, 0, 0, 0xcd, 0x80, 0xc3]))
start = ctypes.addressof(ctypes.c_char.from_buffer(code))
print("answered", ctypes.CFUNCTYPE(ctypes.c_int)(start)())
"#;

/// By calls, from a program in the thread.
pub fn calls(place: &Place) -> anyhow::Result<()> {
    if !PathBuf::from("/usr/bin/python3").exists() {
        return Ok(());
    }
    std::fs::write(at(place, "threads/t1/calls.py"), CALLS)?;
    let there = PathBuf::from(&place.address)
        .canonicalize()?
        .join("threads/t2/secret.txt");
    let there = there.to_str().context("UTF-8")?;
    // What it shows is true outside: there the other thread is reached.
    let outside = Command::new("/usr/bin/python3")
        .args(["-c", CALLS, there])
        .output()?;
    let outside = text(outside)?;
    ensure!(outside.contains("statx 0 0"), "{outside}");
    let said = text(exec(place, &[], &["python3", "/calls.py", there])?)?;
    ensure!(said.lines().count() == 11, "{said}");
    for line in said.lines() {
        ensure!(line.ends_with(" -1 38"), "{said}");
    }
    if cfg!(target_arch = "x86_64") {
        let output = exec(place, &[], &["python3", "-c", CALL_32])?;
        // SIGSYS.
        ensure!(output.status.code() == Some(128 + 31), "{output:?}");
        ensure!(output.stdout.is_empty(), "{output:?}");
    }
    Ok(())
}
