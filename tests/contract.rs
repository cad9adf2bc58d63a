//! The store contract on every store of this repository, a bucket on this machine among them. The checks are in
//! `haversack_host::contract`; this file only says which stores.

use std::process::ExitCode;
use std::sync::Arc;

use haversack_host::contract::{self, Verdict as Checked};
use haversack_host::store::disk::{DiskOptions, DiskStore};
use haversack_host::store::memory::MemoryStore;
use haversack_host::store::s3::S3Store;
use haversack_host::store::{BlobStore, ScopedStore};
use haversack_tests::server::Server;
use haversack_tests::table::{Table, Verdict, wanted};

#[tokio::main]
async fn main() -> ExitCode {
    let mut table = Table::default();
    let mut short_pages = MemoryStore::new(true);
    short_pages.page_max = 3;
    run("memory", &MemoryStore::new(true), &mut table).await;
    run("memory-bucket", &MemoryStore::new(false), &mut table).await;
    run("memory-short-pages", &short_pages, &mut table).await;
    let scoped = ScopedStore::new(Arc::new(MemoryStore::new(true)), "tenants/ä b".to_owned());
    match scoped {
        Ok(scoped) => run("scoped-memory", &scoped, &mut table).await,
        Err(error) => table.add(
            "scoped-memory",
            Verdict::Failed(error.message),
            Default::default(),
        ),
    }
    let each_segment = DiskOptions {
        check_each_segment: true,
        ..DiskOptions::default()
    };
    let folds_case = DiskOptions {
        folds_case: Some(true),
        deny_hard_links: true,
        ..DiskOptions::default()
    };
    for (name, options, scope) in [
        ("disk", DiskOptions::default(), None),
        ("disk-each-segment", each_segment, None),
        ("disk-folds-case", folds_case, None),
        ("scoped-disk", DiskOptions::default(), Some("tenants/ä b")),
    ] {
        if let Err(cause) = run_on_disk(name, options, scope, &mut table).await {
            table.add(name, Verdict::Failed(cause.to_string()), Default::default());
        }
    }
    run_on_buckets(&mut table).await;
    table.finish()
}

/// A bucket's root, and a prefix of it.
async fn run_on_buckets(table: &mut Table) {
    let stores = [("s3", ""), ("s3-prefix", "pre fix/é")];
    if !stores.iter().any(|(name, _)| wanted(name)) {
        return;
    }
    let server = match Server::start() {
        Ok(server) => server,
        Err(verdict) => return table.add("s3", verdict, Default::default()),
    };
    for (name, prefix) in stores {
        match S3Store::connect(server.options(prefix)) {
            Ok(store) => run(name, &store, table).await,
            Err(error) => table.add(name, Verdict::Failed(error.message), Default::default()),
        }
    }
}

async fn run_on_disk(
    name: &str,
    options: DiskOptions,
    scope: Option<&str>,
    table: &mut Table,
) -> anyhow::Result<()> {
    if !wanted(name) {
        return Ok(());
    }
    let directory = tempfile::tempdir()?;
    let mut store: Arc<dyn BlobStore> = Arc::new(DiskStore::open_with(directory.path(), options)?);
    if let Some(scope) = scope {
        let scoped = ScopedStore::new(store, scope.to_owned());
        store = Arc::new(scoped.map_err(|error| anyhow::anyhow!(error.message))?);
    }
    run(name, &*store, table).await;
    let mut left: Vec<_> = std::fs::read_dir(directory.path())?
        .map(|entry| entry.map(|entry| entry.file_name()))
        .collect::<Result<_, _>>()?;
    left.retain(|entry| entry != ".haversack");
    let scratch = std::fs::read_dir(directory.path().join(".haversack/scratch"))?.count();
    let verdict = if left.is_empty() && scratch == 0 {
        Verdict::Passed
    } else {
        Verdict::Failed(format!(
            "left behind: {left:?}, and {scratch} scratch files"
        ))
    };
    table.add(
        format!("{name}: leaves nothing behind"),
        verdict,
        Default::default(),
    );
    Ok(())
}

async fn run(name: &str, store: &dyn BlobStore, table: &mut Table) {
    if !wanted(name) {
        return;
    }
    contract::run(store, "scratch/contract", |outcome| {
        let verdict = match &outcome.verdict {
            Checked::Passed => Verdict::Passed,
            Checked::Skipped(reason) => Verdict::Skipped(reason.clone()),
            Checked::Failed(what) => Verdict::Failed(format!("{what} (“{}”)", outcome.sentence)),
        };
        table.add(format!("{name}: {}", outcome.name), verdict, outcome.took);
    })
    .await;
}
