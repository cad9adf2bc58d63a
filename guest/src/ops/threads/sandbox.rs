//! What a host with proot does to run a command in a thread: the view of the thread, as binds. Only looks whether
//! the thread is there.

use serde::{Deserialize, Serialize};

use crate::layout::System;
use crate::layout::concept::{Concept, require};
use crate::layout::view::{self, View};
use crate::ops::presence;
use crate::store::{Metered, Store};
use crate::transform::proot::{self, Bind, BindKind, check, lies_in, overlap};
use crate::types::{Cost, Error, Home, Result};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SandboxRequest {
    pub home: Home,
    #[serde(default)]
    pub user: Option<String>,
    #[serde(default)]
    pub ticket: Option<String>,
    pub root_dir: String,
    pub copies_dir: String,
    pub system_dirs: Vec<String>,
    pub command: Vec<String>,
}

/// A part of the store that is copied before the command runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Copied {
    pub prefix: String,
    pub host: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SandboxAnswer {
    pub root: String,
    pub arguments: Vec<String>,
    pub environment: Vec<(String, String)>,
    pub binds: Vec<Bind>,
    pub copies: Vec<Copied>,
    pub directories: Vec<String>,
    pub links: Vec<(String, String)>,
    pub mount_points: Vec<String>,
    pub cost: Cost,
}

/// The thread's own Python environment first, where it has one; then where programs usually are.
const ENVIRONMENT: [(&str, &str); 3] = [
    ("HOME", "/"),
    ("USER", "user"),
    (
        "PATH",
        "/.venv/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    ),
];
/// Below `copies-dir`, beside the copies, which lie there under their keys.
const SKELETON: &str = "view";

pub fn sandbox(store: &dyn Store, request: &SandboxRequest) -> Result<SandboxAnswer> {
    let store = Metered::new(store);
    let home = &request.home;
    require(System::parse(&home.system)?, Concept::Sandbox)?;
    let view = View::parse(&home.id, request.user.as_deref(), request.ticket.as_deref())?;
    let mut answer = plan(&view, request)?;
    let prefix = view.thread_prefix();
    let probed = store.read(vec![presence::probe(prefix.clone())])?.pop();
    if !presence::exists(probed, &prefix)? {
        let message = format!(
            "nothing lies in thread {}: look at its id, or set the thread up first (threads.configure)",
            view.thread
        );
        return Err(Error::not_found(message).at(prefix));
    }
    answer.cost = store.cost();
    Ok(answer)
}

fn plan(view: &View, request: &SandboxRequest) -> Result<SandboxAnswer> {
    let system_dirs = checked(request)?;
    let of_store = |prefix: &str| below(&request.root_dir, prefix);
    let of_copies = |inner: &str| below(&request.copies_dir, inner);
    let skeleton = of_copies(SKELETON);
    let root = of_store(&view.thread_prefix());
    let mut answer = SandboxAnswer {
        environment: ENVIRONMENT
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
        ..SandboxAnswer::default()
    };
    for dir in system_dirs {
        answer.mount(&root, dir);
        answer.bind(dir.to_owned(), dir, BindKind::System);
    }
    answer.mount(&root, view::MOUNTS_PATH);
    answer.bind(skeleton.clone(), view::MOUNTS_PATH, BindKind::Skeleton);
    for mount in view.mounts() {
        if mount.path == "/" {
            continue;
        }
        match mount.path.strip_prefix(view::MOUNTS_PATH) {
            Some(inner) => answer.directories.push(below(&skeleton, inner)),
            None => answer.mount(&root, &mount.path),
        }
        if mount.writable {
            let host = of_store(&mount.prefix);
            answer.mount(&request.root_dir, &mount.prefix);
            answer.bind(host, &mount.path, BindKind::Shared);
        } else {
            let host = of_copies(&mount.prefix);
            answer.directories.push(host.clone());
            answer.bind(host.clone(), &mount.path, BindKind::Copy);
            let prefix = mount.prefix;
            answer.copies.push(Copied { prefix, host });
        }
    }
    if let Some((path, target)) = view.alias()
        && let Some(inner) = path.strip_prefix(view::MOUNTS_PATH)
    {
        answer.links.push((below(&skeleton, inner), target));
    }
    answer.arguments = proot::arguments(&root, &answer.binds, &request.command)?;
    answer.root = root;
    Ok(answer)
}

impl SandboxAnswer {
    fn bind(&mut self, host: String, path: &str, kind: BindKind) {
        let path = path.to_owned();
        self.binds.push(Bind { host, path, kind });
    }

    /// A place for a bind in the thread, and for what it lies in.
    fn mount(&mut self, root: &str, path: &str) {
        let mut point = root.to_owned();
        for segment in path.split('/').filter(|segment| !segment.is_empty()) {
            point = below(&point, segment);
            if !self.mount_points.contains(&point) {
                self.mount_points.push(point.clone());
            }
        }
    }
}

/// The directories of the system that are not in one another; refuses whatever would show another part of the store.
fn checked(request: &SandboxRequest) -> Result<Vec<&str>> {
    let (root, copies) = (&request.root_dir, &request.copies_dir);
    check("root-dir", root)?;
    check("copies-dir", copies)?;
    if overlap(root, copies) {
        return Err(Error::invalid(format!(
            "copies-dir {copies:?} and root-dir {root:?} lie in one another: copies are no part of the store"
        )));
    }
    for dir in &request.system_dirs {
        check("system directory", dir)?;
        if overlap(dir, root) {
            return Err(Error::invalid(format!(
                "system directory {dir:?} and root-dir {root:?} lie in one another, so that other threads would be \
                 seen: leave it out, or keep the store elsewhere"
            )));
        }
        if let Some(mount) = view::ALL_MOUNTS.iter().find(|mount| lies_in(dir, mount)) {
            return Err(Error::invalid(format!(
                "system directory {dir:?} is where a thread sees its mount {mount}"
            )));
        }
    }
    let dirs = request.system_dirs.iter().enumerate();
    let outermost = dirs.filter(|(at, dir)| {
        let mut others = request.system_dirs.iter().enumerate();
        !others.any(|(other_at, other)| lies_in(dir, other) && (*dir != other || other_at < *at))
    });
    Ok(outermost.map(|(_, dir)| dir.as_str()).collect())
}

/// A path below a directory, without slashes too many.
fn below(directory: &str, inner: &str) -> String {
    format!("{directory}/{}", inner.trim_matches('/'))
}
