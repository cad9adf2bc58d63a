//! What proot is told, and which paths its syntax can hold. Knows no key, no store and no thread.

use serde::{Deserialize, Serialize};

use crate::types::{Error, Result};

/// How a part of the host comes into the view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BindKind {
    System,
    Skeleton,
    Copy,
    Shared,
}

/// A directory of the host and where the command sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Bind {
    pub host: String,
    pub path: String,
    pub kind: BindKind,
}

/// The argument list for `command` with `root` as `/`. Paths are such as [`check`] lets through, outer binds first.
pub fn arguments(root: &str, binds: &[Bind], command: &[String]) -> Result<Vec<String>> {
    let Some(program) = command.first().filter(|program| !program.is_empty()) else {
        return Err(Error::invalid(
            "command is empty: it is the program, then its arguments, such as [\"ls\", \"-l\"]",
        ));
    };
    if program.starts_with('-') {
        return Err(Error::invalid(format!(
            "program {program:?} begins with a hyphen, so that proot takes it for an option of its own: name it by \
             its path"
        )));
    }
    if let Some(word) = command.iter().find(|word| word.contains('\0')) {
        return Err(Error::invalid(format!(
            "{word:?} of the command holds a NUL, which no program can be given"
        )));
    }
    // The level at which proot says nothing of its own unless it fails.
    let mut arguments = vec!["-v".to_owned(), "-1".to_owned()];
    arguments.extend(["-r".to_owned(), root.to_owned()]);
    for bind in binds {
        arguments.extend(["-b".to_owned(), format!("{}:{}", bind.host, bind.path)]);
    }
    arguments.extend(["-w".to_owned(), "/".to_owned()]);
    arguments.extend(command.iter().cloned());
    Ok(arguments)
}

/// Refuses what is no path of a directory below `/`, or what proot would read otherwise; `name` is the request's for it.
pub fn check(name: &str, path: &str) -> Result<()> {
    let refuse = |rule: &str| Err(Error::invalid(format!("{name} {path:?} {rule}")));
    let Some(inner) = path.strip_prefix('/') else {
        return refuse("is not absolute: the host resolves it first");
    };
    if inner
        .split('/')
        .any(|segment| matches!(segment, "" | "." | ".."))
    {
        return refuse(
            "is no directory below / in its shortest form: no empty segment, no `.`, no `..`, no slash at its end",
        );
    }
    if path.contains(':') {
        return refuse(
            "holds a colon, which separates the two sides of a bind for proot: use a path without one",
        );
    }
    if path.chars().any(char::is_control) {
        return refuse("holds a control character, which proot's arguments cannot hold");
    }
    if path.ends_with('!') {
        return refuse(
            "ends in an exclamation mark, which is an instruction to proot: use a path without one",
        );
    }
    Ok(())
}

/// Whether one is the other, or lies in it.
pub fn overlap(one: &str, other: &str) -> bool {
    lies_in(one, other) || lies_in(other, one)
}

/// Whether `path` is `directory` or lies in it, by whole segments.
pub fn lies_in(path: &str, directory: &str) -> bool {
    path.strip_prefix(directory)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_comes_last_and_binds_keep_their_order() {
        let bind = |host: &str, path: &str| Bind {
            host: host.to_owned(),
            path: path.to_owned(),
            kind: BindKind::System,
        };
        let command = ["ls".to_owned(), "-l".to_owned(), "a:b\n".to_owned()];
        let arguments = arguments("/s", &[bind("/usr", "/usr"), bind("/c", "/d")], &command);
        assert_eq!(
            arguments.unwrap(),
            [
                "-v",
                "-1",
                "-r",
                "/s",
                "-b",
                "/usr:/usr",
                "-b",
                "/c:/d",
                "-w",
                "/",
                "ls",
                "-l",
                "a:b\n"
            ]
        );
    }

    #[test]
    fn commands_that_proot_would_not_run() {
        for command in [&[][..], &[""], &["-r"], &["ls", "a\0b"]] {
            let command: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
            assert!(arguments("/s", &[], &command).is_err(), "{command:?}");
        }
    }

    #[test]
    fn paths_that_proot_takes_as_they_are() {
        for path in ["/usr", "/a b/c", "/mnt/r2/é", "/a!/b", "/...", "/.a"] {
            assert!(check("root-dir", path).is_ok(), "{path}");
        }
        for (path, rule) in [
            ("", "not absolute"),
            ("usr", "not absolute"),
            ("/", "below /"),
            ("/usr/", "slash"),
            ("//usr", "empty segment"),
            ("/a/../b", ".."),
            ("/a/.", "`.`"),
            ("/a:b", "colon"),
            ("/a\nb", "control"),
            ("/a\0", "control"),
            ("/a!", "exclamation"),
        ] {
            let error = check("root-dir", path).unwrap_err();
            assert!(error.message.contains(rule), "{}", error.message);
            assert!(error.message.starts_with("root-dir \""));
        }
    }

    #[test]
    fn directories_lie_in_each_other_by_whole_segments() {
        assert!(overlap("/a", "/a") && overlap("/a/b", "/a") && overlap("/a", "/a/b"));
        assert!(!overlap("/a", "/ab") && !overlap("/a/b", "/a/c"));
        assert!(lies_in("/a/b", "/a") && !lies_in("/a", "/a/b"));
    }
}
