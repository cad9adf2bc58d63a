//! One run: everything is made, proot runs the command, everything is taken away. Knows no command line.

use std::path::Path;
use std::process::Command as StdCommand;
use std::time::Duration;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::Signal;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};

use super::mount_point::MountPoint;
use super::signals::Signals;
use super::{Error, Plan, copies, filter, processes};
use crate::store::check::error;
use crate::store::{BlobStore, ErrorCode, Skipped};

/// proot answers with the code of whatever ended last, which may be something in the background. So a shell tells the
/// command's own, through a pipe that the command does not see. It outlives signals to tell it.
const SHELL: &str = "trap : HUP INT QUIT TERM; \
    exec 3>/.solven/.outcome && /bin/rm /.solven/.outcome && (exec 3>&-; \"$@\"); echo $? >&3";
const PIPE: &str = ".outcome";
/// Names of variables of this process that the command gets too.
const PASSED_ON: [&str; 3] = ["LANG", "LC_ALL", "TERM"];
/// Between two tries to end what the command has left.
const END_PAUSE: Duration = Duration::from_millis(20);
/// After these tries proot itself is ended.
const END_TRIES: usize = 250;

/// How a run ended.
#[derive(Debug)]
pub enum Ended {
    /// With the command's code, as a shell counts: 127 for one that is not there, 128 and its number for a signal.
    Code(u8),
    /// By a signal before the command began.
    Stopped,
}

/// The command as it goes into the request for a plan.
pub fn in_shell(command: &[String]) -> Vec<String> {
    let mut words = ["/bin/sh", "-c", SHELL, "sh"].map(str::to_owned).to_vec();
    words.extend(command.iter().cloned());
    words
}

/// Run a plan for [`in_shell`]. `copies_dir` and `root_dir` are those of the request. `tell` hears what is no part of the
/// copies. Whatever the command leaves running is ended with it.
pub async fn run(
    plan: &Plan,
    proot: &Path,
    store: &dyn BlobStore,
    root_dir: &Path,
    copies_dir: &Path,
    tell: &dyn Fn(&Skipped),
) -> Result<Ended, Error> {
    let mut signals = Signals::take().map_err(Error::io("taking signals"))?;
    let made = tokio::select! {
        made = copies::make(plan, store, root_dir, copies_dir) => Some(made),
        _ = signals.any() => None,
    };
    let outcome = match made {
        None => Ok(Ended::Stopped),
        Some(Err(error)) => Err(error),
        Some(Ok(skipped)) => {
            skipped.iter().for_each(tell);
            refuse_links(plan, root_dir)?;
            within(plan, proot, &mut signals).await
        }
    };
    let removed = copies::remove(copies_dir);
    let outcome = outcome?;
    removed.map_err(Error::io(format!("removing {}", copies_dir.display())))?;
    Ok(outcome)
}

/// proot translates a rename of `/` or of a mount, and so an earlier command may have put a link where the store has a
/// directory. What is bound must be the store's own.
fn refuse_links(plan: &Plan, root_dir: &Path) -> Result<(), Error> {
    let shared = plan.binds.iter().filter(|bind| bind.kind == "shared");
    for host in shared.map(|bind| &bind.host).chain([&plan.root]) {
        let Ok(inner) = host.strip_prefix(root_dir) else {
            continue;
        };
        let mut at = root_dir.to_owned();
        for part in inner {
            at.push(part);
            let there = at.symlink_metadata();
            if there.is_ok_and(|there| there.file_type().is_symlink()) {
                let message = format!(
                    "{} is a symbolic link, and would lead a command out of its thread; look who made it, and remove it",
                    at.display()
                );
                return Err(Error::Store(error(ErrorCode::Denied, message)));
            }
        }
    }
    Ok(())
}

