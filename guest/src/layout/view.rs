//! What a solven thread's agent sees, as a mount table, both ways (spec/solven.md, "View"). Knows no
//! store; whether an object exists is not asked.
//!
//! Where the reference has links, a view has mounts: `/.solven` and `/.ticket` are always the view's
//! own, whatever lies at those keys of the thread.

use super::field::{ThreadId, UserId};
use super::key::{self, quoted};
use super::solven;
use crate::types::{Error, Result};

/// Holds nothing but mounts, whatever lies there in the thread.
pub const MOUNTS_PATH: &str = "/.solven";
/// Where a view has mounts of its own, or may have.
pub const ALL_MOUNTS: [&str; 2] = [MOUNTS_PATH, "/.ticket"];
const SKILLS_DIRECTORY: [&str; 2] = [".solven", "skills"];
const TICKET: &str = ".ticket";
/// The directory of the shared skills, and the other name of the user's own.
const SYSTEM: &str = "system";
const USER_ALIAS: &str = "user";

/// Who looks: a thread, its user, and its ticket's thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    pub thread: ThreadId,
    pub user: Option<UserId>,
    pub ticket: Option<ThreadId>,
}

/// One line of a view's table: what of the store the agent sees where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// The agent's path, without a slash at the end except for `/`.
    pub path: String,
    /// The keys behind it; ends in a slash.
    pub prefix: String,
    pub writable: bool,
}

/// A path of the agent and the key behind it. Of a mount itself the key is its prefix without the
/// slash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapped {
    pub path: String,
    pub key: String,
    pub writable: bool,
}

impl View {
    /// Checks the ids; the message of `invalid` states the rule.
    pub fn parse(thread: &str, user: Option<&str>, ticket: Option<&str>) -> Result<Self> {
        Ok(Self {
            thread: ThreadId::parse(thread)?,
            user: user.map(UserId::parse).transpose()?,
            ticket: ticket.map(ThreadId::parse).transpose()?,
        })
    }

    /// The table, the thread itself last.
    pub fn mounts(&self) -> Vec<Mount> {
        let mount = |path: String, prefix: String, writable| Mount {
            path,
            prefix,
            writable,
        };
        let skills = SKILLS_DIRECTORY.join("/");
        let mut mounts = vec![mount(
            format!("/{skills}/{SYSTEM}"),
            solven::SYSTEM_SKILLS_PREFIX.to_owned(),
            false,
        )];
        if let Some(user) = &self.user {
            let prefix = solven::user_skills_prefix(user);
            mounts.push(mount(format!("/{skills}/{user}"), prefix, true));
        }
        if let Some(ticket) = &self.ticket {
            let prefix = solven::thread_prefix(ticket);
            mounts.push(mount(format!("/{TICKET}"), prefix, false));
        }
        let prefix = solven::thread_prefix(&self.thread);
        mounts.push(mount("/".to_owned(), prefix, true));
        mounts
    }

    /// Where the thread's own files lie.
    pub fn thread_prefix(&self) -> String {
        solven::thread_prefix(&self.thread)
    }

    /// The other path of the user's skills, and the name beside it that it stands for.
    pub fn alias(&self) -> Option<(String, String)> {
        let user = self.user.as_ref()?;
        let path = format!("/{}/{USER_ALIAS}", SKILLS_DIRECTORY.join("/"));
        Some((path, user.to_string()))
    }

    /// The key behind a path of the agent. A path that climbs out or names what this view does not
    /// have is `invalid` and says which rule it broke; nothing is remapped silently.
    pub fn key_of(&self, path: &str) -> Result<Mapped> {
        let segments = normalise(path)?;
        let (prefix, inner, writable) = self.mount_of(path, &segments)?;
        let mut key = prefix.trim_end_matches('/').to_owned();
        for segment in inner {
            key.push('/');
            key.push_str(segment);
        }
        key::check(&key)?;
        // The second check: whatever the steps above did, the key lies where the mount points.
        if !inner.is_empty() && !key.starts_with(&prefix) {
            return Err(refuse(path, "it leaves its mount"));
        }
        Ok(Mapped {
            path: format!("/{}", segments.join("/")),
            key,
            writable,
        })
    }

    /// A path, `..` resolved and the user by name, with a slash at its end. Also of `/.solven` and its skills,
    /// which hold nothing but mounts; else as [`View::key_of`].
    pub fn directory_of(&self, path: &str) -> Result<String> {
        let segments = normalise(path)?;
        let holds_mounts = matches!(segments.as_slice(), [first] if *first == SKILLS_DIRECTORY[0])
            || segments == SKILLS_DIRECTORY;
        if !holds_mounts {
            self.mount_of(path, &segments)?;
        }
        let mut directory = self.by_name(&segments);
        if !directory.ends_with('/') {
            directory.push('/');
        }
        Ok(directory)
    }

