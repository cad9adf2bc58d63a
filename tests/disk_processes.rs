//! The disk store under real processes: races, kills, logs read while they grow. The test program starts
//! itself as its children, which do one thing each. What lies in the files is tested in `disk_files`.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use haversack_host::store::disk::DiskStore;
use haversack_host::store::{BlobStore, Condition, ErrorCode};
use haversack_tests::store_calls::*;
use haversack_tests::table::{Table, Verdict, wanted};

/// Set in children: what to do, the store's directory, and the child's number.
const CHILD: &str = "HAVERSACK_TEST_CHILD";

const WRITERS: usize = 8;
const INCREMENTS: usize = 50;
const KILLS: usize = 40;
/// Big enough that writing it takes a while and a torn one shows.
const OBJECT_BYTES: usize = 1 << 20;
/// More than a page of memory, so that the kernel can be caught in the middle of it.
const LINE_BYTES: usize = 300_000;

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(cause) => {
            eprintln!("no tokio runtime: {cause}");
            return ExitCode::FAILURE;
        }
    };
    if let Ok(task) = std::env::var(CHILD) {
        return match runtime.block_on(child(&task)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(cause) => {
                eprintln!("child {task}: {cause:#}");
                ExitCode::FAILURE
            }
        };
    }
    let mut table = Table::default();
    macro_rules! test {
        ($($name:ident)+) => {$(
            if wanted(stringify!($name)) {
                let start = Instant::now();
                let result = tempfile::tempdir().context("making a directory").and_then(|directory| {
                    runtime.block_on($name(directory.path()))
                });
                let verdict = match result {
                    Ok(()) => Verdict::Passed,
                    Err(cause) => Verdict::Failed(format!("{cause:#}")),
                };
                table.add(stringify!($name), verdict, start.elapsed());
            }
        )+};
    }
    test! {
        increments_lose_nothing
        creates_have_one_winner
        kills_leave_no_torn_object
        kills_leave_whole_lines_before_the_last
        appends_lose_nothing
        logs_are_read_at_whole_lines
        concats_have_one_winner
        deletes_and_creates_share_directories
    }
    table.finish()
}

fn start(task: &str, directory: &Path, number: usize) -> Result<Child> {
    let child = Command::new(std::env::current_exe()?)
        .env(CHILD, format!("{task}:{number}:{}", directory.display()))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    Ok(child)
}

/// Start `WRITERS` children on one task, wait for all, and answer what each printed.
fn run_all(task: &str, directory: &Path) -> Result<Vec<String>> {
    let children = (0..WRITERS).map(|number| start(task, directory, number));
    let children = children.collect::<Result<Vec<_>>>()?;
    let mut printed = Vec::new();
    for child in children {
        let output = child.wait_with_output()?;
        ensure!(output.status.success(), "a child failed: {}", output.status);
        printed.push(String::from_utf8(output.stdout)?);
    }
    Ok(printed)
}

async fn child(task: &str) -> Result<()> {
    let mut parts = task.splitn(3, ':');
    let (Some(task), Some(number), Some(directory)) = (parts.next(), parts.next(), parts.next())
    else {
        bail!("{CHILD} is not task:number:directory");
    };
    let number: usize = number.parse()?;
    let store = DiskStore::open(directory).map_err(failure)?;
    match task {
        "increment" => {
            for _ in 0..INCREMENTS {
                increment(&store).await?;
            }
            Ok(())
        }
        "create" => create(&store, number).await,
        "overwrite" => overwrite(&store).await,
        "append" => {
            for line in 0..25 {
                add_line(&store, &format!("{number} {line}\n")).await?;
            }
            Ok(())
        }
        "grow" => {
            let mut line = 0;
            loop {
                add_line(&store, &long_line(number, line)).await?;
                println!("{line}");
                line += 1;
            }
        }
        "concat" => concat_to_slots(&store, number).await,
        "come-and-go" => {
            for round in 0..40 {
                let key = format!("a/b/c/{number}");
                put(&store, &key, round.to_string()).await?;
                ensure!(get(&store, &key).await?.0 == round.to_string().into_bytes());
                delete(&store, &key).await.map_err(failure)?;
            }
            Ok(())
        }
        other => bail!("no task {other:?}"),
    }
}