async fn within(plan: &Plan, proot: &Path, signals: &mut Signals) -> Result<Ended, Error> {
    // Made by nobody else than the store: where it is not, this is no mount of it.
    plan.root.read_dir().map_err(Error::io(format!(
        "looking for the thread at {}",
        plan.root.display()
    )))?;
    let mut points = Vec::new();
    for point in &plan.mount_points {
        let held = MountPoint::hold(point).map_err(|errno| {
            let doing = format!("making {}, where something is bound", point.display());
            Error::Io(doing, errno.into())
        })?;
        // Those outside are dropped after those in them.
        points.splice(0..0, held);
    }
    let skeleton = plan.binds.iter().find(|bind| bind.kind == "skeleton");
    let skeleton = skeleton.ok_or_else(|| Error::Proot("the plan has no /.solven".to_owned()))?;
    let pipe = skeleton.host.join(PIPE);
    let mut told = open_pipe(&pipe).map_err(Error::io(format!("making {}", pipe.display())))?;
    let mut child = start(plan, proot).await?;
    let number = child.id();
    let number = number.ok_or_else(|| Error::Proot("proot ended before it began".to_owned()))?;
    let code = loop {
        tokio::select! {
            code = read_code(&mut told) => break code,
            status = child.wait() => {
                let status = status.map_err(Error::io("waiting for proot"))?;
                break match late_code(&told) {
                    Some(code) => Some(code),
                    None => return Err(Error::Proot(format!("proot could not run the command ({status})"))),
                };
            }
            signal = signals.next_to_hand_on() => processes::signal(number, signal),
        }
    };
    end(&mut child, number).await?;
    drop(points);
    code.map(Ended::Code).ok_or_else(|| {
        Error::Proot("the sandbox's shell did not tell how the command ended".to_owned())
    })
}

/// Opened for both, so that it never ends while nobody writes.
fn open_pipe(path: &Path) -> std::io::Result<pipe::Receiver> {
    mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0)?;
    pipe::OpenOptions::new()
        .read_write(true)
        .open_receiver(path)
}

/// Start proot behind the filter. A filter binds the thread that takes it and its children, so it is a thread of its own.
async fn start(plan: &Plan, proot: &Path) -> Result<Child, Error> {
    let program = filter::program()?;
    let mut command = StdCommand::new(proot);
    command.args(&plan.arguments).env_clear();
    command.envs(plan.environment.iter().map(|(name, value)| (name, value)));
    command.current_dir(&plan.root);
    let passed = PASSED_ON
        .iter()
        .filter_map(|name| Some((name, std::env::var_os(name)?)));
    command.envs(passed);
    let mut command = Command::from(command);
    let runtime = tokio::runtime::Handle::current();
    let filtered = std::thread::Builder::new()
        .name("sandbox".to_owned())
        .spawn(move || {
            let _runtime = runtime.enter();
            seccompiler::apply_filter(&program).map_err(|error| {
                Error::Unsupported(format!(
                    "this machine takes no filter of system calls: {error}"
                ))
            })?;
            command.spawn().map_err(Error::io("starting proot"))
        });
    let filtered = filtered.map_err(Error::io("starting a thread"))?;
    filtered.join().unwrap_or_else(|_| {
        Err(Error::Proot(
            "the thread that starts proot failed".to_owned(),
        ))
    })
}

async fn read_code(told: &mut pipe::Receiver) -> Option<u8> {
    let mut line = [0; 8];
    let length = told.read(&mut line).await.ok()?;
    parse(line.get(..length)?)
}

/// Both may happen at once.
fn late_code(told: &pipe::Receiver) -> Option<u8> {
    let mut line = [0; 8];
    let length = told.try_read(&mut line).ok()?;
    parse(line.get(..length)?)
}

fn parse(line: &[u8]) -> Option<u8> {
    std::str::from_utf8(line).ok()?.trim().parse().ok()
}

/// Nothing of a sandbox goes on after its command: its copies are about to be removed.
async fn end(child: &mut Child, number: u32) -> Result<(), Error> {
    for _ in 0..END_TRIES {
        if let Ok(ended) = tokio::time::timeout(END_PAUSE, child.wait()).await {
            return ended.map(drop).map_err(Error::io("waiting for proot"));
        }
        processes::signal(number, Signal::KILL);
    }
    child.kill().await.map_err(Error::io("ending proot"))
}
