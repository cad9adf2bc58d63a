//! One object of several, streamed through a scratch file. Holds one buffer, whatever the size.

use std::io::{ErrorKind, Read};

use sha2::{Digest, Sha256};

use super::Disk;
use super::errors::failed;
use super::read::Opened;
use super::scratch::errno;
use super::stamp::Stamp;
use super::stream::Stream;
use crate::store::check;
use crate::store::{Error, PutOptions, Source, value};

const BUFFER_BYTES: usize = 1 << 20;

impl Disk {
    pub fn concat(
        &self,
        sources: Vec<Source>,
        to: &str,
        options: PutOptions,
    ) -> Result<String, Error> {
        check::check_concat(&sources, to, &options)?;
        // What can be seen without reading comes first, so that nothing is copied in vain.
        let mut size = 0;
        for source in &sources {
            let opened = self.open_source(source)?;
            if opened.stamp.is_large() {
                self.check_source(source, opened.stamp.identity().version)?;
            }
            size += opened.stamp.size;
        }
        check::check_concat_size(to, size, &options)?;
        self.check_place(to)?;
        self.check_condition(to, &options.condition)?;

        let reserved = self.reserved()?;
        let mut made = Stream::new(self.scratch(&reserved.scratch, to)?);
        let mut buffer = vec![0; BUFFER_BYTES];
        for source in &sources {
            let opened = self.open_source(source)?;
            let mut source_hash = Sha256::new();
            let mut content = opened.stream();
            loop {
                let read = match content.read(&mut buffer) {
                    Ok(0) => break,
                    Ok(read) => read,
                    Err(cause) if cause.kind() == ErrorKind::Interrupted => continue,
                    Err(cause) => {
                        return Err(failed(&self.root, &source.key, "reading", errno(cause)));
                    }
                };
                let copied = &buffer[..read];
                if source.if_match.is_some() && !opened.stamp.is_large() {
                    source_hash.update(copied);
                }
                made.write(copied)
                    .map_err(|errno| failed(&self.root, to, "writing", errno))?;
            }
            // Of what was copied, so that an edit meanwhile does not slip in.
            let version = if opened.stamp.is_large() {
                let stat = rustix::fs::fstat(&opened.file)
                    .map_err(|errno| failed(&self.root, &source.key, "reading", errno))?;
                Stamp::new(&stat).identity().version
            } else {
                value::hex(&source_hash.finalize()[..16])
            };
            self.check_source(source, version)?;
        }
        check::check_concat_size(to, made.size_bytes(), &options)?;
        self.commit_stream(&reserved, made, to, options)
    }

    fn open_source(&self, source: &Source) -> Result<Opened, Error> {
        let opened = self.open_object(&source.key)?;
        opened.ok_or_else(|| check::conflict(&source.key, "a source of a concat", None))
    }

    fn check_source(&self, source: &Source, version: String) -> Result<(), Error> {
        check::check_source(&source.key, source.if_match.clone(), Some(version))
    }
}
