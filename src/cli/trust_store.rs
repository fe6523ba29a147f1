//! What the user trusts: settings files, each with its content, and buckets.
//!
//! It is kept outside of projects, in the user's folder for state, a file for each item. The name of
//! a file is a hash of its item, so that nothing has to be searched, and that processes that trust at
//! the same time do not get in each other's way.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::user_folder::UserFolder;
use loomrec_os::{FileKind, FileStatus};
use loomrec_store::BucketUrl;

/// The format of the files.
const FORMAT: &str = "loomrec-trust/1";

/// The most items that are kept. The oldest one gives way.
const MOST: usize = 1000;

/// The most bytes of an item's file. A path has at most 4096, each of which may be escaped.
const LARGEST: u64 = 64 << 10;

/// The beginning of the names of files that are being written.
const UNFINISHED: &str = ".new-";

/// The age at which such a file is left over from a process that was killed.
const LEFT_OVER: Duration = Duration::from_secs(3600);

/// A settings file with its content, which the user trusts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustedSettings {
    /// The path of the file, without links.
    pub path: PathBuf,
    /// The SHA-256 of its content, in lower-case hex.
    pub sha256: String,
}

/// Something that the user trusts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrustedItem {
    /// A settings file with its content.
    Settings(TrustedSettings),
    /// A bucket, for all pointer files.
    Bucket(BucketUrl),
}

/// An item in the store.
#[derive(Clone, Debug)]
pub struct StoredTrust {
    /// What is trusted.
    pub item: TrustedItem,
    /// When the user trusted it.
    pub since: SystemTime,
}

/// The items that the user trusts.
#[derive(Clone, Debug)]
pub struct TrustStore {
    folder: PathBuf,
}

impl TrustedItem {
    /// Returns the name of the item's file.
    fn file_name(&self) -> String {
        let mut hash = Sha256::new();
        match self {
            Self::Settings(settings) => {
                hash.update(b"settings\0");
                hash.update(settings.path.as_os_str().as_encoded_bytes());
                hash.update(b"\0");
                hash.update(&settings.sha256);
            }
            Self::Bucket(bucket) => {
                hash.update(b"bucket\0");
                hash.update(bucket.to_string());
            }
        }
        to_hex(&hash.finalize())
    }

    /// Whether this is a settings file at this path, whatever its content was.
    pub fn is_of_file(&self, path: &Path) -> bool {
        matches!(self, Self::Settings(settings) if settings.path == path)
    }

    fn to_json(&self) -> Value {
        match self {
            Self::Settings(TrustedSettings { path, sha256 }) => {
                json!({ "format": FORMAT, "settings": path.to_string_lossy(), "sha256": sha256 })
            }
            Self::Bucket(bucket) => json!({ "format": FORMAT, "bucket": bucket.to_string() }),
        }
    }

    /// Reads what [`Self::to_json`] returned. Of a path that is not UTF-8, it has an approximation.
    fn from_json(value: &Value) -> Option<Self> {
        let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
        text("format").filter(|format| format == FORMAT)?;
        match text("bucket") {
            Some(url) => BucketUrl::of_url(&url).map(Self::Bucket),
            None => Some(Self::Settings(TrustedSettings {
                path: text("settings")?.into(),
                sha256: text("sha256")?,
            })),
        }
    }
}

impl TrustStore {
    /// Returns the store of the user. `None` without a home directory.
    pub fn of_user() -> Option<Self> {
        UserFolder::STATE.private_path().map(|folder| Self { folder: folder.join("trust") })
    }

    /// Returns the folder of the store.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether the user trusts this item. What cannot be read counts as not trusted.
    pub fn is_trusted(&self, item: &TrustedItem) -> bool {
        let is_it = |stored: TrustedItem| stored.to_json() == item.to_json();
        self.is_private() && self.read(&item.file_name()).is_some_and(is_it)
    }

