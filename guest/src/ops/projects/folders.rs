//! home-folders.md: which folders a project works in.

use super::{
    Folder, FoldersAnswer, HomeFolders, SetFoldersRequest, Written, YAML, new_project_of,
    project_of,
};
use crate::format::home_folders as format;
use crate::format::text::decode;
use crate::layout::concept::Concept;
use crate::layout::run_agent::Place;
use crate::limits::{HOME_FOLDERS_MAX, RUN_FILE_BYTES_MAX};
use crate::protocol::document::{Change, edit_version};
use crate::protocol::request::RequestId;
use crate::store::{BodyKind, GetRequest, Metered, Range, Store};
use crate::types::{Error, Home, Result};

pub fn folders(store: &dyn Store, home: &Home) -> Result<FoldersAnswer> {
    let store = Metered::new(store);
    let project = project_of(home, Concept::Runs)?;
    let key = Place::HomeFolders { project }.key();
    let blob = store.get(GetRequest {
        key: key.clone(),
        range: Range::Whole,
        kind: BodyKind::Text,
    })?;
    let Some(blob) = blob else {
        return Ok(FoldersAnswer {
            folders: None,
            version: None,
            problems: Vec::new(),
            cost: store.cost(),
        });
    };
    let (folders, findings) = format::HomeFolders::parse(&decode(blob.body.into_bytes()).text);
    let problems = findings.into_iter().map(|finding| finding.at(&key));
    Ok(FoldersAnswer {
        folders: folders.map(of_format),
        version: Some(blob.stat.version),
        problems: problems.collect(),
        cost: store.cost(),
    })
}

pub fn set_folders(store: &dyn Store, request: &SetFoldersRequest) -> Result<Written> {
    let store = Metered::new(store);
    let project = new_project_of(&request.home, Concept::Runs)?;
    let id = RequestId::parse(&request.request_id)?;
    let text = rendered(&request.folders)?;
    let key = Place::HomeFolders { project }.key();
    let version = request.version.as_deref();
    let edited = edit_version(&store, &key, &id, YAML, version, |_| {
        Ok(Change::Write(text.clone().into_bytes()))
    })?;
    Ok(Written::of(key, &edited, &store))
}

/// The file, once its folders are known to be some.
pub fn rendered(folders: &HomeFolders) -> Result<String> {
    if folders.project_root.is_empty() {
        return Err(Error::invalid(
            "project-root is empty; it is the folder that the project lies in",
        ));
    }
    let all = folders
        .source_folders
        .iter()
        .chain(&folders.additional_folders);
    if all.clone().any(|folder| folder.path.is_empty()) {
        return Err(Error::invalid(
            "a folder without a path; name it, or leave it out",
        ));
    }
    let text = to_format(folders).render();
    if all.count() > HOME_FOLDERS_MAX || text.len() > RUN_FILE_BYTES_MAX {
        return Err(Error::too_large(format!(
            "home-folders.md takes {HOME_FOLDERS_MAX} folders and {RUN_FILE_BYTES_MAX} bytes; name fewer, or folders \
             above them"
        )));
    }
    Ok(text)
}

fn to_format(folders: &HomeFolders) -> format::HomeFolders {
    let each = |folders: &[Folder]| {
        let folders = folders.iter().map(|folder| format::Folder {
            path: folder.path.clone(),
            description: folder.description.clone(),
        });
        folders.collect()
    };
    format::HomeFolders {
        project_root: folders.project_root.clone(),
        source_folders: each(&folders.source_folders),
        additional_folders: each(&folders.additional_folders),
    }
}

fn of_format(folders: format::HomeFolders) -> HomeFolders {
    let each = |folders: Vec<format::Folder>| {
        let folders = folders.into_iter().map(|folder| Folder {
            path: folder.path,
            description: folder.description,
        });
        folders.collect()
    };
    HomeFolders {
        project_root: folders.project_root,
        source_folders: each(folders.source_folders),
        additional_folders: each(folders.additional_folders),
    }
}