async fn increment(store: &dyn BlobStore) -> Result<()> {
    loop {
        let (bytes, stat) = get(store, "counter").await?;
        let count: usize = String::from_utf8(bytes)?.parse()?;
        let next = (count + 1).to_string();
        match try_put(store, "counter", next, if_match(&stat.version)).await {
            Ok(_) => return Ok(()),
            Err(error) if error.code == ErrorCode::Conflict => {}
            Err(error) => return Err(failure(error)),
        }
    }
}

async fn increments_lose_nothing(directory: &Path) -> Result<()> {
    let store = DiskStore::open(directory).map_err(failure)?;
    put(&store, "counter", "0").await?;
    run_all("increment", directory)?;
    let (bytes, _) = get(&store, "counter").await?;
    let count = String::from_utf8(bytes)?;
    ensure!(
        count == (WRITERS * INCREMENTS).to_string(),
        "the counter is at {count}"
    );
    Ok(())
}

/// Create 30 objects that all children want, and print those that were won.
async fn create(store: &dyn BlobStore, number: usize) -> Result<()> {
    for slot in 0..30 {
        let key = format!("new/{slot}/o");
        let wanted = options(Condition::IfAbsent);
        match try_put(store, &key, number.to_string(), wanted).await {
            Ok(_) => println!("{slot}"),
            Err(error) if error.code == ErrorCode::Conflict => {}
            Err(error) => return Err(failure(error)),
        }
    }
    Ok(())
}

/// Each of `slots` was won by exactly one child, whose number `owner` finds in the object.
async fn check_winners(
    store: &dyn BlobStore,
    printed: &[String],
    slots: usize,
    owner: impl Fn(usize, &[u8]) -> bool,
) -> Result<()> {
    for slot in 0..slots {
        let name = slot.to_string();
        let won = |lines: &String| lines.lines().any(|line| line == name);
        let winners: Vec<_> = (0..WRITERS).filter(|child| won(&printed[*child])).collect();
        let [winner] = winners[..] else {
            bail!("slot {slot} was won by {winners:?}");
        };
        let (bytes, _) = get(store, &format!("new/{slot}/o")).await?;
        ensure!(
            owner(winner, &bytes),
            "slot {slot} is not what its winner {winner} wrote"
        );
    }
    Ok(())
}

async fn creates_have_one_winner(directory: &Path) -> Result<()> {
    let printed = run_all("create", directory)?;
    let store = DiskStore::open(directory).map_err(failure)?;
    let owner = |winner: usize, bytes: &[u8]| bytes == winner.to_string().as_bytes();
    check_winners(&store, &printed, 30, owner).await
}

async fn concat_to_slots(store: &dyn BlobStore, number: usize) -> Result<()> {
    let part = format!("part/{number}");
    put(store, &part, number.to_string().repeat(5_000)).await?;
    for slot in 0..20 {
        let key = format!("new/{slot}/o");
        let wanted = options(Condition::IfAbsent);
        match concat(store, &[&part, &part], &key, wanted).await {
            Ok(_) => println!("{slot}"),
            Err(error) if error.code == ErrorCode::Conflict => {}
            Err(error) => return Err(failure(error)),
        }
    }
    Ok(())
}

async fn concats_have_one_winner(directory: &Path) -> Result<()> {
    let printed = run_all("concat", directory)?;
    let store = DiskStore::open(directory).map_err(failure)?;
    let owner = |winner: usize, bytes: &[u8]| bytes == winner.to_string().repeat(10_000).as_bytes();
    check_winners(&store, &printed, 20, owner).await
}

/// The object that is `number`: its first bytes say so, and the rest is one letter.
fn object(number: usize) -> Vec<u8> {
    let mut bytes = format!("{number:08}").into_bytes();
    bytes.resize(OBJECT_BYTES + number % 97, b'a' + (number % 26) as u8);
    bytes
}

