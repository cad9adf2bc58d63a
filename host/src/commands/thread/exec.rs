//! `haversack thread exec`: asks the component for a plan and has it run. How it is run is the library's.

use std::path::PathBuf;

use clap::Args;

use crate::commands::Shared;
use crate::commands::home::Home;

#[derive(Debug, Args)]
#[command(after_help = "\
Inside, / is the thread: what is written there is in the store at once. /.solven/skills has the system's skills as a copy, \
which ends with the command, and the user's own, which may be changed; /.ticket is a copy too. /bin, /dev, /etc, /lib, /sbin and \
/usr are this machine's. HOME is /, USER is user, and `python` is the thread's own once there is a /.venv. There is no /proc, so that \
bash has no <(…); /tmp is a directory of the thread like any other. What the command leaves running is ended with it.

proot shows a command its thread and no other; it is no wall (`mv / …` gets out), and cannot keep a user from what he may do: run it as one who may not write to /usr and /etc.

Examples:
  haversack thread exec solven:t1 -- ls -la /
  haversack thread exec solven:t1 --user ada -- sh -c 'python -m venv /.venv && pip install requests'
  haversack thread exec solven:t1 --store s3://BUCKET --mount /mnt/r2/BUCKET -- python main.py

The exit code is the command's: 127 where there is none of that name, 128 and the number of the signal that ended it.")]
pub struct Exec {
    /// Whose
    home: Home,
    /// The user whose skills the thread sees [default: none]
    #[arg(long, value_name = "USER")]
    user: Option<String>,
    /// The thread that is this one's ticket [default: none]
    #[arg(long, value_name = "THREAD")]
    ticket: Option<String>,
    /// Where the bucket that --store names is mounted on this machine, as by `rclone mount`
    #[arg(long, value_name = "DIR")]
    mount: Option<PathBuf>,
    /// A further directory of this machine that the command sees, under its own name
    #[arg(long, value_name = "DIR")]
    system_dir: Vec<PathBuf>,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<String>,
}

#[cfg(not(target_os = "linux"))]
impl Exec {
    pub async fn run(&self, _: &Shared) -> anyhow::Result<()> {
        use crate::commands::exit::{Code, Failure};
        let message = "the sandbox is proot's, which is a program for Linux: run it there";
        Err(Failure::new(Code::Unsupported, message).into())
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::path::Path;

    use haversack_host::sandbox::{self, Ended, Plan};
    use haversack_host::store::address::Address;
    use serde_json::json;

    use super::*;
    use crate::commands::call::{Caller, location};
    use crate::commands::exit::{Code, Failure, OfCommand};
    use crate::commands::output::plain;

    /// What was not copied is named up to here, then counted.
    const SKIPPED_LINES_MAX: usize = 3;

    impl Exec {
        pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
            let root_dir = self.root_dir(&location(shared, Some(&self.home.system))?)?;
            let caller = Caller::over_store(shared, Some(&self.home.system))?;
            let root_dir = real(&root_dir)?;
            let copies = tempfile::Builder::new().prefix("haversack-").tempdir()?;
            let copies_dir = real(copies.path())?;
            let mut system_dirs = sandbox::system_dirs();
            for dir in &self.system_dir {
                system_dirs.push(text(&real(dir)?)?);
            }
            let request = json!({
                "home": self.home.to_json(),
                "user": self.user,
                "ticket": self.ticket,
                "root-dir": text(&root_dir)?,
                "copies-dir": text(&copies_dir)?,
                "system-dirs": system_dirs,
                "command": sandbox::in_shell(&self.command),
            });
            let arguments = json!({ "request": request });
            let plan = caller.call("threads", "sandbox", arguments).await?;
            let plan: Plan = serde_json::from_value(plan)?;
            let proot = sandbox::find_proot().ok_or_else(|| {
                let message = "there is no proot on this machine, which the sandbox needs: install it \
                               (Debian, Ubuntu: apt-get install proot) or add it to PATH";
                Failure::new(Code::Other, message)
            })?;
            let (store, told) = (&*caller.store, Told::default());
            let tell = |skipped: &_| told.tell(skipped);
            let ended = sandbox::run(&plan, &proot, store, &root_dir, &copies_dir, &tell).await;
            match ended.map_err(failure)? {
                Ended::Code(0) => Ok(()),
                Ended::Code(code) => Err(OfCommand(code).into()),
                Ended::Stopped => {
                    let message = "stopped before the command was started";
                    Err(Failure::new(Code::Other, message).into())
                }
            }
        }

        /// Where the store lies on this machine.
        fn root_dir(&self, location: &str) -> anyhow::Result<PathBuf> {
            let address = Address::parse(location)?;
            let invalid = |message: String| Err(Failure::new(Code::Invalid, message).into());
            match (address, &self.mount) {
                (Address::Directory(path), None) => Ok(path),
                (Address::Bucket(_), Some(mount)) => Ok(mount.clone()),
                (Address::Directory(path), Some(_)) => invalid(format!(
                    "--mount is for buckets: {} is a directory of this machine already, leave it out",
                    path.display()
                )),
                (Address::Bucket(_), None) => invalid(format!(
                    "{location} is a bucket, and a command needs directories: mount it (as by `rclone mount`) and name \
                     the mount with --mount DIR"
                )),
            }
        }
    }

    /// Tells of links and the like, of which an environment is full.
    #[derive(Default)]
    struct Told {
        count: std::cell::Cell<usize>,
    }

    impl Told {
        fn tell(&self, skipped: &haversack_host::store::Skipped) {
            self.count.set(self.count.get() + 1);
            if self.count.get() <= SKIPPED_LINES_MAX {
                let (key, cause) = (plain(&skipped.key), plain(&skipped.cause));
                eprintln!("haversack: not in the copy: {key}: {cause}");
            }
        }
    }

    impl Drop for Told {
        fn drop(&mut self) {
            let more = self.count.get().saturating_sub(SKIPPED_LINES_MAX);
            if more > 0 {
                eprintln!("haversack: not in the copy: {more} more of these");
            }
        }
    }

    fn failure(error: sandbox::Error) -> anyhow::Error {
        let code = match &error {
            sandbox::Error::Unsupported(_) => Code::Unsupported,
            sandbox::Error::Io(_, cause) => Code::of_io(cause),
            sandbox::Error::Store(error)
                if error.code == haversack_host::store::ErrorCode::Denied =>
            {
                Code::Unreadable
            }
            sandbox::Error::Store(_) | sandbox::Error::Proot(_) => Code::Other,
        };
        Failure::new(code, error.to_string()).into()
    }

    /// Without links on the way.
    fn real(path: &Path) -> anyhow::Result<PathBuf> {
        path.canonicalize().map_err(|error| {
            let message = format!("no directory {}: {error}", path.display());
            Failure::new(Code::of_io(&error), message).into()
        })
    }

    fn text(path: &Path) -> anyhow::Result<String> {
        let text = path.to_str().map(str::to_owned);
        text.ok_or_else(|| {
            let message = format!("{} is not UTF-8", path.display());
            Failure::new(Code::Invalid, message).into()
        })
    }
}