    /// A glob over paths, with the user by name.
    pub fn glob_by_name(&self, glob: &str) -> String {
        let alias = format!("/{}/{USER_ALIAS}/", SKILLS_DIRECTORY.join("/"));
        match (&self.user, glob.strip_prefix(&alias)) {
            (Some(user), Some(rest)) => format!("/{}/{user}/{rest}", SKILLS_DIRECTORY.join("/")),
            _ => glob.to_owned(),
        }
    }

    /// A path with the user by name, also where it says `user`.
    fn by_name(&self, segments: &[&str]) -> String {
        let mut segments = segments.to_vec();
        let is_alias = segments.len() > 2
            && segments.starts_with(&SKILLS_DIRECTORY)
            && segments.get(2) == Some(&USER_ALIAS);
        if let (true, Some(user), Some(owner)) = (is_alias, &self.user, segments.get_mut(2)) {
            *owner = user.as_str();
        }
        format!("/{}", segments.join("/"))
    }

    /// The mount that a path is in: its prefix, the segments below it, and whether it takes writes.
    fn mount_of<'s>(
        &self,
        path: &str,
        segments: &'s [&'s str],
    ) -> Result<(String, &'s [&'s str], bool)> {
        match segments {
            [first, inner @ ..] if *first == TICKET => match &self.ticket {
                Some(ticket) => Ok((solven::thread_prefix(ticket), inner, false)),
                None => Err(refuse(path, "this thread has no ticket")),
            },
            [first, second, owner, inner @ ..] if [*first, *second] == SKILLS_DIRECTORY => {
                self.skills_of(path, owner, inner)
            }
            [first, rest @ ..] if *first == SKILLS_DIRECTORY[0] => Err(refuse(
                path,
                if rest
                    .first()
                    .is_none_or(|second| *second == SKILLS_DIRECTORY[1])
                {
                    "it is a read-only view of the skills mounts and has no key of its own"
                } else {
                    "/.solven holds nothing but skills"
                },
            )),
            _ => Ok((solven::thread_prefix(&self.thread), segments, true)),
        }
    }

    fn skills_of<'s>(
        &self,
        path: &str,
        owner: &str,
        inner: &'s [&'s str],
    ) -> Result<(String, &'s [&'s str], bool)> {
        if owner == SYSTEM {
            return Ok((solven::SYSTEM_SKILLS_PREFIX.to_owned(), inner, false));
        }
        match &self.user {
            Some(user) if owner == USER_ALIAS || owner == user.as_str() => {
                Ok((solven::user_skills_prefix(user), inner, true))
            }
            Some(user) => Err(refuse(
                path,
                &format!(
                    "a thread of user {user} sees system skills and its own, not another user's"
                ),
            )),
            None => Err(refuse(
                path,
                "this thread has no user, so it sees system skills only",
            )),
        }
    }

    /// The path under which the agent sees a key; `not-found` when it does not, or when a mount hides
    /// it. Skills of the user come as `/.solven/skills/{user}`.
    pub fn path_of(&self, key: &str) -> Result<Mapped> {
        key::check(key)?;
        let mut mounts = self.mounts();
        // The thread first: its own files are writable even when it is its own ticket.
        mounts.rotate_right(1);
        for mount in mounts {
            let Some(inner) = key.strip_prefix(&mount.prefix) else {
                continue;
            };
            let path = format!("{}/{inner}", mount.path.trim_end_matches('/'));
            if let Ok(mapped) = self.key_of(&path)
                && mapped.key == key
            {
                return Ok(mapped);
            }
        }
        Err(Error::not_found(format!(
            "thread {} does not see {}: it sees its own files, system skills, its user's skills and its \
             ticket",
            self.thread,
            quoted(key)
        ))
        .at(key))
    }
}

/// The segments of an absolute path, without `.`, `..` and empty ones.
fn normalise(path: &str) -> Result<Vec<&str>> {
    if !path.starts_with('/') {
        return Err(refuse(path, "paths of an agent begin with a slash"));
    }
    let mut segments: Vec<&str> = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => match segments.as_slice() {
                [] => return Err(refuse(path, "it climbs out of the thread")),
                [mount] if *mount == TICKET || *mount == SKILLS_DIRECTORY[0] => {
                    return Err(refuse(
                        path,
                        &format!("it climbs out of the mount /{mount}"),
                    ));
                }
                _ => {
                    segments.pop();
                }
            },
            _ => match key::broken_segment_rule(segment) {
                None => segments.push(segment),
                Some(rule) => return Err(refuse(path, &rule)),
            },
        }
    }
    Ok(segments)
}

