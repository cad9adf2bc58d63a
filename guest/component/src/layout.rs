//! `haversack:core/layout`.

use haversack_core::ops::layout as core;

use crate::Component;
use crate::convert::{Convert, cases, list, record};
use crate::exports::haversack::core::layout as wit;
use crate::store::Imported;
use crate::types::result;

impl wit::Guest for Component {
    fn systems() -> Vec<wit::System> {
        list(core::systems())
    }

    fn key_of(place: wit::Place) -> Result<String, wit::Error> {
        result(core::key_of(&place.convert()))
    }

    fn place_of(system: String, key: String) -> Result<wit::Place, wit::Error> {
        result(core::place_of(&system, &key))
    }

    fn homes(
        system: Option<String>,
        continue_from: Option<String>,
    ) -> Result<wit::HomesPage, wit::Error> {
        result(core::homes(&Imported, system, continue_from))
    }

    fn contents(
        home: wit::Home,
        continue_from: Option<String>,
    ) -> Result<wit::ContentsPage, wit::Error> {
        result(core::contents(&Imported, &home.convert(), continue_from))
    }

    fn session_key_of(
        agent: String,
        main_key: Option<String>,
        conversation: wit::Conversation,
    ) -> Result<wit::SessionKey, wit::Error> {
        result(core::session_key_of(
            &agent,
            main_key.as_deref(),
            &conversation.convert(),
        ))
    }

    fn view_key(view: wit::View, path: String) -> Result<wit::MappedPath, wit::Error> {
        result(core::view_key(&view.convert(), &path))
    }

    fn view_path(view: wit::View, key: String) -> Result<wit::MappedPath, wit::Error> {
        result(core::view_path(&view.convert(), &key))
    }
}

cases!(core::Support => wit::Support { Works, Later, Absent, NonGoal });
cases!(wit::DmScope => core::DmScope { Main, PerPeer, PerChannelPeer, PerAccountChannelPeer });
cases!(wit::Conversation => core::Conversation { Main, Dm(dm), Room(room), Heartbeat, Cron(job) });
record!(wit::Dm => core::Dm { scope, channel, account, peer });
record!(wit::Room => core::Room { channel, kind, peer });
record!(wit::Place => core::Place { system, kind; list fields });
record!(core::Place => wit::Place { system, kind; list fields });
record!(core::PlaceKind => wit::PlaceKind { name, template, description });
record!(core::ConceptSupport => wit::Concept { name, support });
record!(core::System => wit::System { name, home_field, home_rule; list concepts, places });
record!(core::HomesPage => wit::HomesPage { continue_from, cost; list homes, skipped });
record!(core::Item => wit::Item { key, size_bytes, modified_ms, place });
record!(core::Skipped => wit::Skipped { key, cause });
record!(core::ContentsPage => wit::ContentsPage { continue_from, cost; list items, skipped });
record!(core::SessionKey => wit::SessionKey { key, main });
record!(wit::View => core::View { thread, user, ticket });
record!(core::MappedPath => wit::MappedPath { path, key, writable });
