//! Commands in the view of a thread, under real proot: what they see, what they may change, and what they cannot reach.

#[allow(dead_code)] // Sessions need more of it.
#[path = "sessions/place.rs"]
mod place;
#[path = "solven_sandbox/reach.rs"]
mod reach;

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::{Command, ExitCode, Output, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};
use haversack_tests::lives::{Life, run};
use haversack_tests::server::Server;
use haversack_tests::table::{Table, Verdict};
use place::{Place, fails, text};

const THREAD: &str = "solven:t1";
const AS_ADA: [&str; 4] = ["--user", "ada", "--ticket", "t9"];

const MOUNTED: Life<Place> = ("a mount of it", mounted);
const TESTS: [Life<Place>; 11] = [
    ("what a command sees", view),
    ("what it writes is in the store at once", at_once),
    ("skills and the ticket", copies),
    ("python is the thread's, and node runs", languages),
    ("no other thread by any path", reach::paths),
    (
        "no other thread by a call that proot does not know",
        reach::calls,
    ),
    ("codes, input and what is left running", endings),
    ("signals", signals),
    ("several in one thread", together),
    ("a bucket needs a mount", mount_is_needed),
    ("what cannot be says why", refusals),
];

fn main() -> ExitCode {
    let mut table = Table::default();
    match able() {
        Ok(()) => {
            for life in &TESTS {
                run(&mut table, "disk", life, laid_out());
            }
        }
        Err(verdict) => {
            table.add("disk", verdict, Duration::ZERO);
            return table.finish();
        }
    }
    match Server::start() {
        Ok(server) => run(&mut table, "bucket", &MOUNTED, Place::in_bucket(&server, 0)),
        Err(verdict) => table.add("bucket", verdict, Duration::ZERO),
    }
    table.finish()
}

/// Whether this machine has proot, and lets it trace.
fn able() -> Result<(), Verdict> {
    let tried = Command::new("proot")
        .args(["-r", "/", "/bin/true"])
        .output();
    let tried = tried.map_err(|error| Verdict::NoTool(format!("proot: {error}")))?;
    if tried.status.success() {
        return Ok(());
    }
    let told = String::from_utf8_lossy(&tried.stderr).into_owned();
    Err(Verdict::Skipped(format!("proot cannot trace here: {told}")))
}

/// Two threads, a ticket, skills of the system and of two users.
fn laid_out() -> anyhow::Result<Place> {
    let place = Place::on_disk()?;
    for (key, body) in [
        ("threads/t1/a.txt", "of t1\n"),
        ("threads/t2/secret.txt", "of t2\n"),
        ("threads/t9/ticket.md", "of t9\n"),
        ("skills/system/pdf/SKILL.md", "of all\n"),
        ("skills/system/pdf/run.sh", "#!/bin/sh\necho ran\n"),
        ("skills/ada/tea/SKILL.md", "of ada\n"),
        ("skills/bob/tea/SKILL.md", "of bob\n"),
    ] {
        let path = at(&place, key);
        std::fs::create_dir_all(path.parent().context("a directory")?)?;
        std::fs::write(path, body)?;
    }
    let script = at(&place, "skills/system/pdf/run.sh");
    std::fs::set_permissions(script, std::fs::Permissions::from_mode(0o755))?;
    Ok(place)
}

fn at(place: &Place, key: &str) -> PathBuf {
    PathBuf::from(&place.address).join(key)
}

fn exec(place: &Place, more: &[&str], command: &[&str]) -> anyhow::Result<Output> {
    place.run(&[&["thread", "exec", THREAD], more, &["--"], command].concat())
}

/// What a shell prints that runs these lines.
fn sh(place: &Place, more: &[&str], lines: &str) -> anyhow::Result<String> {
    text(exec(place, more, &["sh", "-c", lines])?)
}

/// Everything in the store by name, also empty directories, but not haversack's own.
fn names(place: &Place) -> anyhow::Result<Vec<String>> {
    let found = Command::new("find")
        .args([".", "-path", "./.haversack", "-prune", "-o", "-print"])
        .current_dir(&place.address)
        .output()?;
    let mut names: Vec<String> = text(found)?.lines().map(str::to_owned).collect();
    names.sort();
    Ok(names)
}

