//! A user's data as a stream of bytes: read in order, several objects ahead, packed and compressed as far as somebody
//! takes it. Knows stores; writes nothing.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures_util::stream::{self, Stream, StreamExt};
use tokio::sync::{Semaphore, mpsc};

use super::manifest::{BEGIN, Begin, END, End, FORMAT, Line, Sum, part_name};
use super::pack::{Packer, Stop};
use super::read::{Fetched, fetch, write_large};
use super::{NAMED_MAX, Owner};
use crate::store::check::error;
use crate::store::key::shown;
use crate::store::{
    Answer, BlobStore, Entry, Error, ErrorCode, ListRequest, Listing, Request, value,
};

/// Bytes of small objects that are read ahead of what is being written.
const AHEAD_BYTES: u64 = 16 << 20;
const AHEAD_OBJECTS: usize = 16;
/// Pieces of the stream that wait to be taken.
const WAITING_MAX: usize = 2;

/// How far an export is.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// What was found so far.
    pub listed: u64,
    pub listed_bytes: u64,
    /// What is in the stream.
    pub files: u64,
    pub bytes: u64,
    /// Files that were written again, grew or were deleted while the export ran.
    pub changed: u64,
    /// What could not be taken, with the cause: the first hundred, and how many.
    pub left_out: Vec<(String, String)>,
    pub left_out_count: u64,
    /// The last byte was taken.
    pub done: bool,
}

/// An export that was begun: the user is there.
pub struct Export {
    store: Arc<dyn BlobStore>,
    owner: Owner,
    first: Listing,
    progress: Arc<Mutex<Progress>>,
}

impl Export {
    /// `not-found` (as none) where nothing lies below the owner's prefix.
    pub async fn open(store: Arc<dyn BlobStore>, owner: Owner) -> Result<Option<Self>, Error> {
        let first = page(&*store, &request(&owner)).await?;
        if first.entries.is_empty() && first.skipped.is_empty() && first.cursor.is_none() {
            return Ok(None);
        }
        Ok(Some(Export {
            store,
            owner,
            first,
            progress: Arc::default(),
        }))
    }

    pub fn progress(&self) -> Arc<Mutex<Progress>> {
        self.progress.clone()
    }

