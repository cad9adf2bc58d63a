//! The one table of what each system has and what haversack does of it. Knows no key and no store.
//!
//! Sources: the five references and `Non-Goals` in them. A call asks [`require`] first.

use serde::{Deserialize, Serialize};

use super::System;
use crate::types::{Error, Result};

/// Whether haversack does a concept of a system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Support {
    Works,
    /// The system has it; this version does not do it yet.
    Later,
    /// The system has no such notion.
    Absent,
    /// The system's reference says that it will not have it.
    NonGoal,
}

macro_rules! concepts {
    ($( $(#[doc = $doc:literal])+ $variant:ident $name:literal $gsv:ident $moltbot:ident $run_agent:ident $solven:ident $hi_boss:ident; )+) => {
        /// Something that an agent's storage can have.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Concept { $( $(#[doc = $doc])+ $variant, )+ }

        impl Concept {
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }
        }

        /// What haversack does of a concept in a system.
        pub const fn support(system: System, concept: Concept) -> Support {
            match concept { $(
                Concept::$variant => match system {
                    System::Gsv => Support::$gsv,
                    System::Moltbot => Support::$moltbot,
                    System::RunAgent => Support::$run_agent,
                    System::Solven => Support::$solven,
                    System::HiBoss => Support::$hi_boss,
                },
            )+ }
        }
    };
}

//                                      gsv    moltbot run-agent solven hi-boss
concepts! {
    /// Places and keys.
    Layout "layout"                     Works  Works   Works    Works   Works;
    /// A system prompt, put together from files.
    Prompt "prompt"                     Works  Absent  Absent   Absent  Works;
    /// Skills with front matter.
    Skills "skills"                     Works  Later   Absent   Works   Absent;
    /// Long-term and daily memory that an agent writes.
    Memory "memory"                     Works  Absent  Absent   Absent  Works;
    /// A cut of memory for a prompt.
    MemorySnapshot "memory-snapshot"    Works  Absent  Absent   Absent  Works;
    /// Long-term memory that is set up, written by version, and promoted to.
    Curation "memory-curation"          Absent Absent  Absent   Absent  Works;
    /// Refusing memory that looks like a secret.
    SecretCheck "secret-check"          Absent Absent  Absent   Absent  Works;
    /// Live sessions of agents, and their archives.
    Sessions "sessions"                 Works  Absent  Absent   Absent  Absent;
    /// Chat logs of users, which no reset ends.
    Messages "messages"                 Absent Works   Absent   Absent  Absent;
    /// Ending a session and starting the next one.
    SessionReset "session-reset"        Works  Absent  Absent   Absent  Absent;
    /// Replacing old messages by a summary.
    Compaction "compaction"             Works  Absent  NonGoal  Absent  Absent;
    /// Compressed copies of ended sessions.
    Archives "archives"                 Works  Absent  NonGoal  Absent  Absent;
    /// Attachments of messages.
    Media "media"                       Works  Absent  Absent   Absent  Absent;
    /// List, read, write, edit, search in a workspace.
    Files "files"                       Works  Later   Absent   Works   Absent;
    /// A directory and the store kept the same.
    Sync "sync"                         Absent Works   Absent   Absent  Absent;
    /// Users with a subscription.
    Tenants "tenants"                   Absent Works   Absent   Absent  Absent;
    /// How much a home takes, and limits on it.
    Usage "usage"                       Absent Works   Absent   Absent  Absent;
    /// Deleting by age.
    Retention "retention"               Absent Works   NonGoal  Absent  Absent;
    /// Removing old files on request.
    Pruning "pruning"                   Absent Absent  NonGoal  Absent  Works;
    /// Projects, tasks and runs.
    Runs "runs"                         Absent Absent  Works    Absent  Absent;
    /// Facts of projects and tasks.
    Facts "facts"                       Absent Absent  Works    Absent  Absent;
    /// An append-only bus of messages between runs.
    MessageBus "message-bus"            Absent Absent  Works    Absent  Absent;
    /// Large binary artifacts.
    LargeBinaries "large-binaries"      Absent Absent  NonGoal  Absent  Absent;
    /// Separate directories for each machine.
    HostSegmentation "host-segmentation" Absent Absent NonGoal  Absent  Absent;
    /// Setting up a workspace once.
    Workspace "workspace"               Absent Absent  Absent   Works   Absent;
    /// Running commands inside an agent's view.
    Sandbox "sandbox"                   Absent Absent  Absent   Works   Absent;
    /// A copy from which a home can be restored.
    Backup "backup"                     Absent Works   Absent   Absent  Works;
    /// Memory that several agents share.
    SharedMemory "shared-memory"        Absent Absent  Absent   Absent  NonGoal;
    /// Rewriting memory without being asked.
    Consolidation "consolidation"       Absent Absent  Absent   Absent  NonGoal;
}

/// `unsupported`, naming both, unless haversack does `concept` of `system`.
pub fn require(system: System, concept: Concept) -> Result<()> {
    let (name, what) = (system.name(), concept.name());
    let message = match support(system, concept) {
        Support::Works => return Ok(()),
        Support::Later => format!(
            "{name} has {what}, but haversack {} does not do it yet{}",
            env!("CARGO_PKG_VERSION"),
            elsewhere(concept, "; it does so for")
        ),
        Support::Absent => format!(
            "{name} has no {what}: its layout knows no such thing{}",
            match having(concept).join(", ") {
                systems if systems.is_empty() => String::new(),
                systems => format!("; systems that have it: {systems}"),
            }
        ),
        Support::NonGoal => {
            format!(
                "{what} is a non-goal of {name}: its reference rules it out, so it will not come"
            )
        }
    };
    Err(Error::unsupported(message))
}

fn elsewhere(concept: Concept, before: &str) -> String {
    let working: Vec<_> = System::ALL
        .into_iter()
        .filter(|system| support(*system, concept) == Support::Works)
        .map(System::name)
        .collect();
    if working.is_empty() {
        String::new()
    } else {
        format!("{before} {}", working.join(", "))
    }
}

fn having(concept: Concept) -> Vec<&'static str> {
    System::ALL
        .into_iter()
        .filter(|system| matches!(support(*system, concept), Support::Works | Support::Later))
        .map(System::name)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::ErrorCode;

    #[test]
    fn a_refusal_names_both_and_why() {
        for (system, concept, reason) in [
            (System::Moltbot, Concept::Files, "does not do it yet"),
            (
                System::Gsv,
                Concept::Messages,
                "systems that have it: moltbot",
            ),
            (
                System::Moltbot,
                Concept::Skills,
                "it does so for gsv, solven",
            ),
            (System::RunAgent, Concept::Skills, "gsv, moltbot, solven"),
            (System::RunAgent, Concept::Retention, "non-goal"),
            (System::RunAgent, Concept::LargeBinaries, "non-goal"),
            (System::HiBoss, Concept::SharedMemory, "non-goal"),
            (System::HiBoss, Concept::Consolidation, "non-goal"),
            (System::Gsv, Concept::SharedMemory, "has no shared-memory"),
        ] {
            let error = require(system, concept).unwrap_err();
            assert_eq!(error.code, ErrorCode::Unsupported);
            for part in [system.name(), concept.name(), reason] {
                assert!(error.message.contains(part), "{}", error.message);
            }
        }
    }

    #[test]
    fn this_version_does_all_but_two_things() {
        let later = [
            (System::Moltbot, Concept::Files),
            (System::Moltbot, Concept::Skills),
        ];
        for system in System::ALL {
            for concept in Concept::ALL {
                let has_it = matches!(support(system, *concept), Support::Works | Support::Later);
                let works = has_it && !later.contains(&(system, *concept));
                assert_eq!(
                    require(system, *concept).is_ok(),
                    works,
                    "{system:?} {concept:?}"
                );
            }
        }
    }
}
