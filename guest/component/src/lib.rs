//! haversack-core as a WebAssembly component: the only code with wit-bindgen. One file for each interface
//! converts and forwards; there is no logic here.

mod bus;
mod compaction;
mod convert;
mod documents;
mod facts;
mod files;
mod layout;
mod media;
mod memory;
mod messages;
mod projects;
mod prompt;
mod retention;
mod runs;
mod sessions;
mod skills;
mod store;
mod tenants;
mod threads;
mod types;

wit_bindgen::generate!({
    path: ["../../wit/store", "../../wit/core"],
    world: "haversack:core/haversack",
    generate_all,
});

/// What the exports are implemented on.
struct Component;

export!(Component);
