//! The subcommands, one file each, and the options that all of them share.

mod budget;
mod bus;
mod call;
mod change;
mod clock;
mod compact;
mod component;
mod environment;
pub mod exit;
mod files;
mod home;
mod key;
mod ls;
mod media;
mod memory;
mod messages;
mod model;
mod open;
mod output;
mod pages;
mod place;
mod progress;
mod prompt;
mod run;
mod say;
mod secret;
mod serve;
mod sessions;
mod sign;
mod skills;
mod store;
mod systems;
mod tenant;
mod thread;

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, Parser, Subcommand};

const AFTER_HELP: &str = "\
A HOME says whose state is meant, as SYSTEM:ID:
  gsv:AGENT  moltbot:USER  run-agent:PROJECT  solven:THREAD  hi-boss:AGENT
`haversack systems` says what each system has.

Start here:
  haversack ls --store examples/store
  haversack prompt gsv:hera --store examples/store --now 2026-02-20T09:30:00Z
  haversack skills list gsv:hera --store examples/store --explain
  haversack memory show gsv:hera --store examples/store --now 2026-02-20T09:30:00Z
  haversack files ls gsv:hera --store examples/store
  haversack sessions --help
  haversack messages --help
  haversack tenant --help
  haversack run --help
  haversack bus --help
  haversack store check DIRECTORY

Exit codes:
  0 done                          5 something cannot be read or may not be
  1 anything not named here       6 this system has no such notion, or not yet
  2 wrong arguments or content    7 somebody else wrote in between: read it again
  3 no such home, skill or place  8 the store is busy or slow: try again later
  4 no store there                9 over a limit";

/// Where an AI agent's files lie, and what becomes of them.
#[derive(Debug, Parser)]
#[command(name = "haversack", version, after_help = AFTER_HELP, subcommand_required = true, arg_required_else_help = true)]
pub struct Line {
    #[command(flatten)]
    pub shared: Shared,
    #[command(subcommand)]
    command: Command,
}

impl Line {
    /// Whether it answers many callers at once.
    pub fn serves(&self) -> bool {
        matches!(self.command, Command::Serve(_))
    }
}

/// Options of every subcommand.
#[derive(Debug, Args)]
pub struct Shared {
    /// The store: a directory, file:///PATH, s3://BUCKET[/PREFIX] or r2://ACCOUNT/BUCKET[/PREFIX] [default: ./haversack-store, for run-agent homes ~/run-agent]
    #[arg(long, global = true, value_name = "PATH|URL", env = "HAVERSACK_STORE")]
    store: Option<String>,

    /// Print JSON for programs, in the form of the WIT contract
    #[arg(long, global = true)]
    json: bool,

    /// End a call that takes longer, the store's time included
    #[arg(long, global = true, value_name = "MS", default_value_t = 60_000, value_parser = clap::value_parser!(u64).range(1..))]
    deadline_ms: u64,

    /// Memory that a call may use, in MiB
    #[arg(long, global = true, value_name = "MIB", default_value_t = 64, value_parser = clap::value_parser!(u64).range(4..=4096))]
    memory_mib: u64,

    // Last, because a heading goes on to what follows.
    #[command(flatten)]
    bucket: open::BucketFlags,
}

impl Shared {
    fn engine_options(&self) -> haversack_host::EngineOptions {
        haversack_host::EngineOptions {
            deadline: Duration::from_millis(self.deadline_ms),
            memory_bytes_max: usize::try_from(self.memory_mib << 20).unwrap_or(usize::MAX),
            ..haversack_host::EngineOptions::default()
        }
    }
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Put a home's system prompt together and print it
    Prompt(Box<prompt::Prompt>),
    /// List or read skills
    Skills(skills::Skills),
    /// Set up the workspace of a solven thread, and run commands in it
    Thread(thread::Thread),
    /// Append to a home's memory, print it, and for hi-boss curate and back it up
    Memory(memory::Memory),
    /// List, read, change and search the files of a home's workspace
    Files(files::Files),
    /// Append to, read, archive and reset what agents and users said to each other
    Sessions(sessions::Sessions),
    /// Append to and read the chat logs of users
    Messages(messages::Messages),
    /// Users: start them, place their files, export them, end and renew their subscriptions
    Tenant(tenant::Tenant),
    /// Answer the HTTP API of moltbot: history, usage and export, by signed URLs
    Serve(serve::Serve),
    /// Sign a URL of that API for a user
    Sign(sign::Sign),
    /// Replace the old part of a live session by a summary, and archive it
    Compact(compact::Compact),
    /// Store, read and delete attachments of a session
    Media(media::Media),
    /// Make, change and list projects, tasks and runs of run-agent
    Run(run::Run),
    /// Post to and read the message bus of a run-agent project or task
    Bus(bus::Bus),
    /// List what is in a store, or in a home, by what things are
    Ls(ls::Ls),
    /// Print the key of a place
    Key(key::Key),
    /// Print the place that a key belongs to
    Place(place::Place),
    /// Print what each system has, and where
    Systems(systems::Systems),
    /// Check that a store keeps the contract, or copy one to another
    Store(store::Store),
    /// Write the embedded WebAssembly component to a file, for hosts in other languages
    Component(component::Component),
}

/// Run the subcommand.
pub async fn run(line: Line) -> anyhow::Result<()> {
    let Line { shared, command } = line;
    match command {
        Command::Prompt(prompt) => prompt.run(&shared).await,
        Command::Skills(skills) => skills.run(&shared).await,
        Command::Thread(thread) => thread.run(&shared).await,
        Command::Memory(memory) => memory.run(&shared).await,
        Command::Files(files) => files.run(&shared).await,
        Command::Sessions(sessions) => sessions.run(&shared).await,
        Command::Messages(messages) => messages.run(&shared).await,
        Command::Tenant(tenant) => tenant.run(&shared).await,
        Command::Serve(serve) => serve.run(&shared).await,
        Command::Sign(sign) => sign.run(&shared).await,
        Command::Compact(compact) => compact.run(&shared).await,
        Command::Media(media) => media.run(&shared).await,
        Command::Run(run) => run.run(&shared).await,
        Command::Bus(bus) => bus.run(&shared).await,
        Command::Ls(ls) => ls.run(&shared).await,
        Command::Key(key) => key.run(&shared).await,
        Command::Place(place) => place.run(&shared).await,
        Command::Systems(systems) => systems.run(&shared).await,
        Command::Store(store) => store.run(&shared).await,
        Command::Component(component) => component.run(&shared),
    }
}

/// A text file that the command line names; `-` is standard input.
fn read_text(path: &Path) -> anyhow::Result<String> {
    if path == Path::new("-") {
        return std::io::read_to_string(std::io::stdin()).context("reading standard input");
    }
    std::fs::read_to_string(path).map_err(|error| {
        let message = format!("cannot read {}: {error}", path.display());
        exit::Failure::new(exit::Code::of_io(&error), message).into()
    })
}
