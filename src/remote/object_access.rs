//! Access to the objects of one remote recording: they are created, read, listed and removed, and
//! the errors of their store are explained.

mod conditions;
mod connect;
mod failure;
mod patient_body;
mod request_room;
#[cfg(test)]
mod slow_link_tests;
mod store_link;
mod store_silence;
mod whole_read;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _};
use object_store::path::Path;
use object_store::{
    Error, GetOptions, ObjectMeta, ObjectStore, ObjectStoreExt as _, PutMode, PutOptions,
};
use serde::{Deserialize, Serialize};

use super::address::RemoteAddress;
use super::content_hash::ContentHash;
use super::packed_text::{LARGEST_TEXT, check_text};
use super::remote_error::RemoteError;
use super::store_clock::{StoreClock, machine_time};
use failure::StoreFailure;
pub(crate) use request_room::PARALLEL;
use store_link::StoreLink;
use store_silence::may_succeed_alone;
use whole_read::read_whole;

/// An object that is older than this is written again if it is needed again. A collection of
/// garbage removes only objects that are much older.
const RENEWED: Duration = Duration::from_secs(24 * 3600);

/// The most bytes of an object that is read whole: an entry or a manifest, compressed.
pub(crate) const LARGEST_OBJECT: u64 = 1 << 30;

/// How often a request is sent that was silent while others were under way. Each time, half as many
/// are.
const SILENT_TRIES: usize = 6;

/// What of an object has the hash in its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HashedForm {
    /// Its text, which is stored compressed.
    Text,
    /// Its bytes.
    Bytes,
}

impl HashedForm {
    fn has_hash(self, bytes: &[u8], hash: &ContentHash) -> bool {
        match self {
            Self::Text => check_text(bytes, hash, LARGEST_TEXT).is_ok(),
            Self::Bytes => ContentHash::from_bytes(bytes) == *hash,
        }
    }
}

/// The objects below the name of a recording.
#[derive(Clone, Debug)]
pub(crate) struct ObjectAccess {
    pub(crate) store: Arc<dyn ObjectStore>,
    /// The recording's name in the bucket.
    root: Path,
    pub(crate) url: String,
    /// The address of the store, for messages.
    endpoint: String,
    hint: &'static str,
    link: Arc<StoreLink>,
}

impl ObjectAccess {
    /// Connects to the store of a recording. No request is sent.
    pub(crate) fn connect(address: &RemoteAddress) -> Result<Self, RemoteError> {
        let url = address.to_string();
        let client = connect::connect_store(address)
            .map_err(|error| RemoteError::Setup { url: url.clone(), problem: error.to_string() })?;
        Ok(Self {
            store: client.store,
            root: Path::from(address.recording_name()),
            url,
            endpoint: client.endpoint,
            hint: client.hint,
            link: client.link,
        })
    }

    /// Uses a store that is there already.
    #[cfg(test)]
    pub(crate) fn in_store(store: Arc<dyn ObjectStore>) -> Self {
        Self {
            store,
            root: Path::from("agent"),
            url: "memory://agent".to_owned(),
            endpoint: "memory".to_owned(),
            hint: "none",
            link: StoreLink::new("memory"),
        }
    }

    /// Returns what the answers of the store show of its clock.
    pub(crate) fn store_clock(&self) -> &StoreClock {
        &self.link.clock
    }

    /// Lists the objects below a part of the recording.
    ///
    /// # Errors
    /// The store fails.
    pub(crate) async fn list_objects(&self, part: &str) -> Result<Vec<ObjectMeta>, RemoteError> {
        let prefix = self.object_path(part);
        let listed = self.try_patiently(|| self.store.list(Some(&prefix)).try_collect()).await;
        listed.map_err(|error| self.store_error("list", &error))
    }

    /// Removes objects. One that is not there is no error.
    ///
    /// # Errors
    /// The store fails. Some may be removed.
    pub(crate) async fn remove_objects(&self, paths: Vec<Path>) -> Result<(), RemoteError> {
        let removals = paths.into_iter().map(|path| async move {
            match self.try_patiently(|| self.store.delete(&path)).await {
                Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
                Err(error) => Err(self.store_error("delete from", &error)),
            }
        });
        futures_util::stream::iter(removals).buffer_unordered(PARALLEL).try_collect().await
    }

    /// Returns the path of a part of the recording.
    pub(crate) fn object_path(&self, part: &str) -> Path {
        Path::from(format!("{}/{part}", self.root))
    }

    /// Makes sure that an object is there which has this hash. One that is damaged is written again,
    /// and one that is old, so that a collection of garbage finds it young.
    pub(crate) async fn ensure_object(
        &self,
        path: &Path,
        (hash, form): (&ContentHash, HashedForm),
        bytes: Bytes,
    ) -> Result<(), RemoteError> {
        match self.create_object(path, bytes.clone()).await? {
            true => Ok(()),
            false => self.renew_object(path, (hash, form), bytes).await.map(drop),
        }
    }

    /// Writes an object again that has not this hash, or is old. Returns whether it was.
    pub(crate) async fn renew_object(
        &self,
        path: &Path,
        (hash, form): (&ContentHash, HashedForm),
        bytes: Bytes,
    ) -> Result<bool, RemoteError> {
        if self.is_right_and_young(path, hash, form).await? {
            return Ok(false);
        }
        self.replace_object(path, bytes).await.map(|()| true)
    }

