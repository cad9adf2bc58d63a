//! The `haversack` command. Reads the command line, runs one subcommand, and turns its outcome into an
//! exit code. What a subcommand does stands in `commands/`.

mod commands;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let line = commands::Line::parse();
    // A server has many callers, everything else one.
    let mut runtime = match line.serves() {
        true => tokio::runtime::Builder::new_multi_thread(),
        false => tokio::runtime::Builder::new_current_thread(),
    };
    let runtime = match runtime
        .enable_all()
        // Each keeps some of the memory that it once had, which a copy of large objects multiplies.
        .max_blocking_threads(4)
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => return commands::exit::report(&error.into()),
    };
    let outcome = runtime.block_on(commands::run(line));
    // A store that hangs in the kernel must not hold the process after its deadline.
    runtime.shutdown_background();
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => commands::exit::report(&error),
    }
}
