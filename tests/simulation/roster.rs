//! Every scenario, and beside it the broken variants that it must find. A new protocol is added here.

use crate::Simulation;
use crate::planted::Breakage;
use crate::scenarios::archive::{self, Archive};
use crate::scenarios::bus::Bus;
use crate::scenarios::compaction::Compactions;
use crate::scenarios::counter::Counter;
use crate::scenarios::discard::Discards;
use crate::scenarios::document::Document;
use crate::scenarios::files::{Files, Renames};
use crate::scenarios::given_up::GivenUp;
use crate::scenarios::log::{self, Begin, Logs};
use crate::scenarios::memory::Memory;
use crate::scenarios::messages::Chats;
use crate::scenarios::mirror::{self, Mirrors};
use crate::scenarios::retention::Retention;
use crate::scenarios::retention_reader;
use crate::scenarios::runs::Runs;
use crate::scenarios::sessions::Sessions;
use crate::scenarios::space::{self, Space};
use crate::scenarios::tasks::Tasks;
use crate::scenarios::tenants::{self, Tenants};
use crate::scenarios::threads::Threads;

pub fn all(simulation: &mut Simulation) {
    counters(simulation);
    documents(simulation);
    logs(simulation);
    archives(simulation);
    memories(simulation);
    spaces(simulation);
    files(simulation);
    sessions(simulation);
    mirrors(simulation);
    compactions(simulation);
    simulation.correct(Discards);
    chats(simulation);
    threads(simulation);
    users(simulation);
    retentions(simulation);
    run_agent(simulation);
}

const UNCONDITIONAL: &str = "an unconditional put";
const LOST_IS_FAILURE: &str = "a lost answer taken for a failure";

fn counters(simulation: &mut Simulation) {
    simulation.correct(Counter);
    simulation.planted(UNCONDITIONAL, Counter, Breakage::Unconditional(|_| true));
    simulation.planted(LOST_IS_FAILURE, Counter, Breakage::LostIsFailure);
}

fn documents(simulation: &mut Simulation) {
    for exists in [false, true] {
        simulation.correct(Document { exists });
    }
    let document = || Document { exists: true };
    simulation.planted(UNCONDITIONAL, document(), Breakage::Unconditional(|_| true));
    simulation.planted(LOST_IS_FAILURE, document(), Breakage::LostIsFailure);
}

fn logs(simulation: &mut Simulation) {
    let bucket = Logs {
        name: "log",
        appends: false,
        begin: Begin::Nothing,
    };
    simulation.correct(bucket);
    simulation.correct(Logs {
        name: "log-foreign",
        begin: Begin::Foreign,
        ..bucket
    });
    for (name, begin) in [("log-file", Begin::Foreign), ("log-file-torn", Begin::Torn)] {
        simulation.correct(Logs {
            name,
            appends: true,
            begin,
        });
    }
    simulation.planted(UNCONDITIONAL, bucket, Breakage::Unconditional(log::is_head));
    simulation.planted(LOST_IS_FAILURE, bucket, Breakage::LostIsFailure);
    let deletes_first = Breakage::DeletesBefore {
        sources: log::is_segment,
        target: log::is_head,
    };
    simulation.planted("a fold that deletes first", bucket, deletes_first);
    let reuses = Breakage::ReusesNames(log::numbered);
    simulation.planted("reuse of a segment name", bucket, reuses);
}

fn chats(simulation: &mut Simulation) {
    for (name, appends) in [("messages", false), ("messages-file", true)] {
        simulation.correct(Chats { name, appends });
    }
    let bucket = Chats {
        name: "messages",
        appends: false,
    };
    simulation.planted(UNCONDITIONAL, bucket, Breakage::Unconditional(log::is_head));
}

fn threads(simulation: &mut Simulation) {
    simulation.correct(Threads);
}

fn users(simulation: &mut Simulation) {
    for purged in [false, true] {
        simulation.correct(Tenants { purged });
    }
    let broken = Breakage::Unconditional(tenants::is_meta);
    simulation.planted(UNCONDITIONAL, Tenants { purged: false }, broken);
}

fn retentions(simulation: &mut Simulation) {
    let bucket = Retention {
        name: "retention",
        appends: false,
        is_deleted: false,
        budget: 24,
    };
    simulation.correct(bucket);
    simulation.correct(Retention {
        name: "retention-file",
        appends: true,
        budget: 16,
        ..bucket
    });
    let deleted = Retention {
        name: "retention-deleted",
        is_deleted: true,
        ..bucket
    };
    simulation.correct(deleted);
    let unconditional = Breakage::Unconditional(retention_reader::is_meta);
    simulation.planted(UNCONDITIONAL, bucket, unconditional);
    let deletes_first = Breakage::DeletesBefore {
        sources: retention_reader::is_live,
        target: retention_reader::is_copy,
    };
    simulation.planted("delete before copy", bucket, deletes_first);
    let blind = Breakage::SeesOnce(retention_reader::is_live);
    simulation.planted("delete without the second look", bucket, blind);
    let heedless = Breakage::Misreads(retention_reader::is_meta, retention_reader::without_lease);
    simulation.planted("the lease is not checked", bucket, heedless);
}

