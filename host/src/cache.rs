//! Compiled code on disk, so that only the first start compiles. Knows wasmtime and files, no contract.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use sha2::{Digest, Sha256};
use wasmtime::Engine;
use wasmtime::component::Component;

/// A file is the SHA-256 of what follows, then wasmtime's serialised code.
const DIGEST_BYTES: usize = 32;

/// `$HAVERSACK_CACHE`, else `haversack` below the user's cache directory. None (an empty
/// `HAVERSACK_CACHE`, or no home) compiles at every start.
pub fn default_directory() -> Option<PathBuf> {
    let set = |name| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    if std::env::var_os("HAVERSACK_CACHE").is_some() {
        return set("HAVERSACK_CACHE");
    }
    let caches = if cfg!(windows) {
        set("LOCALAPPDATA")
    } else {
        set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")))
    };
    Some(caches?.join("haversack"))
}

/// The compiled component: from `directory` where an engine like this one left it, else compiled now and
/// left there. A cache that cannot be read or written is only slow.
pub fn load_or_compile(
    engine: &Engine,
    component: &[u8],
    directory: Option<&Path>,
) -> anyhow::Result<Component> {
    let Some(directory) = directory else {
        return Ok(Component::new(engine, component)?);
    };
    let file = directory.join(file_name(engine, component));
    if let Some(component) = load(engine, &file) {
        return Ok(component);
    }
    let compiled = Component::new(engine, component)?;
    if let Err(error) = save(&compiled, directory, &file) {
        eprintln!("haversack: compiled code is not kept, so every start compiles again: {error:#}");
    }
    Ok(compiled)
}

/// Named by what must not be mixed up: the component's bytes, and the engine's version, settings and
/// processor features.
fn file_name(engine: &Engine, component: &[u8]) -> String {
    let mut compatibility = DefaultHasher::new();
    engine
        .precompile_compatibility_hash()
        .hash(&mut compatibility);
    let digest: String = Sha256::digest(component)
        .iter()
        .take(16)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("{digest}-{:016x}.cwasm", compatibility.finish())
}

/// Only a file that belongs to this user, that nobody else can write, and whose bytes are those that were
/// saved is trusted to be code.
#[allow(unsafe_code)]
fn load(engine: &Engine, file: &Path) -> Option<Component> {
    if !file.exists() {
        return None;
    }
    if !is_ours(file) {
        eprintln!(
            "haversack: {} is not used, because others may write it or its folder, so every start compiles: \
             chmod go-w both",
            file.display()
        );
        return None;
    }
    let bytes = std::fs::read(file).ok()?;
    let (digest, code) = bytes.split_at_checked(DIGEST_BYTES)?;
    if Sha256::digest(code).as_slice() != digest {
        return None;
    }
    // SAFETY: these bytes are what `save` got from wasmtime's own serialisation, as their digest says,
    // they are named by component and engine, and only this user could have put them there.
    unsafe { Component::deserialize(engine, code) }.ok()
}

#[cfg(unix)]
fn is_ours(file: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let ours = |path: &Path| {
        path.symlink_metadata().is_ok_and(|meta| {
            !meta.is_symlink()
                && meta.uid() == rustix::process::geteuid().as_raw()
                && meta.mode() & 0o022 == 0
        })
    };
    file.is_file() && ours(file) && file.parent().is_some_and(ours)
}

#[cfg(not(unix))]
fn is_ours(file: &Path) -> bool {
    file.is_file()
}

fn save(component: &Component, directory: &Path, file: &Path) -> anyhow::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
        .create(directory)
        .with_context(|| format!("creating {}", directory.display()))?;
    // tempfile makes files of mode 0600.
    let mut temporary = tempfile::NamedTempFile::new_in(directory)?;
    let code = component.serialize()?;
    temporary.write_all(&Sha256::digest(&code))?;
    temporary.write_all(&code)?;
    temporary.as_file().sync_all()?;
    temporary
        .persist(file)
        .with_context(|| format!("writing {}", file.display()))?;
    Ok(())
}