fn view(place: &Place) -> anyhow::Result<()> {
    let before = names(place)?;
    let system = [
        "bin", "dev", "etc", "lib", "lib32", "lib64", "libx32", "sbin", "usr",
    ];
    let system = system
        .into_iter()
        .filter(|name| PathBuf::from("/").join(name).is_dir());
    let mut expected: Vec<&str> = system.chain([".solven", "a.txt"]).collect();
    expected.sort_unstable();
    let seen = sh(place, &[], "LC_ALL=C ls -A /")?;
    ensure!(seen.lines().eq(expected.iter().copied()), "{seen}");

    expected.push(".ticket");
    expected.sort_unstable();
    let seen = sh(place, &AS_ADA, "LC_ALL=C ls -A /")?;
    ensure!(seen.lines().eq(expected.iter().copied()), "{seen}");
    let seen = sh(
        place,
        &AS_ADA,
        "LC_ALL=C ls -A /.solven /.solven/skills /.ticket",
    )?;
    let expected =
        "/.solven:\nskills\n\n/.solven/skills:\nada\nsystem\nuser\n\n/.ticket:\nticket.md\n";
    ensure!(seen == expected, "{seen}");

    let long = sh(place, &[], "ls -l /a.txt; ls -ld /usr; stat -c %s /a.txt")?;
    ensure!(
        long.contains(" 6 ") && long.contains("/usr") && long.ends_with("\n6\n"),
        "{long}"
    );
    let said = sh(place, &[], "pwd; echo $HOME $USER; env")?;
    ensure!(said.starts_with("/\n/ user\n"), "{said}");
    // The caller's names and secrets are not the command's.
    ensure!(
        !said.contains("AWS_") && !said.contains("HAVERSACK_"),
        "{said}"
    );
    // Neither proot's mount points nor ours stay.
    ensure!(names(place)? == before, "{:?}", names(place)?);
    Ok(())
}

fn at_once(place: &Place) -> anyhow::Result<()> {
    let mut child = place
        .command(&["thread", "exec", THREAD, "--", "sh", "-c"])
        .arg("mkdir /out && echo new > /out/b.txt && rm /a.txt && echo ready && read line && echo $line")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut said = std::io::BufReader::new(child.stdout.take().context("no pipe")?);
    let mut line = String::new();
    std::io::BufRead::read_line(&mut said, &mut line)?;
    ensure!(line == "ready\n", "{line}");
    // While the command still runs.
    let seen = text(place.run(&["files", "cat", THREAD, "/out/b.txt"])?)?;
    let listed = text(place.run(&["files", "ls", THREAD, "/"])?)?;
    std::io::Write::write_all(&mut child.stdin.take().context("no pipe")?, b"go on\n")?;
    line.clear();
    std::io::BufRead::read_line(&mut said, &mut line)?;
    ensure!(child.wait()?.success() && line == "go on\n", "{line}");
    ensure!(seen == "new\n", "{seen}");
    ensure!(
        !listed.contains("a.txt") && !listed.contains("usr"),
        "{listed}"
    );
    Ok(())
}

fn copies(place: &Place) -> anyhow::Result<()> {
    symlink("/etc/passwd", at(place, "threads/t9/link"))?;
    let output = exec(
        place,
        &AS_ADA,
        &[
            "sh",
            "-c",
            "cat /.solven/skills/system/pdf/SKILL.md /.solven/skills/user/tea/SKILL.md /.ticket/ticket.md
             /.solven/skills/system/pdf/run.sh
             echo changed > /.solven/skills/system/pdf/SKILL.md; rm /.solven/skills/system/pdf/run.sh
             echo changed > /.ticket/ticket.md; echo new > /.ticket/new; echo new > /.solven/new
             echo changed > /.solven/skills/ada/tea/SKILL.md; echo new > /.solven/skills/user/new
             cat /.solven/skills/system/pdf/SKILL.md; ls /.solven/skills/bob; ls -A /.ticket/link",
        ],
    )?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(said == "of all\nof ada\nof t9\nran\nchanged\n", "{said}");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(told.contains("not in the copy: threads/t9/link"), "{told}");
    for (key, body) in [
        ("skills/system/pdf/SKILL.md", "of all\n"),
        ("skills/system/pdf/run.sh", "#!/bin/sh\necho ran\n"),
        ("threads/t9/ticket.md", "of t9\n"),
        ("skills/ada/tea/SKILL.md", "changed\n"),
        ("skills/ada/new", "new\n"),
    ] {
        let now = std::fs::read_to_string(at(place, key)).context(key)?;
        ensure!(now == body, "{key}: {now}");
    }
    ensure!(!at(place, "threads/t9/new").exists());
    ensure!(!at(place, "threads/t1/.solven").exists());
    let again = sh(
        place,
        &AS_ADA,
        "cat /.solven/skills/system/pdf/SKILL.md; ls /.solven",
    )?;
    ensure!(again == "of all\nskills\n", "{again}");
    // A user without skills can write some; one who writes none leaves nothing.
    sh(place, &["--user", "eve"], "ls /.solven/skills/eve")?;
    ensure!(!at(place, "skills/eve").exists());
    sh(
        place,
        &["--user", "eve"],
        "echo new > /.solven/skills/user/x",
    )?;
    ensure!(at(place, "skills/eve/x").is_file());
    Ok(())
}

