//! Builds the component that the host embeds: guest/component for wasm32-unknown-unknown, in a target
//! directory of its own (sharing the outer one deadlocks on its lock), then wrapped by wit-component.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use wit_component::ComponentEncoder;

const TARGET: &str = "wasm32-unknown-unknown";

/// What the outer cargo says to its own build and must not say to the inner one: flags for another
/// target, a target directory, wrappers that a coverage run or clippy put in place.
const OUTER_ONLY: [&str; 14] = [
    "RUSTFLAGS",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_BUILD_RUSTFLAGS",
    "CARGO_BUILD_TARGET",
    "CARGO_BUILD_TARGET_DIR",
    "CARGO_TARGET_DIR",
    "CARGO_MAKEFLAGS",
    "MAKEFLAGS",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    "CARGO_PROFILE_RELEASE_LTO",
    "CARGO_PROFILE_RELEASE_DEBUG",
    "CLIPPY_ARGS",
    "RUSTDOCFLAGS",
];

fn main() -> Result<()> {
    // Asked at run time: a target folder may be copied to another checkout, its build script with it.
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR").context("cargo runs build scripts")?;
    let workspace = Path::new(&manifest)
        .parent()
        .context("host/ lies in the workspace")?;
    for input in [
        "guest/src",
        "guest/component",
        "guest/Cargo.toml",
        "wit",
        "Cargo.toml",
        "Cargo.lock",
        "rust-toolchain.toml",
    ] {
        println!(
            "cargo::rerun-if-changed={}",
            workspace.join(input).display()
        );
    }
    println!("cargo::rerun-if-env-changed=RUSTUP_TOOLCHAIN");

    ensure_target()?;
    let core = build_core(workspace)?;
    let module = std::fs::read(&core).with_context(|| format!("reading {}", core.display()))?;
    let component = ComponentEncoder::default()
        .module(&module)
        .and_then(|encoder| encoder.validate(true).encode())
        .context("wrapping the core module as a component")?;
    let out = PathBuf::from(std::env::var("OUT_DIR")?).join("haversack.wasm");
    std::fs::write(&out, component).with_context(|| format!("writing {}", out.display()))
}

/// The wasm target comes with rustup's toolchain where rustup installs by itself; elsewhere add it.
fn ensure_target() -> Result<()> {
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let libdir = Command::new(&rustc)
        .args(["--print", "target-libdir", "--target", TARGET])
        .output()
        .with_context(|| format!("asking {rustc} where it keeps {TARGET}"))?;
    let libdir = PathBuf::from(String::from_utf8_lossy(&libdir.stdout).trim());
    if libdir.is_dir() {
        return Ok(());
    }
    let added = Command::new("rustup")
        .args(["target", "add", TARGET])
        .output();
    match added {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => bail!(
            "haversack needs the Rust target {TARGET}; `rustup target add {TARGET}` failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        ),
        Err(_) => bail!(
            "haversack needs the Rust target {TARGET} and rustup is not here to add it: install the \
             target's standard library with whatever installed Rust (looked in {})",
            libdir.display()
        ),
    }
}

/// Cargo's own build of the guest; answers the core module's path.
fn build_core(workspace: &Path) -> Result<PathBuf> {
    let target_dir = outer_target_dir()?.join("guest-wasm");
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let mut build = Command::new(cargo);
    build
        .current_dir(workspace)
        .args([
            "build",
            "--package",
            "haversack-component",
            "--profile",
            "component",
        ])
        .args(["--target", TARGET, "--target-dir"])
        .arg(&target_dir);
    if std::env::var_os("CARGO_NET_OFFLINE").is_some() {
        build.arg("--offline");
    }
    for name in OUTER_ONLY {
        build.env_remove(name);
    }
    let output = build.output().context("starting cargo for the guest")?;
    if !output.status.success() {
        bail!(
            "building the guest failed:\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(target_dir
        .join(TARGET)
        .join("component")
        .join("haversack_component.wasm"))
}

/// OUT_DIR is `<target>/<profile>/build/<package>/out`; with `--target` one deeper, which is as good a
/// place: what counts is that no other cargo locks it.
fn outer_target_dir() -> Result<PathBuf> {
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    out.ancestors()
        .nth(4)
        .map(Path::to_path_buf)
        .with_context(|| format!("{} is not deep enough", out.display()))
}
