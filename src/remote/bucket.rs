//! The objects of one remote recording: what is read, created and moved in its bucket.

mod packs;
mod recorders;

use bytes::Bytes;
use object_store::path::Path;
use object_store::{Error, ObjectMeta, PutMode, UpdateVersion};
use serde::{Deserialize, Serialize};

use super::address::RemoteAddress;
use super::content_hash::ContentHash;
use super::object_access::{HashedForm, LARGEST_OBJECT, ObjectAccess, note_text};
use super::object_name::ObjectName;
use super::packed_text::{LARGEST_MANIFEST, packed_limit};
use super::remote_error::RemoteError;
pub(crate) use packs::EntryListing;

/// The most bytes of a reference, a tag or the file of a recorder.
const LARGEST_NOTE: u64 = 64 << 10;

const REF_FORMAT: &str = "loomrec-ref/1";
const TAG_FORMAT: &str = "loomrec-tag/1";

/// The objects of a remote recording.
#[derive(Clone, Debug)]
pub struct RecordingBucket {
    objects: ObjectAccess,
}

/// The object that names the newest state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateRef {
    format: String,
    /// The hash of its manifest.
    pub manifest: ContentHash,
    /// How often it was moved.
    pub generation: u64,
}

/// A reference, and the version of its object.
#[derive(Clone, Debug)]
pub struct VersionedRef {
    /// The newest state.
    pub state: StateRef,
    version: UpdateVersion,
}

#[derive(Serialize, Deserialize)]
struct TagText {
    format: String,
    manifest: ContentHash,
}

impl RecordingBucket {
    /// Connects to the store of a recording, by the variables of the environment. No request is
    /// sent.
    ///
    /// # Errors
    /// The variables contradict each other, or a value cannot be read.
    pub fn connect(address: &RemoteAddress) -> Result<Self, RemoteError> {
        ObjectAccess::connect(address).map(|objects| Self { objects })
    }

    /// Uses a store that is there already.
    #[cfg(test)]
    pub(crate) fn in_store(store: std::sync::Arc<dyn object_store::ObjectStore>) -> Self {
        Self { objects: ObjectAccess::in_store(store) }
    }

    /// Returns the URL of the recording.
    pub fn url(&self) -> &str {
        &self.objects.url
    }

    /// Reads the newest state; `None` if nothing was pushed or merged yet.
    ///
    /// # Errors
    /// The store fails, or the object is no reference.
    pub async fn read_ref(&self) -> Result<Option<VersionedRef>, RemoteError> {
        let path = self.ref_path();
        let Some((bytes, meta)) = self.objects.get_if_there(&path, LARGEST_NOTE).await? else {
            return Ok(None);
        };
        let state: StateRef = self.objects.read_note(&path, &bytes)?;
        self.objects.check_format(&path, &state.format, REF_FORMAT)?;
        let version = UpdateVersion { e_tag: meta.e_tag, version: meta.version };
        Ok(Some(VersionedRef { state, version }))
    }

    /// Moves the reference to a state, if it is still what was read. Returns whether it was.
    ///
    /// # Errors
    /// The store fails. The reference may have been moved or not.
    pub async fn move_ref(
        &self,
        from: Option<&VersionedRef>,
        to: &ContentHash,
    ) -> Result<bool, RemoteError> {
        let state = StateRef {
            format: REF_FORMAT.to_owned(),
            manifest: to.clone(),
            generation: from.map_or(0, |from| from.state.generation) + 1,
        };
        let mode = match from {
            Some(from) => PutMode::Update(from.version.clone()),
            None => PutMode::Create,
        };
        let path = self.ref_path();
        match self.objects.put_object(&path, note_text(&state).into(), mode).await {
            Ok(()) => Ok(true),
            // An earlier attempt may have moved it, and its answer may have been lost.
            Err(Error::Precondition { .. } | Error::AlreadyExists { .. }) => {
                Ok(self.read_ref().await?.is_some_and(|now| now.state == state))
            }
            Err(error) => Err(self.objects.store_error("write to", &error)),
        }
    }