fn languages(place: &Place) -> anyhow::Result<()> {
    // With threads, a child and random numbers of its own; where this machine has one.
    if sh(place, &[], "command -v node || true")?.contains("/usr/") {
        let program = "new (require('worker_threads').Worker)('', {eval: true});
            require('child_process').execSync('echo child', {stdio: 'inherit'});
            require('fs').writeFileSync('/node.txt', 'written')";
        let said = text(exec(place, &[], &["node", "-e", program])?)?;
        ensure!(said == "child\n", "{said}");
        let written = std::fs::read_to_string(at(place, "threads/t1/node.txt"))?;
        ensure!(written == "written", "{written}");
    }
    if !PathBuf::from("/usr/bin/python3").exists() {
        return Ok(());
    }
    let which = "python3 -c 'import sys; print(sys.prefix)'";
    let before = sh(place, &[], which)?;
    ensure!(!before.contains(".venv"), "{before}");
    sh(place, &[], "python3 -m venv --without-pip /.venv")?;
    let said = sh(
        place,
        &[],
        "python -c 'import sys; print(sys.executable, sys.prefix)'; command -v python",
    )?;
    ensure!(
        said == "/.venv/bin/python /.venv\n/.venv/bin/python\n",
        "{said}"
    );
    ensure!(at(place, "threads/t1/.venv/pyvenv.cfg").is_file());
    Ok(())
}

