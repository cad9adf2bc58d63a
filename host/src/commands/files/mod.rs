//! `haversack files`: an agent's workspace as the agent's own tool sees it. What each subcommand takes; what
//! it does stands in `look` and `change`.

mod change;
mod look;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::Shared;
use super::change::{RequestId, TextSource};
use super::home::Home;
use change::Change;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  haversack files ls gsv:hera
  haversack files cat gsv:hera memory/2026-02-20.md
  haversack files write gsv:hera notes/tea.md --text 'Green, 80 degrees.'
  haversack files edit gsv:hera notes/tea.md --old 80 --new 75
  haversack files mv gsv:hera BOOTSTRAP.md notes/first-day.md
  haversack files grep gsv:hera 'tea|coffee' --glob 'memory/**'
  haversack files cat solven:t1 /src/main.py --lines 100 --user ada

gsv: paths are relative; sessions/ and global skills are read-only. MEMORY.md is for main sessions: --session says who asks.
solven: paths begin with a slash; the thread sees system skills and its ticket read-only, and its user's skills.")]
pub struct Files {
    #[command(subcommand)]
    action: Action,
}

/// Who looks.
#[derive(Debug, Args)]
struct Viewer {
    /// Whose
    home: Home,
    /// The key of the session that asks, which decides who sees MEMORY.md [default: the main session]
    #[arg(long, value_name = "KEY")]
    session: Option<String>,
    /// The system's name for main sessions [default: main]
    #[arg(long, value_name = "NAME")]
    main_key: Option<String>,
    /// Of solven: the user whose skills the thread sees [default: none]
    #[arg(long, value_name = "USER")]
    user: Option<String>,
    /// Of solven: the thread that is this one's ticket [default: none]
    #[arg(long, value_name = "THREAD")]
    ticket: Option<String>,
}

impl Viewer {
    fn to_json(&self) -> Value {
        json!({
            "home": self.home.to_json(),
            "session-key": self.session,
            "main-key": self.main_key,
            "user": self.user,
            "ticket": self.ticket,
        })
    }
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List a directory
    Ls {
        #[command(flatten)]
        viewer: Viewer,
        /// Its path [default: the workspace itself]
        #[arg(default_value = "", hide_default_value = true)]
        directory: String,
    },
    /// Print a text file as it is, or lines of it with their numbers; with --json one part of it, and its version
    Cat {
        #[command(flatten)]
        viewer: Viewer,
        /// In the workspace, such as memory/2026-02-20.md
        path: String,
        /// Begin there, as `next-bytes` of the part before says
        #[arg(long, value_name = "BYTES", default_value_t = 0)]
        start: u64,
        /// So many lines, each behind its number, at most 10,000
        #[arg(long, value_name = "N", conflicts_with = "start")]
        lines: Option<u32>,
        /// Lines with their numbers from this one on
        #[arg(long, value_name = "LINE", conflicts_with = "start")]
        from_line: Option<u32>,
    },
    /// Write a file whole; a new one, unless told what it replaces
    #[command(after_help = "\
Examples:
  haversack files write gsv:hera notes/tea.md --text 'Green.'
  haversack files cat gsv:hera SOUL.md --json      (shows its version)
  haversack files write gsv:hera SOUL.md --file soul.md --version VERSION
  date | haversack files write gsv:hera notes/date.txt - --any")]
    Write {
        #[command(flatten)]
        viewer: Viewer,
        /// In the workspace, such as memory/2026-02-20.md
        path: String,
        #[command(flatten)]
        text: TextSource,
        /// Replace this version, the one that was read
        #[arg(long, value_name = "VERSION", conflicts_with = "any")]
        version: Option<String>,
        /// Replace whatever there is
        #[arg(long)]
        any: bool,
        #[command(flatten)]
        id: RequestId,
    },
    /// Replace literal text in a file
    Edit {
        #[command(flatten)]
        viewer: Viewer,
        /// In the workspace, such as memory/2026-02-20.md
        path: String,
        /// What to replace; it must occur once, or any number of times with --everywhere
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
        old: String,
        /// What to put there
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
        new: String,
        /// Replace every occurrence
        #[arg(long)]
        everywhere: bool,
        /// Only at this version, the one that was read
        #[arg(long, value_name = "VERSION")]
        version: Option<String>,
        #[command(flatten)]
        id: RequestId,
    },
    /// Move a file to a path that is free
    Mv {
        #[command(flatten)]
        viewer: Viewer,
        /// Path of the file, such as BOOTSTRAP.md
        from: String,
        /// Its new path; nothing may lie there
        to: String,
        #[command(flatten)]
        id: RequestId,
    },
    /// Delete a file; one that is not there is no error
    Rm {
        #[command(flatten)]
        viewer: Viewer,
        /// In the workspace, such as memory/2026-02-20.md
        path: String,
        /// Only at this version, the one that was read
        #[arg(long, value_name = "VERSION")]
        version: Option<String>,
        #[command(flatten)]
        id: RequestId,
    },
    /// List files by pattern: `*` and `?` in a segment, `**` over any, `[a-z]`, `{a,b}`
    Glob {
        #[command(flatten)]
        viewer: Viewer,
        /// Such as 'memory/**' or '**/SKILL.md'
        pattern: String,
    },
    /// Print the lines that fit a regular expression
    Grep {
        #[command(flatten)]
        viewer: Viewer,
        /// Matched line by line; no look-around and no back-references
        pattern: String,
        /// Take ASCII letters of both cases for the same
        #[arg(long, short)]
        ignore_case: bool,
        /// Only in files that fit this pattern
        #[arg(long, value_name = "PATTERN")]
        glob: Option<String>,
    },
}

