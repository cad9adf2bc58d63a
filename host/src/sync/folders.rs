//! Which folders of a store lie where below a directory, both ways. Which they are, the caller says; knows no file.

/// A folder of the store and its place below the directory, each with its slash: `config/` and `root/.clawdbot/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    pub prefix: String,
    pub place: String,
}

/// All that is kept the same. None lies inside another, on neither side.
#[derive(Clone, Debug, Default)]
pub struct Folders(pub Vec<Folder>);

impl Folders {
    /// Where the object with this key lies below the directory.
    pub fn here(&self, key: &str) -> Option<String> {
        self.0.iter().find_map(|folder| {
            let rest = key.strip_prefix(&folder.prefix)?;
            (!rest.is_empty()).then(|| format!("{}{rest}", folder.place))
        })
    }

    /// The key of what lies there below the directory.
    pub fn key(&self, here: &str) -> Option<String> {
        self.0.iter().find_map(|folder| {
            let rest = here.strip_prefix(&folder.place)?;
            (!rest.is_empty()).then(|| format!("{}{rest}", folder.prefix))
        })
    }

    /// The folder that this key lies in.
    pub fn of(&self, key: &str) -> Option<&Folder> {
        let mut folders = self.0.iter();
        folders.find(|folder| key.starts_with(&folder.prefix))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        let folder = |prefix: &str, place: &str| Folder {
            prefix: prefix.to_owned(),
            place: place.to_owned(),
        };
        let folders = Folders(vec![
            folder("config/", "root/.clawdbot/"),
            folder("workspace/", "root/clawd/workspace/"),
        ]);
        for (key, here) in [
            ("config/clawdbot.json", "root/.clawdbot/clawdbot.json"),
            ("workspace/a/b", "root/clawd/workspace/a/b"),
        ] {
            assert_eq!(folders.here(key).as_deref(), Some(here));
            assert_eq!(folders.key(here).as_deref(), Some(key));
        }
        for elsewhere in ["config/", "configs/a", "sessions/main/messages.jsonl", ""] {
            assert_eq!(folders.here(elsewhere), None, "{elsewhere}");
        }
        for elsewhere in ["root/.clawdbot/", "root/.clawdbot", "root/clawd/a", "etc"] {
            assert_eq!(folders.key(elsewhere), None, "{elsewhere}");
        }
    }
}