fn endings(place: &Place) -> anyhow::Result<()> {
    for (command, code) in [
        (&["true"][..], 0),
        (&["sh", "-c", "exit 7"], 7),
        (&["sh", "-c", "exit 255"], 255),
        (&["sh", "-c", "kill -9 $$"], 137),
        (&["sh", "-c", "kill -TERM $$"], 143),
        (&["no-such-program"], 127),
        (&["exit", "5"], 5),
        (&["/a.txt"], 126),
        // What is left running counts for nothing, and ends.
        (&["sh", "-c", "sleep 600 & exit 3"], 3),
        (&["sh", "-c", "(trap '' TERM HUP; sleep 600) & exit 0"], 0),
    ] {
        let output = exec(place, &[], command)?;
        ensure!(
            output.status.code() == Some(code),
            "{command:?}: {output:?}"
        );
    }
    let words = exec(
        place,
        &[],
        &["printf", "%s|", "a b", "$HOME", "-r", "", "é\n"],
    )?;
    ensure!(text(words)? == "a b|$HOME|-r||é\n|");
    let mut child = place
        .command(&["thread", "exec", THREAD, "--", "tr", "a-z", "A-Z"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    std::io::Write::write_all(&mut child.stdin.take().context("no pipe")?, b"from outside")?;
    ensure!(text(child.wait_with_output()?)? == "FROM OUTSIDE");
    Ok(())
}

/// A signal to haversack is the command's, and what was made for it goes all the same.
fn signals(place: &Place) -> anyhow::Result<()> {
    let before = names(place)?;
    let scratch = place.folder.path().join("scratch");
    std::fs::create_dir(&scratch)?;
    for (lines, code) in [
        ("trap 'exit 9' TERM; echo ready; sleep 600 & wait", 9),
        ("echo ready; sleep 600", 143),
    ] {
        let mut child = place
            .command(
                &[
                    &["thread", "exec", THREAD],
                    &AS_ADA[..],
                    &["--", "sh", "-c", lines],
                ]
                .concat(),
            )
            .env("TMPDIR", &scratch)
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        let mut said = std::io::BufReader::new(child.stdout.take().context("no pipe")?);
        std::io::BufRead::read_line(&mut said, &mut line)?;
        let during = std::fs::read_dir(&scratch)?.count();
        let sent = Command::new("kill")
            .args(["-TERM", &child.id().to_string()])
            .status()?;
        let status = child.wait()?;
        ensure!(
            line == "ready\n" && sent.success() && during == 1,
            "{line} {during}"
        );
        ensure!(status.code() == Some(code), "{lines}: {status:?}");
        ensure!(std::fs::read_dir(&scratch)?.next().is_none());
    }
    ensure!(names(place)? == before, "{:?}", names(place)?);
    Ok(())
}

/// One that ends takes nothing away from those that go on.
fn together(place: &Place) -> anyhow::Result<()> {
    let before = names(place)?;
    let mut running = Vec::new();
    for _ in 0..4 {
        let line = "read line; LC_ALL=C ls -A /; cd /.solven/skills/user && echo x > $$ && rm $$";
        let words = [
            "thread", "exec", THREAD, "--user", "eve", "--", "sh", "-c", line,
        ];
        let mut command = place.command(&words);
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        running.push(piped.spawn()?);
    }
    let mut said = Vec::new();
    for mut child in running {
        std::io::Write::write_all(&mut child.stdin.take().context("no pipe")?, b"go\n")?;
        said.push(text(child.wait_with_output()?)?);
    }
    let whole = sh(place, &[], "LC_ALL=C ls -A /")?;
    for seen in said {
        ensure!(seen == whole, "{seen}");
    }
    ensure!(names(place)? == before, "{:?}", names(place)?);
    Ok(())
}

fn mount_is_needed(place: &Place) -> anyhow::Result<()> {
    let bucket = ["--store", "s3://bucket", "--endpoint", "http://127.0.0.1:9"];
    let output = exec(place, &bucket, &["true"])?;
    fails(&output, 2, &["s3://bucket is a bucket", "--mount DIR"])?;
    let output = exec(place, &["--mount", &place.address], &["true"])?;
    fails(&output, 2, &["--mount is for buckets"])
}

/// The store is the bucket, and a directory with the same files is in the place of a mount: copies come from the bucket, the
/// thread and the user's skills are those of the mount.
fn mounted(place: &Place) -> anyhow::Result<()> {
    let files = laid_out()?;
    text(place.run(&["store", "copy", &files.address, &place.address])?)?;
    let mount = ["--mount", &files.address, "--user", "ada", "--ticket", "t9"];
    std::fs::write(at(&files, "threads/t9/ticket.md"), "only in the mount\n")?;
    let lines =
        "cat /a.txt /.ticket/ticket.md && /.solven/skills/system/pdf/run.sh && echo new > /new.txt";
    let said = sh(place, &mount, lines)?;
    ensure!(said == "of t1\nof t9\nran\n", "{said}");
    ensure!(at(&files, "threads/t1/new.txt").is_file());
    let empty = place.folder.path().join("empty");
    std::fs::create_dir(&empty)?;
    let empty = empty.display().to_string();
    let output = exec(place, &["--mount", &empty], &["true"])?;
    fails(&output, 3, &["looking for the thread at", "threads/t1"])
}

fn refusals(place: &Place) -> anyhow::Result<()> {
    // What an earlier command may have left where the store has a directory.
    let skills = at(place, "skills/eve");
    std::os::unix::fs::symlink("../threads/t2", &skills)?;
    let output = exec(place, &["--user", "eve"], &["true"])?;
    fails(&output, 5, &["skills/eve is a symbolic link", "remove it"])?;
    std::fs::remove_file(&skills)?;
    let before = names(place)?;
    let inside = at(place, "threads").display().to_string();
    for (words, code, told) in [
        (
            &["solven:nobody", "--", "true"][..],
            3,
            "nothing lies in thread nobody",
        ),
        (&["solven:../t2", "--", "true"], 2, "thread id"),
        (
            &["solven:t1", "--user", "system", "--", "true"],
            2,
            "user id",
        ),
        (&["gsv:hera", "--", "true"], 6, "no sandbox"),
        (
            &["solven:t1", "--system-dir", "/no/such", "--", "true"],
            3,
            "/no/such",
        ),
        (
            &["solven:t1", "--system-dir", &inside, "--", "true"],
            2,
            "other threads",
        ),
        (
            &["solven:t1", "--system-dir", "/", "--", "true"],
            2,
            "below /",
        ),
    ] {
        let output = place.run(&[&["thread", "exec"], words].concat())?;
        fails(&output, code, &[told]).with_context(|| words.join(" "))?;
    }
    for words in [
        &["thread", "exec", THREAD][..],
        &["thread", "exec", THREAD, "--"],
    ] {
        let output = place.run(words)?;
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(
            output.status.code() == Some(2) && told.contains("CMD"),
            "{told}"
        );
    }
    let output = place
        .command(&["thread", "exec", THREAD, "--", "true"])
        .env("PATH", "/nowhere")
        .output()?;
    fails(&output, 1, &["no proot", "apt-get install proot"])?;
    let nowhere = place.folder.path().join("nowhere").display().to_string();
    let output = exec(place, &["--store", &nowhere], &["true"])?;
    fails(&output, 4, &["nowhere"])?;
    let colon = place.folder.path().join("a:b");
    std::fs::create_dir_all(colon.join("threads/t1"))?;
    std::fs::write(colon.join("threads/t1/x"), "x")?;
    let colon = colon.display().to_string();
    let output = exec(place, &["--store", &colon], &["true"])?;
    fails(&output, 2, &["colon"])?;
    ensure!(names(place)? == before, "{:?}", names(place)?);
    Ok(())
}