impl Files {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        match &self.action {
            Action::Ls { viewer, directory } => look::ls(shared, viewer, directory).await,
            Action::Cat {
                viewer,
                path,
                start,
                lines: None,
                from_line: None,
            } => look::cat(shared, viewer, path, *start).await,
            Action::Cat {
                viewer,
                path,
                lines,
                from_line,
                ..
            } => {
                let request = json!({
                    "viewer": viewer.to_json(),
                    "path": path,
                    "lines": lines,
                    "first-line": from_line,
                });
                look::lines(shared, viewer, request).await
            }
            Action::Glob { viewer, pattern } => look::glob(shared, viewer, pattern).await,
            Action::Grep {
                viewer,
                pattern,
                ignore_case,
                glob,
            } => {
                let request = json!({
                    "viewer": viewer.to_json(),
                    "pattern": pattern,
                    "ignore-case": ignore_case,
                    "glob": glob,
                });
                look::grep(shared, viewer, request).await
            }
            Action::Write {
                viewer,
                path,
                text,
                version,
                any,
                id,
            } => {
                let expected = match version {
                    Some(version) => json!({ "version": version }),
                    None if *any => json!("any"),
                    None => json!("absent"),
                };
                let request = json!({ "path": path, "text": text.read()?, "expected": expected });
                change::run(Change::Write, shared, viewer, id, request).await
            }
            Action::Edit {
                viewer,
                path,
                old,
                new,
                everywhere,
                version,
                id,
            } => {
                let request = json!({
                    "path": path,
                    "version": version,
                    "old": old,
                    "new": new,
                    "everywhere": everywhere,
                });
                change::run(Change::Edit, shared, viewer, id, request).await
            }
            Action::Mv {
                viewer,
                from,
                to,
                id,
            } => {
                change::run(
                    Change::Move,
                    shared,
                    viewer,
                    id,
                    json!({ "from": from, "to": to }),
                )
                .await
            }
            Action::Rm {
                viewer,
                path,
                version,
                id,
            } => {
                let request = json!({ "path": path, "version": version });
                change::run(Change::Remove, shared, viewer, id, request).await
            }
        }
    }
}