    /// The archive, in pieces of some 64 KiB. It runs only as far ahead of its reader as a few pieces and 16 MiB of
    /// objects, and ends when the stream is dropped. After an error the archive is not whole, and import says so.
    pub fn stream(self) -> impl Stream<Item = Result<Bytes, Error>> + Send + 'static {
        let (sender, receiver) = mpsc::channel(WAITING_MAX);
        tokio::spawn(async move {
            let failed = sender.clone();
            if let Err(Stop::Failed(error)) = self.write(Packer::new(sender)).await {
                // Whoever asked may have gone.
                let _ = failed.send(Err(error)).await;
            }
        });
        stream::unfold(receiver, |mut receiver| async move {
            receiver.recv().await.map(|piece| (piece, receiver))
        })
    }

    async fn write(self, mut packer: Packer) -> Result<(), Stop> {
        let Owner { user, prefix } = self.owner.clone();
        let begin = Begin {
            format: FORMAT,
            user,
            prefix,
        };
        packer.file(BEGIN, &to_json(&begin)).await?;
        let mut request = request(&self.owner);
        let mut page_now = Some(self.first.clone());
        let mut parts = 0;
        loop {
            let listing = match page_now.take() {
                Some(first) => first,
                None => page(&*self.store, &request).await?,
            };
            let lines = self.write_page(&mut packer, &request, &listing).await?;
            if !lines.is_empty() {
                parts += 1;
                let lines: Vec<u8> = lines.iter().flat_map(to_json).collect();
                packer.file(&part_name(parts), &lines).await?;
            }
            match listing.cursor {
                Some(cursor) => request.cursor = Some(cursor),
                None => break,
            }
        }
        let progress = self.now(|progress| progress.clone());
        let end = End {
            files: progress.files,
            bytes: progress.bytes,
            changed: progress.changed,
            left_out: progress.left_out_count,
        };
        packer.file(END, &to_json(&end)).await?;
        packer.finish().await?;
        self.now(|progress| progress.done = true);
        Ok(())
    }

    /// The objects of a page, and what the sums say of them.
    async fn write_page(
        &self,
        packer: &mut Packer,
        request: &ListRequest,
        listing: &Listing,
    ) -> Result<Vec<Line>, Stop> {
        self.now(|progress| {
            progress.listed += listing.entries.len() as u64;
            progress.listed_bytes += listing.entries.iter().map(|it| it.size_bytes).sum::<u64>();
        });
        let mut lines: Vec<Line> = Vec::new();
        for skipped in &listing.skipped {
            lines.push(self.leave_out(&skipped.key, &skipped.cause));
        }
        let room = Arc::new(Semaphore::new((AHEAD_BYTES >> 10) as usize));
        let entries: Vec<Entry> = listing.entries.clone();
        let ahead = stream::iter(entries).map(|entry| {
            let (store, room) = (self.store.clone(), room.clone());
            async move { (fetch(&*store, &room, &entry).await, entry) }
        });
        let mut ahead = std::pin::pin!(ahead.buffered(AHEAD_OBJECTS));
        while let Some((fetched, entry)) = ahead.next().await {
            let (head, hash, version, changed) = match fetched? {
                Fetched::Gone => {
                    lines.push(self.gone(&entry.key));
                    continue;
                }
                Fetched::Small {
                    head,
                    bytes,
                    version,
                    _room,
                } => {
                    let hash = packer.whole(&head, &bytes).await?;
                    (head, hash, version, false)
                }
                Fetched::Large => {
                    let Some(written) = write_large(&*self.store, &entry, packer).await? else {
                        lines.push(self.gone(&entry.key));
                        continue;
                    };
                    (written.head, written.hash, written.version, written.grew)
                }
            };
            self.now(|progress| {
                progress.files += 1;
                progress.bytes += head.size_bytes;
                progress.changed += u64::from(changed);
            });
            lines.push(Line::File(Sum {
                path: head.path,
                size_bytes: head.size_bytes,
                sha256: value::hex(&hash),
                version,
                changed,
            }));
        }
        self.mark_changed(request, listing, &mut lines).await?;
        Ok(lines)
    }

    /// List the page again: what is not as it was then has changed since.
    async fn mark_changed(
        &self,
        request: &ListRequest,
        before: &Listing,
        lines: &mut [Line],
    ) -> Result<(), Stop> {
        let now = page(&*self.store, request).await?;
        let same = |path: &str| {
            let find = |listing: &Listing| {
                let at = listing
                    .entries
                    .binary_search_by(|entry| entry.key.as_str().cmp(path));
                at.ok().and_then(|at| listing.entries.get(at).cloned())
            };
            find(before) == find(&now)
        };
        for line in lines {
            if let Line::File(sum) = line
                && !sum.changed
                && !same(&sum.path)
            {
                sum.changed = true;
                self.now(|progress| progress.changed += 1);
            }
        }
        Ok(())
    }

    fn gone(&self, path: &str) -> Line {
        self.now(|progress| progress.changed += 1);
        Line::LeftOut {
            path: path.to_owned(),
            left_out: "it was deleted meanwhile".to_owned(),
        }
    }

    fn leave_out(&self, path: &str, cause: &str) -> Line {
        self.now(|progress| {
            progress.left_out_count += 1;
            if progress.left_out.len() < NAMED_MAX {
                let named = (path.to_owned(), cause.to_owned());
                progress.left_out.push(named);
            }
        });
        Line::LeftOut {
            path: path.to_owned(),
            left_out: cause.to_owned(),
        }
    }

    fn now<T>(&self, change: impl FnOnce(&mut Progress) -> T) -> T {
        change(
            &mut self
                .progress
                .lock()
                .unwrap_or_else(|lock| lock.into_inner()),
        )
    }
}

fn request(owner: &Owner) -> ListRequest {
    ListRequest {
        prefix: owner.prefix.clone(),
        delimiter: false,
        start_after: None,
        cursor: None,
        limit: None,
    }
}

async fn page(store: &dyn BlobStore, request: &ListRequest) -> Result<Listing, Error> {
    match store.read(vec![Request::List(request.clone())]).await.pop() {
        Some(Ok(Answer::Listing(listing))) => Ok(listing),
        Some(Err(error)) => Err(error),
        _ => Err(error(
            ErrorCode::Other,
            format!(
                "a list of {} was answered by something else; `haversack store check` shows what else this store does",
                shown(&request.prefix)
            ),
        )),
    }
}

/// On one line, with its end.
fn to_json(value: &impl serde::Serialize) -> Vec<u8> {
    let mut json = serde_json::to_vec(value).unwrap_or_default();
    json.push(b'\n');
    json
}