fn number_of(bytes: &[u8]) -> Result<usize> {
    let start = bytes.get(..8).context("the object is cut short")?;
    Ok(std::str::from_utf8(start)?.parse()?)
}

/// Overwrite one object for ever, and print the number of each that was acknowledged.
async fn overwrite(store: &dyn BlobStore) -> Result<()> {
    let (bytes, _) = get(store, "d/o").await?;
    let mut number = number_of(&bytes)?;
    loop {
        number += 1;
        let written = try_put(store, "d/o", object(number), marked(&number.to_string())).await;
        written.map_err(failure)?;
        println!("{number}");
    }
}

/// Kill a child a while after its first line, and answer the last line that it printed.
fn kill_after(mut child: Child, pause: Duration) -> Result<String> {
    let mut lines = BufReader::new(child.stdout.take().context("no pipe")?).lines();
    let mut last = lines.next().context("the child printed nothing")??;
    std::thread::sleep(pause);
    child.kill()?;
    child.wait()?;
    for line in lines {
        last = line?;
    }
    Ok(last)
}

async fn kills_leave_no_torn_object(directory: &Path) -> Result<()> {
    let first = DiskStore::open(directory).map_err(failure)?;
    let written = try_put(&first, "d/o", object(0), marked("0")).await;
    written.map_err(failure)?;
    let mut left_over = 0;
    for round in 0..KILLS {
        let child = start("overwrite", directory, 0)?;
        let acknowledged: usize =
            kill_after(child, Duration::from_micros(round as u64 * 379))?.parse()?;
        left_over += std::fs::read_dir(directory.join(".haversack/scratch"))?.count();

        let store = DiskStore::open(directory).map_err(failure)?;
        let (bytes, stat) = get(&store, "d/o").await?;
        let number = number_of(&bytes).with_context(|| format!("after kill {round}"))?;
        ensure!(
            bytes == object(number),
            "the object is torn after kill {round}"
        );
        ensure!(
            number == acknowledged || number == acknowledged + 1,
            "object {number} after {acknowledged} was acknowledged"
        );
        let mark = stat.metadata.first().map(|(_, mark)| mark.as_str());
        ensure!(
            mark == Some(&number.to_string()),
            "object {number} has the mark {mark:?}"
        );

        let next = number + 1;
        let again = Instant::now();
        let written = try_put(&store, "d/o", object(next), marked(&next.to_string())).await;
        written.map_err(failure)?;
        ensure!(
            again.elapsed() < Duration::from_secs(5),
            "a lock was left behind"
        );
        let scratch = std::fs::read_dir(directory.join(".haversack/scratch"))?.count();
        ensure!(
            scratch == 0,
            "{scratch} scratch files are left after the next write"
        );
    }
    ensure!(
        left_over > 0,
        "no kill came in the middle of a write: the test shows nothing"
    );
    Ok(())
}

fn long_line(number: usize, line: usize) -> String {
    let start = format!("{number} {line} ");
    let fill = char::from(b'a' + (line % 26) as u8).to_string();
    format!("{start}{}\n", fill.repeat(LINE_BYTES - start.len() - 1))
}

/// Append where the log ends, wherever that is.
async fn add_line(store: &dyn BlobStore, line: &str) -> Result<()> {
    let mut size = match try_head(store, "log").await.map_err(failure)? {
        Some(stat) => stat.size_bytes,
        None => 0,
    };
    loop {
        match append(store, "log", line, size).await {
            Ok(_) => return Ok(()),
            Err(error) if error.code == ErrorCode::Conflict => {
                size = error.current.context("no size in the conflict")?.parse()?;
            }
            Err(error) => return Err(failure(error)),
        }
    }
}

async fn appends_lose_nothing(directory: &Path) -> Result<()> {
    run_all("append", directory)?;
    let store = DiskStore::open(directory).map_err(failure)?;
    let (bytes, _) = get(&store, "log").await?;
    let text = String::from_utf8(bytes)?;
    for number in 0..WRITERS {
        let start = format!("{number} ");
        let lines: Vec<_> = text
            .lines()
            .filter(|line| line.starts_with(&start))
            .collect();
        let expected: Vec<_> = (0..25).map(|line| format!("{number} {line}")).collect();
        ensure!(lines == expected, "the lines of child {number}: {lines:?}");
    }
    ensure!(text.lines().count() == 25 * WRITERS);
    Ok(())
}

