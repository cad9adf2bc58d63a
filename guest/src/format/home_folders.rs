//! home-folders.md of run-agent: YAML with the folders that a project works in. Knows no store and no key.

use super::front_matter::{Finding, Node, Value};
use super::yaml::{Mapping, scalar, text_of};
use crate::types::ProblemKind;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HomeFolders {
    pub project_root: String,
    pub source_folders: Vec<Folder>,
    pub additional_folders: Vec<Folder>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Folder {
    pub path: String,
    /// What lies in it.
    pub description: String,
}

impl HomeFolders {
    pub fn render(&self) -> String {
        let mut text = format!("project_root: {}\n", scalar(&self.project_root));
        for (name, folders) in [
            ("source_folders", &self.source_folders),
            ("additional_folders", &self.additional_folders),
        ] {
            match folders.is_empty() {
                true => text.push_str(&format!("{name}: []\n")),
                false => text.push_str(&format!("{name}:\n")),
            }
            for folder in folders {
                let (path, description) = (scalar(&folder.path), scalar(&folder.description));
                text.push_str(&format!(
                    "  - path: {path}\n    description: {description}\n"
                ));
            }
        }
        text
    }

    /// What a file says; none where it cannot be read. A folder without a path is left out, and reported.
    pub fn parse(text: &str) -> (Option<Self>, Vec<Finding>) {
        let read = Mapping::of_file(text);
        let mut findings = read.findings.clone();
        if read.entries.is_none() {
            if findings.is_empty() {
                let message = "it is no YAML with project_root and folders";
                findings.push(Finding::new(ProblemKind::Unreadable, 1, message));
            }
            return (None, findings);
        }
        let mut folders = |name: &str| match read.get(name).map(|node| (node, &node.value)) {
            Some((_, Value::List(items))) => {
                let items = items
                    .iter()
                    .filter_map(|item| folder(item, name, &mut findings));
                items.collect()
            }
            Some((node, _)) if !node.is_null() => {
                let message = format!("{name} is {}, and should be a list", node.kind_name());
                findings.push(Finding::new(ProblemKind::Skipped, node.line, message));
                Vec::new()
            }
            _ => Vec::new(),
        };
        let (source_folders, additional_folders) =
            (folders("source_folders"), folders("additional_folders"));
        let project_root = read.text("project_root").unwrap_or_default();
        if project_root.is_empty() {
            let message = "project_root is missing";
            findings.push(Finding::new(ProblemKind::Unreadable, None, message));
        }
        let folders = Self {
            project_root,
            source_folders,
            additional_folders,
        };
        (Some(folders), findings)
    }
}

/// An entry, or a path alone.
fn folder(item: &Node, name: &str, findings: &mut Vec<Finding>) -> Option<Folder> {
    let find = |wanted: &str| match &item.value {
        Value::Map(entries) => {
            let found = entries.iter().find(|(there, _)| there == wanted);
            found.and_then(|(_, node)| text_of(node))
        }
        Value::Scalar { .. } if wanted == "path" => text_of(item),
        _ => None,
    };
    let Some(path) = find("path") else {
        let message = format!("an entry of {name} has no path; it is left out");
        findings.push(Finding::new(ProblemKind::Skipped, item.line, message));
        return None;
    };
    Some(Folder {
        path,
        description: find("description").unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_read() {
        let folders = HomeFolders {
            project_root: "/srv/proj".to_owned(),
            source_folders: vec![Folder {
                path: "/srv/proj/src".to_owned(),
                description: "code: all of it\n# really".to_owned(),
            }],
            additional_folders: Vec::new(),
        };
        assert_eq!(
            HomeFolders::parse(&folders.render()),
            (Some(folders.clone()), Vec::new())
        );
        let fenced = format!("---\n{}---\n\nMore about it.\n", folders.render());
        assert_eq!(HomeFolders::parse(&fenced).0, Some(folders));
    }

    #[test]
    fn what_people_write() {
        let (folders, findings) = HomeFolders::parse(
            "project_root: /p\nsource_folders:\n  - /p/src\n  - {description: lost}\nadditional_folders: none\n",
        );
        assert_eq!(folders.unwrap().source_folders[0].path, "/p/src");
        let lines: Vec<_> = findings.iter().map(|finding| finding.line).collect();
        assert_eq!(lines, [Some(4), Some(5)], "{findings:?}");
        assert_eq!(HomeFolders::parse("project_root: [\n").0, None);
        assert_eq!(HomeFolders::parse("- a\n").0, None);
    }
}
