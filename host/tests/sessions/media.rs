//! Attachments through the command line and through the library's helper.

use std::path::PathBuf;

use anyhow::{Context, ensure};
use serde_json::Value;

use super::place::{Place, bytes, fails, text};

const PUT: [&str; 2] = ["media", "put"];
const GET: [&str; 2] = ["media", "get"];
const ORPHANS: [&str; 2] = ["media", "orphans"];

fn file(place: &Place, name: &str, length: usize) -> anyhow::Result<PathBuf> {
    let path = place.folder.path().join(name);
    // Nothing of the same everywhere, so that parts in a wrong order are seen.
    let content: Vec<u8> = (0..length)
        .map(|at| (at % 251) as u8 ^ (at >> 20) as u8)
        .collect();
    std::fs::write(&path, content)?;
    Ok(path)
}

fn put(place: &Place, path: &std::path::Path, more: &[&str]) -> anyhow::Result<String> {
    place.printed(&PUT, &[&[path.to_str().context("UTF-8")?], more].concat())
}

fn key_of(block: &str) -> anyhow::Result<String> {
    let block: Value = serde_json::from_str(block)?;
    Ok(block["r2Key"].as_str().context("no key")?.to_owned())
}

fn name_in_a_message(place: &Place, block: &str) -> anyhow::Result<()> {
    let message = format!(r#"{{"role":"user","content":[{}]}}"#, block.trim());
    text(place.append(&[message], &[])?).map(|_| ())
}

/// Small ones are put whole, large ones in parts; either comes back as it was.
pub fn there_and_back(place: &Place) -> anyhow::Result<()> {
    for (name, length, kind) in [
        ("empty.png", 0, "image"),
        ("photo.JPG", 30_000, "image"),
        ("part.mp3", 4 << 20, "audio"),
        ("parts.mp4", (4 << 20) + 1, "video"),
        ("waves.pdf", (16 << 20) + 7, "document"),
    ] {
        let path = file(place, name, length)?;
        let block = put(place, &path, &["--request-id", "put"])?;
        ensure!(block.contains(&format!(r#""type":"{kind}""#)), "{block}");
        ensure!(
            put(place, &path, &["--request-id", "put"])? == block,
            "a repeat has the same key"
        );
        let key = key_of(&block)?;
        let out = place.folder.path().join("out");
        let written = out.to_str().context("UTF-8")?;
        place.printed(&GET, &[&key, "--out", written])?;
        ensure!(bytes(&out)? == bytes(&path)?, "{name}");
    }
    let typed = put(place, &file(place, "x", 3)?, &["--type", "image/webp"])?;
    ensure!(
        typed.contains(".webp") && typed.contains("image/webp"),
        "{typed}"
    );
    let output = place.on_main(&GET, &["media/agent:nex:main/x.png"])?;
    fails(&output, 3, &["media/agent:nex:main/x.png"])
}

pub fn limit(place: &Place) -> anyhow::Result<()> {
    let path = file(place, "film.mp4", 25 << 20)?;
    let stored = place.json(&PUT, &[path.to_str().context("UTF-8")?])?;
    ensure!(stored["size-bytes"] == 25 << 20, "{stored}");
    let path = file(place, "longer.mp4", (25 << 20) + 1)?;
    let output = place.on_main(&PUT, &[path.to_str().context("UTF-8")?])?;
    fails(&output, 9, &["longer.mp4", "26214401", "26214400"])?;
    fails(
        &place.on_main(&PUT, &["no/such/file"])?,
        3,
        &["no/such/file"],
    )?;
    let odd = file(place, "odd.png", 1)?;
    let output = place.on_main(&PUT, &[odd.to_str().context("UTF-8")?, "--type", "é"])?;
    fails(&output, 2, &["MIME"])
}

pub fn orphans(place: &Place) -> anyhow::Result<()> {
    let named = put(place, &file(place, "a.png", 10)?, &[])?;
    let orphan = key_of(&put(place, &file(place, "b.png", 20)?, &[])?)?;
    name_in_a_message(place, &named)?;
    let named = key_of(&named)?;
    ensure!(place.printed(&ORPHANS, &[])?.is_empty(), "both are young");
    let aged = ["--older-than", "0"];
    for _ in 0..2 {
        let listed = place.printed(&ORPHANS, &aged)?;
        ensure!(
            listed.contains(&orphan) && !listed.contains(&named),
            "{listed}"
        );
    }
    let answer = place.json(&ORPHANS, &[&aged[..], &["--yes"]].concat())?;
    ensure!(
        answer["discarded"][0]["key"] == *orphan && answer["kept"][0]["key"] == *named,
        "{answer}"
    );
    fails(&place.on_main(&GET, &[&orphan])?, 3, &[&orphan])?;

    let discard = |more: &[&str]| place.json(&["media", "discard"], more);
    let foreign = "media/agent:nex:main/0b1c2d3e-0000-4000-8000-000000000000.png";
    let dry = discard(&[&named, foreign])?;
    ensure!(
        dry["dry-run"] == true && dry["discarded"][0]["key"] == *named,
        "{dry}"
    );
    ensure!(dry["problems"][0]["key"] == foreign, "{dry}");
    place.printed(
        &GET,
        &[
            &named,
            "--out",
            file(place, "out", 0)?.to_str().context("UTF-8")?,
        ],
    )?;
    discard(&[&named, "--yes"])?;
    fails(&place.on_main(&GET, &[&named])?, 3, &[&named])
}