fn refuse(path: &str, rule: &str) -> Error {
    Error::invalid(format!("path {} leads nowhere: {rule}", quoted(path)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::ErrorCode;

    fn view() -> View {
        View::parse("t1", Some("ada"), Some("T-9")).unwrap()
    }

    #[test]
    fn paths_lead_to_keys() {
        for (path, normal, key, writable) in [
            ("/", "/", "threads/t1", true),
            ("/file.txt", "/file.txt", "threads/t1/file.txt", true),
            ("//a/./b/../c/", "/a/c", "threads/t1/a/c", true),
            ("/etc/passwd", "/etc/passwd", "threads/t1/etc/passwd", true),
            (
                "/threads/t2/x",
                "/threads/t2/x",
                "threads/t1/threads/t2/x",
                true,
            ),
            ("/.ticketx", "/.ticketx", "threads/t1/.ticketx", true),
            ("/.solvenx/y", "/.solvenx/y", "threads/t1/.solvenx/y", true),
            (
                "/.venv/bin/python",
                "/.venv/bin/python",
                "threads/t1/.venv/bin/python",
                true,
            ),
            ("/.haversack", "/.haversack", "threads/t1/.haversack", true),
            ("/.ticket", "/.ticket", "threads/T-9", false),
            (
                "/.ticket/notes.md",
                "/.ticket/notes.md",
                "threads/T-9/notes.md",
                false,
            ),
            (
                "/.solven/skills/system/pdf/SKILL.md",
                "/.solven/skills/system/pdf/SKILL.md",
                "skills/system/pdf/SKILL.md",
                false,
            ),
            (
                "/.solven/skills/ada/x",
                "/.solven/skills/ada/x",
                "skills/ada/x",
                true,
            ),
            (
                "/.solven/skills/user/x",
                "/.solven/skills/user/x",
                "skills/ada/x",
                true,
            ),
            (
                "/.solven/skills/ada",
                "/.solven/skills/ada",
                "skills/ada",
                true,
            ),
        ] {
            let mapped = view().key_of(path).unwrap();
            let expected = Mapped {
                path: normal.to_owned(),
                key: key.to_owned(),
                writable,
            };
            assert_eq!(mapped, expected, "{path}");
        }
    }

    #[test]
    fn refusals_name_the_rule() {
        let alone = View::parse("t1", None, None).unwrap();
        let long = format!("/{}", "x".repeat(256));
        let deep = "/x".repeat(512);
        for (view, path, rule) in [
            (view(), "/../t2/x", "climbs out of the thread"),
            (view(), "/a/../../t2/x", "climbs out of the thread"),
            (view(), "/.solven/skills/other/x", "not another user's"),
            (
                view(),
                "/.solven/skills/../../threads/t2/x",
                "climbs out of the mount /.solven",
            ),
            (view(), "/.ticket/../x", "climbs out of the mount /.ticket"),
            (
                view(),
                "/.solven/skills/system/../other/x",
                "not another user's",
            ),
            (view(), "/.solven", "no key of its own"),
            (view(), "/.solven/skills/", "no key of its own"),
            (view(), "/.solven/x", "nothing but skills"),
            (view(), "file.txt", "begin with a slash"),
            (view(), "", "begin with a slash"),
            (view(), "/a\\b", "backslash"),
            (view(), "/a\0b", "control"),
            (view(), &long, "255 bytes"),
            (view(), &deep, "1024 bytes"),
            (alone.clone(), "/.ticket/x", "no ticket"),
            (alone.clone(), "/.ticket", "no ticket"),
            (alone.clone(), "/.solven/skills/user/x", "no user"),
            (alone, "/.solven/skills/ada/x", "no user"),
        ] {
            let error = view.key_of(path).unwrap_err();
            assert_eq!(error.code, ErrorCode::Invalid);
            assert!(error.message.contains(rule), "{path}: {}", error.message);
        }
    }

    #[test]
    fn keys_lead_back_to_paths() {
        for (key, path) in [
            ("threads/t1/a/b", "/a/b"),
            ("threads/T-9/a", "/.ticket/a"),
            (
                "skills/system/pdf/SKILL.md",
                "/.solven/skills/system/pdf/SKILL.md",
            ),
            ("skills/ada/x", "/.solven/skills/ada/x"),
        ] {
            let mapped = view().path_of(key).unwrap();
            assert_eq!((mapped.key.as_str(), mapped.path.as_str()), (key, path));
        }
        for key in [
            "threads/t2/x",
            "threads/t11/x",
            "threads/t1",
            "skills/bob/x",
            "skills/adam/x",
            "threads/t1/.solven/skills/system/x",
            "threads/t1/.ticket/x",
            "other/x",
        ] {
            let error = view().path_of(key).unwrap_err();
            assert_eq!(error.code, ErrorCode::NotFound, "{key}");
        }
    }

    #[test]
    fn a_thread_that_is_its_own_ticket_stays_writable() {
        let view = View::parse("t1", None, Some("t1")).unwrap();
        assert!(view.path_of("threads/t1/a").unwrap().writable);
        assert!(!view.key_of("/.ticket/a").unwrap().writable);
    }

    #[test]
    fn ids_are_checked() {
        for (thread, user, ticket) in [
            ("../x", None, None),
            ("t1", Some("system"), None),
            ("t1", Some("user"), None),
            ("t1", None, Some("")),
        ] {
            assert!(View::parse(thread, user, ticket).is_err());
        }
    }
}
