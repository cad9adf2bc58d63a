//! The signals that ask a program to end, to be handed on instead. Knows no sandbox.

use std::io::IsTerminal;

use rustix::process::Signal;
use tokio::signal::unix::{self, SignalKind};

/// From here on they no longer end this process.
pub struct Signals {
    interrupt: unix::Signal,
    quit: unix::Signal,
    hangup: unix::Signal,
    terminate: unix::Signal,
    at_terminal: bool,
}

impl Signals {
    pub fn take() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: unix::signal(SignalKind::interrupt())?,
            quit: unix::signal(SignalKind::quit())?,
            hangup: unix::signal(SignalKind::hangup())?,
            terminate: unix::signal(SignalKind::terminate())?,
            at_terminal: std::io::stdin().is_terminal(),
        })
    }

    /// The next one.
    pub async fn any(&mut self) -> Signal {
        tokio::select! {
            Some(()) = self.interrupt.recv() => Signal::INT,
            Some(()) = self.quit.recv() => Signal::QUIT,
            Some(()) = self.hangup.recv() => Signal::HUP,
            Some(()) = self.terminate.recv() => Signal::TERM,
            else => std::future::pending().await,
        }
    }

    /// The next one that the command has not had already: a terminal sends ^C and ^\ to all that run in it.
    pub async fn next_to_hand_on(&mut self) -> Signal {
        loop {
            match self.any().await {
                Signal::INT | Signal::QUIT if self.at_terminal => {}
                signal => return signal,
            }
        }
    }
}