    /// Whether an object has this hash, and need not be renewed.
    async fn is_right_and_young(
        &self,
        path: &Path,
        hash: &ContentHash,
        form: HashedForm,
    ) -> Result<bool, RemoteError> {
        let found = match self.get_if_there(path, LARGEST_OBJECT).await {
            // It has more bytes than any that loomrec writes.
            Err(RemoteError::Object { .. }) => return Ok(false),
            found => found?,
        };
        // It may just have been removed.
        let Some((packed, meta)) = found else { return Ok(false) };
        let age = SystemTime::now().duration_since(meta.last_modified.into());
        let is_young = age.is_ok_and(|age| age < RENEWED);
        Ok(is_young && form.has_hash(&packed, hash))
    }

    /// Writes an object, whatever is there.
    pub(crate) async fn replace_object(
        &self,
        path: &Path,
        bytes: Bytes,
    ) -> Result<(), RemoteError> {
        let written = self.put_object(path, bytes, PutMode::Overwrite).await;
        written.map_err(|error| self.store_error("write to", &error))
    }

    /// Writes an object in a mode. If it is written under a condition, an attempt whose answer was
    /// lost may have met it.
    pub(crate) async fn put_object(
        &self,
        path: &Path,
        bytes: Bytes,
        mode: PutMode,
    ) -> Result<(), Error> {
        let options = PutOptions { mode, ..PutOptions::default() };
        let write = || self.store.put_opts(path, bytes.clone().into(), options.clone());
        self.try_patiently(write).await.map(drop)
    }

    /// Sends a request again if it was silent while others were under way.
    async fn try_patiently<T, F>(&self, request: impl Fn() -> F) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        for _ in 1..SILENT_TRIES {
            match request().await {
                Err(error) if may_succeed_alone(&error) => {}
                answered => return answered,
            }
        }
        request().await
    }

    /// Creates an object. Returns false if it is there already.
    pub(crate) async fn create_object(
        &self,
        path: &Path,
        bytes: impl Into<Bytes>,
    ) -> Result<bool, RemoteError> {
        match self.put_object(path, bytes.into(), PutMode::Create).await {
            Ok(()) => Ok(true),
            Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => Ok(false),
            Err(error) => Err(self.store_error("write to", &error)),
        }
    }

    pub(crate) async fn get_object(&self, path: &Path, limit: u64) -> Result<Bytes, RemoteError> {
        let found = self.get_if_there(path, limit).await?;
        found.map(|(bytes, _)| bytes).ok_or_else(|| RemoteError::Object {
            path: path.to_string(),
            url: self.url.clone(),
            problem: "the store does not have it".to_owned(),
        })
    }

    pub(crate) async fn get_if_there(
        &self,
        path: &Path,
        limit: u64,
    ) -> Result<Option<(Bytes, ObjectMeta)>, RemoteError> {
        let found = match self.try_patiently(|| self.read_at_most(path, limit)).await {
            Ok(found) => found,
            Err(error @ Error::NotFound { .. }) => {
                return match StoreFailure::from_error(&error) {
                    StoreFailure::NoBucket => Err(self.store_error("read", &error)),
                    _ => Ok(None),
                };
            }
            Err(error) => return Err(self.store_error("read", &error)),
        };
        let (bytes, meta) = found;
        let Some(bytes) = bytes else {
            return Err(RemoteError::Object {
                path: path.to_string(),
                url: self.url.clone(),
                problem: format!("it has {} bytes; the most is {limit}", meta.size),
            });
        };
        Ok(Some((bytes, meta)))
    }

    /// Reads an object. Returns no bytes if it has more than `limit`.
    async fn read_at_most(
        &self,
        path: &Path,
        limit: u64,
    ) -> Result<(Option<Bytes>, ObjectMeta), Error> {
        let answer = self.store.get_opts(path, GetOptions::default()).await?;
        let meta = answer.meta.clone();
        let bytes = match meta.size > limit {
            true => None,
            false => Some(read_whole(&*self.store, path, answer).await?),
        };
        Ok((bytes, meta))
    }

    pub(crate) fn read_note<T: for<'a> Deserialize<'a>>(
        &self,
        path: &Path,
        bytes: &[u8],
    ) -> Result<T, RemoteError> {
        serde_json::from_slice(bytes).map_err(|error| RemoteError::Object {
            path: path.to_string(),
            url: self.url.clone(),
            problem: format!("it is not what loomrec writes there: {error}"),
        })
    }

    pub(crate) fn check_format(
        &self,
        path: &Path,
        found: &str,
        known: &str,
    ) -> Result<(), RemoteError> {
        if found == known {
            return Ok(());
        }
        Err(RemoteError::OtherFormat {
            path: path.to_string(),
            url: self.url.clone(),
            found: found.to_owned(),
            known: known.to_owned(),
        })
    }

    pub(crate) fn store_error(&self, action: &'static str, error: &Error) -> RemoteError {
        let (url, endpoint) = (self.url.clone(), self.endpoint.clone());
        match StoreFailure::from_error(error) {
            StoreFailure::NoBucket => RemoteError::NoBucket { url, endpoint },
            StoreFailure::Denied { reason, hint } => {
                RemoteError::Denied { action, url, reason, hint }
            }
            StoreFailure::ClockSkew => {
                let (machine, store) = self.store_clock().current_times(machine_time());
                let store = store.unwrap_or_else(|| "another time".to_owned());
                RemoteError::ClockSkew { url, machine, store }
            }
            StoreFailure::NoCredentials => RemoteError::NoCredentials { url },
            StoreFailure::NoConditions => RemoteError::NoConditions { url, endpoint },
            StoreFailure::NoPlainHttp => RemoteError::PlainHttp { url, endpoint },
            StoreFailure::Other(problem) => {
                RemoteError::Unreachable { url, endpoint, problem, hint: self.hint }
            }
        }
    }
}

/// Returns the text of a small object.
pub(crate) fn note_text(note: &impl Serialize) -> Vec<u8> {
    let mut text = serde_json::to_vec(note).unwrap_or_default();
    text.push(b'\n');
    text
}
