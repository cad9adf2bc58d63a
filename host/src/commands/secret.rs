//! Where the secret that signs URLs comes from: a file or the environment, because every user of a machine sees
//! flags. Never shown.

use std::path::PathBuf;

use clap::Args;
use haversack_host::serve::{SECRET_BYTES_MAX, Secret};

use super::exit::{Code, Failure};

const VARIABLE: &str = "HAVERSACK_SIGNING_SECRET";

#[derive(Debug, Args)]
pub struct SecretFlags {
    /// Read the signing secret from this file, without the line end at its end [env: HAVERSACK_SIGNING_SECRET holds the secret itself]
    #[arg(long, value_name = "FILE")]
    secret_file: Option<PathBuf>,
}

impl SecretFlags {
    /// None where nobody gives one.
    pub fn secret(&self) -> anyhow::Result<Option<Secret>> {
        let (bytes, from) = match (&self.secret_file, std::env::var_os(VARIABLE)) {
            (Some(file), _) => (read(file)?, format!("the file {}", file.display())),
            (None, Some(value)) if !value.is_empty() => {
                (value.into_encoded_bytes(), VARIABLE.to_owned())
            }
            (None, _) => return Ok(None),
        };
        let secret = Secret::new(&bytes);
        let secret =
            secret.map_err(|rule| Failure::new(Code::Invalid, format!("{from}: {rule}")))?;
        Ok(Some(secret))
    }

    pub fn required(&self) -> anyhow::Result<Secret> {
        let message = format!(
            "there is no signing secret: set {VARIABLE}, or name a file with --secret-file; it is the server's"
        );
        let secret = self.secret()?;
        Ok(secret.ok_or_else(|| Failure::new(Code::Invalid, message))?)
    }
}

fn read(file: &PathBuf) -> anyhow::Result<Vec<u8>> {
    use std::io::Read;
    let mut bytes = Vec::new();
    // A file that is none of a secret's is not read to its end.
    let read = std::fs::File::open(file).and_then(|open| {
        open.take(SECRET_BYTES_MAX as u64 + 3)
            .read_to_end(&mut bytes)
    });
    read.map_err(|error| {
        let message = format!("cannot read {}: {error}", file.display());
        Failure::new(Code::of_io(&error), message)
    })?;
    for end in [b'\n', b'\r'] {
        if bytes.last() == Some(&end) {
            bytes.pop();
        }
    }
    Ok(bytes)
}