/// `bytes` is whole long lines and nothing else.
fn check_lines(bytes: &[u8]) -> Result<()> {
    ensure!(
        bytes.len().is_multiple_of(LINE_BYTES),
        "{} bytes are no whole number of lines",
        bytes.len()
    );
    for line in bytes.chunks(LINE_BYTES) {
        let text = std::str::from_utf8(line)?;
        let mut words = text.split(' ');
        let (number, at) = (words.next(), words.next());
        let (Some(number), Some(at)) = (number, at) else {
            bail!("a line without its numbers");
        };
        ensure!(
            text == long_line(number.parse()?, at.parse()?),
            "a torn line"
        );
    }
    Ok(())
}

async fn logs_are_read_at_whole_lines(directory: &Path) -> Result<()> {
    let store = DiskStore::open(directory).map_err(failure)?;
    put(&store, "log", "").await?;
    let mut writers = [start("grow", directory, 0)?, start("grow", directory, 1)?];
    let result = read_while_it_grows(&store).await;
    for writer in &mut writers {
        writer.kill()?;
        writer.wait()?;
    }
    result
}

async fn read_while_it_grows(store: &dyn BlobStore) -> Result<()> {
    let mut sizes = std::collections::BTreeSet::new();
    let until = Instant::now() + Duration::from_secs(3);
    while Instant::now() < until {
        let size = try_head(store, "log")
            .await
            .map_err(failure)?
            .context("no log")?
            .size_bytes;
        ensure!(
            size.is_multiple_of(LINE_BYTES as u64),
            "a head shows {size} bytes, no whole number of lines"
        );
        sizes.insert(size);
        if size < 8 << 20 {
            // A get may find it grown over the value limit meanwhile.
            if let Ok(Some(blob)) = try_get(store, "log").await {
                check_lines(haversack_host::store::value::bytes(&blob.body))?;
            }
        }
        if size < 32 << 20 {
            let copied = concat(store, &["log"], "copy", options(Condition::Always)).await;
            copied.map_err(failure)?;
            let copy = try_head(store, "copy")
                .await
                .map_err(failure)?
                .context("no copy")?;
            ensure!(
                copy.size_bytes.is_multiple_of(LINE_BYTES as u64),
                "a copy of {} bytes, no whole number of lines",
                copy.size_bytes
            );
        }
    }
    ensure!(sizes.len() > 5, "the log hardly grew: {sizes:?}");
    Ok(())
}

async fn kills_leave_whole_lines_before_the_last(directory: &Path) -> Result<()> {
    for round in 0..10 {
        let child = start("grow", directory, 0)?;
        let acknowledged: usize = kill_after(child, Duration::from_micros(round * 733))?.parse()?;
        let store = DiskStore::open(directory).map_err(failure)?;
        let (bytes, _) = get(&store, "log").await?;
        let whole = bytes.len() / LINE_BYTES;
        ensure!(
            whole > acknowledged,
            "{whole} lines after line {acknowledged} was acknowledged"
        );
        check_lines(&bytes[..whole * LINE_BYTES])?;
        // What a kill left of a line is an ordinary end of the log: the size there says so.
        let size = bytes.len() as u64;
        let grown = append(&store, "log", "x", size).await.map_err(failure)?;
        ensure!(grown == size + 1, "the log has {grown} bytes");
        delete(&store, "log").await.map_err(failure)?;
    }
    Ok(())
}

async fn deletes_and_creates_share_directories(directory: &Path) -> Result<()> {
    run_all("come-and-go", directory)?;
    let left: Vec<_> = std::fs::read_dir(directory)?.collect::<Result<_, _>>()?;
    ensure!(left.len() == 1, "left behind: {left:?}");
    Ok(())
}