    /// Returns all items, the newest first.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn items(&self) -> io::Result<Vec<StoredTrust>> {
        if !self.is_private() {
            return Ok(Vec::new());
        }
        let mut items = Vec::new();
        for (name, since) in self.item_files()? {
            items.extend(self.read(&name).map(|item| StoredTrust { item, since }));
        }
        items.sort_by_key(|stored| std::cmp::Reverse(stored.since));
        Ok(items)
    }

    /// Adds an item. Only the user can read its file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn add(&self, item: &TrustedItem) -> io::Result<()> {
        self.create_folder()?;
        self.make_room()?;
        let mut file = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(&self.folder)?;
        let mut text = item.to_json().to_string();
        text.push('\n');
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(self.folder.join(item.file_name())).map(drop).map_err(|error| error.error)
    }

    /// Removes the items that are chosen. Returns how many there were.
    ///
    /// # Errors
    /// If the folder cannot be read, or a file cannot be removed.
    pub fn forget(&self, is_chosen: impl Fn(&TrustedItem) -> bool) -> io::Result<usize> {
        let mut forgotten = 0;
        for (name, _) in self.item_files()? {
            if self.read(&name).is_some_and(|item| is_chosen(&item)) {
                remove(&self.folder.join(name))?;
                forgotten += 1;
            }
        }
        Ok(forgotten)
    }

    /// Whether the folder is the user's alone. One that came with a repository is not: git creates
    /// no folder of this mode, unless the user has set such a mask.
    fn is_private(&self) -> bool {
        let status = FileStatus::at_target(&self.folder).ok().flatten();
        status.is_some_and(|status| status.is_private_of_user())
    }

    fn create_folder(&self) -> io::Result<()> {
        loomrec_os::create_private_folder(&self.folder)?;
        match self.is_private() {
            true => Ok(()),
            false => Err(io::Error::new(
                ErrorKind::PermissionDenied,
                "the folder must be yours, with mode 0700",
            )),
        }
    }

    /// Removes the oldest items if there are too many, and what killed processes left.
    fn make_room(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let is_unfinished = entry.file_name().to_string_lossy().starts_with(UNFINISHED);
            let age = || entry.metadata().ok()?.modified().ok()?.elapsed().ok();
            if is_unfinished && age().is_some_and(|age| age > LEFT_OVER) {
                remove(&entry.path())?;
            }
        }
        let mut names = self.item_files()?;
        names.sort_by_key(|(_, since)| *since);
        let superfluous = (names.len() + 1).saturating_sub(MOST);
        names[..superfluous].iter().try_for_each(|(name, _)| remove(&self.folder.join(name)))
    }

    /// Returns the names of the items' files, with the times at which they were written.
    fn item_files(&self) -> io::Result<Vec<(String, SystemTime)>> {
        let listed = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            listed => listed?,
        };
        let mut names = Vec::new();
        for entry in listed {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                // Another process may have removed it meanwhile.
                let since = entry.metadata().and_then(|metadata| metadata.modified());
                names.extend(since.ok().map(|since| (name, since)));
            }
        }
        Ok(names)
    }

    /// Reads the file of this name. Returns `None` if it is not the user's alone, or does not hold the item of its name.
    fn read(&self, name: &str) -> Option<TrustedItem> {
        let path = self.folder.join(name);
        let mut options = OpenOptions::new();
        let file = loomrec_os::refuse_links_and_waits(options.read(true)).open(path).ok()?;
        let status = FileStatus::from_file(&file).ok()?;
        if status.kind != FileKind::Regular || !status.is_private_of_user() {
            return None;
        }
        let mut text = Vec::new();
        file.take(LARGEST).read_to_end(&mut text).ok()?;
        TrustedItem::from_json(&serde_json::from_slice(&text).ok()?)
    }
}

/// Returns bytes in lower-case hex.
pub fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Removes a file. One that another process has removed is no error.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

#[cfg(test)]
#[path = "trust_store_tests.rs"]
mod tests;