    /// Lets the reference name a state, whatever is there. For one that is lost or damaged.
    ///
    /// # Errors
    /// The store fails.
    pub(crate) async fn replace_ref(&self, to: &ContentHash) -> Result<(), RemoteError> {
        let format = REF_FORMAT.to_owned();
        let state = StateRef { format, manifest: to.clone(), generation: 1 };
        self.objects.replace_object(&self.ref_path(), note_text(&state).into()).await
    }

    /// Returns the path of the reference, for messages too.
    pub(crate) fn ref_path(&self) -> Path {
        self.objects.object_path("ref")
    }

    /// Returns the state that a tag names; `None` if there is no such tag.
    ///
    /// # Errors
    /// The store fails, or the object is no tag.
    pub async fn read_tag(&self, tag: &str) -> Result<Option<ContentHash>, RemoteError> {
        self.read_tag_at(&self.objects.object_path(&format!("tags/{tag}"))).await
    }

    /// Returns the state that a tag names.
    ///
    /// # Errors
    /// As [`Self::read_tag`], or there is no such tag.
    pub async fn tagged_state(&self, tag: &str) -> Result<ContentHash, RemoteError> {
        self.read_tag(tag).await?.ok_or_else(|| RemoteError::NotFound {
            what: format!("the tag {tag}"),
            url: self.objects.url.clone(),
            hint: "check its name",
        })
    }

    async fn read_tag_at(&self, path: &Path) -> Result<Option<ContentHash>, RemoteError> {
        let Some((bytes, _)) = self.objects.get_if_there(path, LARGEST_NOTE).await? else {
            return Ok(None);
        };
        let tag: TagText = self.objects.read_note(path, &bytes)?;
        self.objects.check_format(path, &tag.format, TAG_FORMAT)?;
        Ok(Some(tag.manifest))
    }

    /// Gives a state a tag.
    ///
    /// # Errors
    /// The store fails, or the tag names another state.
    pub async fn write_tag(&self, tag: &str, manifest: &ContentHash) -> Result<(), RemoteError> {
        let text = TagText { format: TAG_FORMAT.to_owned(), manifest: manifest.clone() };
        if self
            .objects
            .create_object(&self.objects.object_path(&format!("tags/{tag}")), note_text(&text))
            .await?
            || self.read_tag(tag).await?.as_ref() == Some(manifest)
        {
            return Ok(());
        }
        Err(RemoteError::TagTaken { url: self.objects.url.clone(), tag: tag.to_owned() })
    }

    /// Returns the states of all tags.
    ///
    /// # Errors
    /// The store fails, or an object is no tag.
    pub async fn tagged_states(&self) -> Result<Vec<ContentHash>, RemoteError> {
        Ok(self.list_tags().await?.into_iter().map(|(_, state)| state).collect())
    }

    /// Returns all states that the store lists, each with the object of its manifest.
    ///
    /// # Errors
    /// The store fails.
    pub(crate) async fn listed_states(
        &self,
    ) -> Result<Vec<(ContentHash, ObjectMeta)>, RemoteError> {
        let objects = self.list_objects("manifests").await?.into_iter();
        let state = |object: ObjectMeta| Some((ContentHash::of_path(&object.location)?, object));
        Ok(objects.filter_map(state).collect())
    }

    /// Returns the objects of all tags, each with its state.
    ///
    /// # Errors
    /// The store fails, or an object is no tag.
    pub(crate) async fn list_tags(&self) -> Result<Vec<(ObjectMeta, ContentHash)>, RemoteError> {
        let mut tags = Vec::new();
        for meta in self.objects.list_objects("tags").await? {
            let state = self.read_tag_at(&meta.location).await?;
            tags.extend(state.map(|state| (meta, state)));
        }
        Ok(tags)
    }

    /// Returns what an object of this recording is; `None` if it is no object of it.
    pub(crate) fn object_name(&self, path: &Path) -> Option<ObjectName> {
        let (name, object) = ObjectName::split_path(path.as_ref())?;
        (Path::from(name) == self.objects.object_path("")).then_some(object)
    }