fn run_agent(simulation: &mut Simulation) {
    for (name, appends, left) in [
        ("bus", false, false),
        ("bus-foreign", false, true),
        ("bus-file", true, false),
        ("bus-file-torn", true, true),
    ] {
        simulation.correct(Bus {
            name,
            appends,
            left,
        });
    }
    simulation.correct(Runs);
    simulation.planted(UNCONDITIONAL, Runs, Breakage::Unconditional(|_| true));
    simulation.planted(LOST_IS_FAILURE, Runs, Breakage::LostIsFailure);
    for done in [false, true] {
        simulation.correct(Tasks { done });
    }
    let tasks = || Tasks { done: false };
    simulation.planted(UNCONDITIONAL, tasks(), Breakage::Unconditional(|_| true));
    simulation.planted(LOST_IS_FAILURE, tasks(), Breakage::LostIsFailure);
}

fn archives(simulation: &mut Simulation) {
    let clears = || Archive {
        name: "archive-and-clear",
        clears: true,
        leftover: false,
    };
    simulation.correct(Archive {
        name: "archive",
        clears: false,
        ..clears()
    });
    simulation.correct(Archive {
        name: "archive-over-leftovers",
        clears: false,
        leftover: true,
    });
    simulation.correct(clears());
    let clears_first = Breakage::DeletesBefore {
        sources: archive::is_run,
        target: archive::is_archive,
    };
    simulation.planted("clear before archive", clears(), clears_first);
    let deletes_first = Breakage::DeletesBefore {
        sources: archive::is_run,
        target: archive::is_piece,
    };
    simulation.planted("delete before copy", clears(), deletes_first);
}

fn memories(simulation: &mut Simulation) {
    for edited in [false, true] {
        simulation.correct(Memory { edited });
    }
    let memory = || Memory { edited: false };
    simulation.planted(UNCONDITIONAL, memory(), Breakage::Unconditional(|_| true));
    simulation.planted(LOST_IS_FAILURE, memory(), Breakage::LostIsFailure);
}

fn spaces(simulation: &mut Simulation) {
    for note in [false, true] {
        simulation.correct(Space { note });
    }
    let space = || Space { note: true };
    simulation.planted(UNCONDITIONAL, space(), Breakage::Unconditional(|_| true));
    simulation.planted(LOST_IS_FAILURE, space(), Breakage::LostIsFailure);
    let deletes_first = Breakage::DeletesBefore {
        sources: space::is_note,
        target: space::is_long_term,
    };
    simulation.planted(
        "the note deleted before it is copied",
        space(),
        deletes_first,
    );
}

fn files(simulation: &mut Simulation) {
    simulation.correct(Files);
    simulation.correct(Renames);
    simulation.planted(UNCONDITIONAL, Files, Breakage::Unconditional(|_| true));
    simulation.planted(LOST_IS_FAILURE, Files, Breakage::LostIsFailure);
    let deletes_first = Breakage::DeletesBefore {
        sources: |key| key.contains("/s"),
        target: |key| key.contains("/t"),
    };
    simulation.planted("delete before copy", Renames, deletes_first);
}

fn sessions(simulation: &mut Simulation) {
    let bucket = Sessions {
        name: "sessions",
        appends: false,
        remembers: true,
    };
    simulation.correct(bucket.clone());
    simulation.correct(Sessions {
        name: "sessions-file",
        appends: true,
        remembers: false,
    });
    let clears_first = Breakage::DeletesBefore {
        sources: |key| key.ends_with(".jsonl"),
        target: |key| key.ends_with(".jsonl.gz"),
    };
    simulation.planted("clears the log before the archive", bucket, clears_first);
}

fn mirrors(simulation: &mut Simulation) {
    for (begin, names) in [
        (mirror::Begin::Nothing, ["mirror", "mirror-file"]),
        (mirror::Begin::Own, ["mirror-reset", "mirror-reset-file"]),
        (
            mirror::Begin::Appends,
            ["mirror-appended", "mirror-appended-file"],
        ),
        (
            mirror::Begin::Ready,
            ["mirror-compacted", "mirror-compacted-file"],
        ),
    ] {
        for (name, appends) in names.into_iter().zip([false, true]) {
            simulation.correct(Mirrors {
                name,
                appends,
                begin,
            });
        }
    }
    let bucket = Mirrors {
        name: "mirror",
        appends: false,
        begin: mirror::Begin::Nothing,
    };
    let unconditional = Breakage::Unconditional(|key| key.ends_with(".jsonl"));
    simulation.planted(UNCONDITIONAL, bucket, unconditional);
}

fn compactions(simulation: &mut Simulation) {
    simulation.correct(Compactions {
        name: "compaction",
        appends: false,
        with_model: true,
    });
    simulation.correct(Compactions {
        name: "compaction-file",
        appends: true,
        with_model: false,
    });
    for (name, appends) in [("given-up", false), ("given-up-file", true)] {
        simulation.correct(GivenUp(Compactions {
            name,
            appends,
            with_model: false,
        }));
    }
}
