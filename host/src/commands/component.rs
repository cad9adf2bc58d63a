//! `haversack component`: the embedded component, for hosts in other languages.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use serde_json::json;

use super::{Shared, output};

/// The component has one import, the blob store that the host supplies. The contract is in wit/.
#[derive(Debug, Args)]
pub struct Component {
    /// Where to write it; `-` is standard output
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

impl Component {
    pub fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let component = haversack_host::COMPONENT;
        if self.out == Path::new("-") {
            let mut out = std::io::stdout().lock();
            out.write_all(component)?;
            return Ok(out.flush()?);
        }
        std::fs::write(&self.out, component)
            .with_context(|| format!("writing {}", self.out.display()))?;
        if shared.json {
            return output::json(&json!({ "out": self.out, "size-bytes": component.len() }));
        }
        eprintln!(
            "haversack: wrote {} ({} bytes)",
            self.out.display(),
            component.len()
        );
        Ok(())
    }
}