    /// Makes sure that the object of an entry is there and right. One that is old is written again.
    ///
    /// # Errors
    /// The store fails.
    pub async fn put_entry(&self, hash: &ContentHash, packed: Vec<u8>) -> Result<(), RemoteError> {
        self.objects
            .ensure_object(&self.entry_path(hash), (hash, HashedForm::Text), packed.into())
            .await
    }

    /// Makes sure that the object of an entry that is listed is right, and young. Returns whether it
    /// was written again.
    ///
    /// # Errors
    /// The store fails.
    pub(crate) async fn renew_entry(
        &self,
        hash: &ContentHash,
        packed: Vec<u8>,
    ) -> Result<bool, RemoteError> {
        self.objects
            .renew_object(&self.entry_path(hash), (hash, HashedForm::Text), packed.into())
            .await
    }

    /// Reads the object of an entry, as it is stored. `bytes` is the length of its text.
    ///
    /// # Errors
    /// The store fails, does not have it, or has more bytes than the text can need.
    pub async fn get_entry(&self, hash: &ContentHash, bytes: u64) -> Result<Bytes, RemoteError> {
        let limit = packed_limit(bytes).min(LARGEST_OBJECT);
        self.objects.get_object(&self.entry_path(hash), limit).await
    }

    /// Returns the path of an entry's object, for messages too.
    pub fn entry_path(&self, hash: &ContentHash) -> Path {
        let digits = hash.digits();
        self.objects.object_path(&format!("objects/{}/{digits}", &digits[..2]))
    }

    /// Returns the error of an entry whose object cannot be used.
    pub(crate) fn unusable_entry(
        &self,
        hash: &ContentHash,
        problem: impl Into<String>,
    ) -> RemoteError {
        RemoteError::Object {
            path: self.entry_path(hash).to_string(),
            url: self.objects.url.clone(),
            problem: problem.into(),
        }
    }

    /// Makes sure that the object of a manifest is there and right. One that is old is written
    /// again. Proves that the store has conditional writes, before the reference is moved.
    ///
    /// # Errors
    /// The store fails, or has no conditional writes.
    pub async fn put_manifest(
        &self,
        hash: &ContentHash,
        packed: Vec<u8>,
    ) -> Result<(), RemoteError> {
        let (path, packed) = (self.manifest_path(hash), Bytes::from(packed));
        self.objects.ensure_object(&path, (hash, HashedForm::Text), packed.clone()).await?;
        self.objects.prove_conditions(&path, packed).await
    }

    /// Reads the object of a manifest, as it is stored. `None` if there is no such state.
    ///
    /// # Errors
    /// The store fails.
    pub async fn get_manifest(&self, hash: &ContentHash) -> Result<Option<Bytes>, RemoteError> {
        let found = self.objects.get_if_there(&self.manifest_path(hash), LARGEST_MANIFEST).await?;
        Ok(found.map(|(bytes, _)| bytes))
    }

    /// Returns the path of a manifest's object, for messages too.
    pub fn manifest_path(&self, hash: &ContentHash) -> Path {
        self.objects.object_path(&format!("manifests/{}", hash.digits()))
    }

    /// Returns the error of a manifest that cannot be used.
    pub(crate) fn unusable_manifest(&self, hash: &ContentHash, problem: String) -> RemoteError {
        let path = self.manifest_path(hash).to_string();
        RemoteError::Object { path, url: self.objects.url.clone(), problem }
    }

    /// Lists the objects below a part of the recording.
    ///
    /// # Errors
    /// The store fails.
    pub async fn list_objects(&self, part: &str) -> Result<Vec<ObjectMeta>, RemoteError> {
        self.objects.list_objects(part).await
    }

    /// Removes objects. One that is not there is no error.
    ///
    /// # Errors
    /// The store fails. Some may be removed.
    pub async fn remove_objects(&self, paths: Vec<Path>) -> Result<(), RemoteError> {
        self.objects.remove_objects(paths).await
    }
}
