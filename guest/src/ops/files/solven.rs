//! The workspace of a solven thread (spec: solven, "View"): its own files, and the mounts beside them.

use super::{Located, Mount, Viewer, Workspace};
use crate::layout::view::View;
use crate::types::{Error, Result};

pub struct ThreadWorkspace {
    view: View,
}

impl ThreadWorkspace {
    pub fn of(viewer: &Viewer) -> Result<Self> {
        if viewer.session_key.is_some() || viewer.main_key.is_some() {
            return Err(Error::invalid(
                "a thread of solven has no `session-key` and no `main-key`; they are for agents of gsv",
            ));
        }
        let (user, ticket) = (viewer.user.as_deref(), viewer.ticket.as_deref());
        let view = View::parse(&viewer.home.id, user, ticket)?;
        Ok(Self { view })
    }
}

impl Workspace for ThreadWorkspace {
    fn root(&self) -> &'static str {
        "/"
    }

    fn locate(&self, path: &str) -> Result<Located> {
        let mapped = self.view.key_of(path)?;
        // A mount itself has no key of its own: one with its name would lie beside it.
        let as_prefix = format!("{}/", mapped.key);
        if self.mounts().iter().any(|mount| mount.prefix == as_prefix) {
            let path = mapped.path;
            let message = format!("{path} is a directory; name a file in it");
            return Err(Error::invalid(message));
        }
        let path = self.view.directory_of(path)?;
        Ok(Located {
            path: path.trim_end_matches('/').to_owned(),
            key: mapped.key,
            fallback: None,
            writable: mapped.writable,
        })
    }

    fn directory(&self, path: &str) -> Result<String> {
        match path {
            "" => self.view.directory_of("/"),
            path => self.view.directory_of(path),
        }
    }

    fn pattern(&self, glob: &str) -> String {
        let glob = glob.strip_prefix("./").unwrap_or(glob);
        let glob = format!("/{}", glob.trim_start_matches('/'));
        self.view.glob_by_name(&glob)
    }

    fn mounts(&self) -> Vec<Mount> {
        let mut mounts: Vec<Mount> = Vec::new();
        for mount in self.view.mounts() {
            mounts.push(Mount {
                prefix: mount.prefix,
                path: format!("{}/", mount.path.trim_end_matches('/')),
                behind: false,
            });
        }
        // The thread's own first.
        mounts.rotate_right(1);
        mounts
    }

    fn see(&self, mount: &Mount, key: &str) -> Option<Located> {
        let inner = key.strip_prefix(&mount.prefix)?;
        let located = self.locate(&format!("{}{inner}", mount.path)).ok()?;
        // A part of the thread that lies behind another mount leads to that one.
        (located.key == key).then_some(located)
    }

    fn unseen(&self) -> &'static str {
        "lies where a mount is, which hides it"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Home;

    fn workspace(user: Option<&str>, ticket: Option<&str>) -> ThreadWorkspace {
        ThreadWorkspace::of(&Viewer {
            home: Home {
                system: "solven".into(),
                id: "t1".into(),
            },
            session_key: None,
            main_key: None,
            user: user.map(str::to_owned),
            ticket: ticket.map(str::to_owned),
        })
        .unwrap()
    }

    #[test]
    fn a_file_lies_in_a_mount_and_never_beside_it() {
        let thread = workspace(Some("ada"), Some("t9"));
        let located = thread.locate("/.solven/skills/user/x/SKILL.md").unwrap();
        assert_eq!(located.path, "/.solven/skills/ada/x/SKILL.md");
        assert_eq!(located.key, "skills/ada/x/SKILL.md");
        for mount in [
            "/",
            "//",
            "/a/..",
            "/.ticket",
            "/.solven",
            "/.solven/skills",
            "/.solven/skills/system",
            "/.solven/skills/ada/",
            "/.solven/skills/user",
        ] {
            assert!(thread.locate(mount).is_err(), "{mount}");
            assert!(thread.directory(mount).is_ok(), "{mount}");
        }
        assert_eq!(thread.directory("").unwrap(), "/");
        assert_eq!(
            thread.directory("/.solven/skills/user/").unwrap(),
            "/.solven/skills/ada/"
        );
        for out in ["a", "../x", "/../t2", "/.solven/skills/bob", "/.solven/x"] {
            assert!(thread.directory(out).is_err(), "{out}");
        }
        assert!(workspace(None, None).directory("/.ticket").is_err());
    }

    #[test]
    fn globs_begin_at_the_root() {
        let thread = workspace(Some("ada"), None);
        for (glob, pattern) in [
            ("**/*.py", "/**/*.py"),
            ("./a", "/a"),
            ("/a", "/a"),
            ("/.solven/skills/user/*", "/.solven/skills/ada/*"),
            ("/.solven/skills/user*/x", "/.solven/skills/user*/x"),
        ] {
            assert_eq!(thread.pattern(glob), pattern);
        }
        assert_eq!(
            workspace(None, None).pattern("/.solven/skills/user/*"),
            "/.solven/skills/user/*"
        );
    }
}
