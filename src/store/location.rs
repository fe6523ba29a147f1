//! The location of a recording, as a user names it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::paths::{
    RecordingPaths, beside_recording, hidden_file, names_folder, pending_file, recording_of,
};

/// The schemes of stores that recordings can be in.
pub const REMOTE_SCHEMES: [&str; 3] = ["s3", "gs", "az"];

/// The end of the name of a file that points to a remote recording.
pub const POINTER_SUFFIX: &str = ".remote.json";

/// Where a recording is: the path of its file. A user's text is parsed once
/// ([`RecordingLocation::parse`]) and passed on. A path that the program made is a location as it
/// is.
///
/// A remote recording has a location, too: first its name, and once it is on this machine, its path
/// here and its origin.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordingLocation {
    path: PathBuf,
    origin: Option<Arc<RemoteOrigin>>,
}

/// The origin of a recording that is in an object store.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RemoteOrigin {
    /// Its name, as the user gave it.
    pub name: String,
    /// Its URL, without a state.
    pub url: String,
    /// The hash of the state that is used; `None` if it is only recorded into.
    pub manifest: Option<String>,
    /// Whether the state came from the cache, without a request to the store.
    pub is_offline: bool,
    /// How long ago the store was asked, in seconds, if it could not be asked now.
    pub age_seconds: Option<u64>,
    /// How many objects were downloaded.
    pub fetched: u64,
}

/// The error of a recording that was named by a URL of an unknown kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "recordings are in files and object stores (s3://, gs://, az://), not in {scheme}://; fetch it \
     and name the file"
)]
pub struct UrlSchemeError {
    /// The scheme of the URL.
    pub scheme: String,
}

impl RecordingLocation {
    /// Parses what a user named.
    ///
    /// # Errors
    /// It is a URL of another scheme than those of object stores.
    pub fn parse(named: PathBuf) -> Result<Self, UrlSchemeError> {
        match named.to_str().and_then(url_scheme) {
            Some(scheme) if !REMOTE_SCHEMES.contains(&scheme) => {
                Err(UrlSchemeError { scheme: scheme.to_owned() })
            }
            _ => Ok(named.into()),
        }
    }

    /// Returns the location of a remote recording that is on this machine.
    pub fn from_remote(path: PathBuf, origin: RemoteOrigin) -> Self {
        Self { path, origin: Some(Arc::new(origin)) }
    }

    /// Whether this is the name of a remote recording that is not on this machine yet: a URL, or a
    /// pointer file.
    pub fn is_remote(&self) -> bool {
        let is_pointer =
            || self.path.as_os_str().as_encoded_bytes().ends_with(POINTER_SUFFIX.as_bytes());
        self.origin.is_none() && (self.is_url() || is_pointer())
    }

    /// Whether this is a URL.
    pub fn is_url(&self) -> bool {
        self.origin.is_none() && self.path.to_str().and_then(url_scheme).is_some()
    }

    /// Whether this is a path, and names a folder: one is there, or the path ends in a slash.
    pub fn names_folder(&self) -> bool {
        !self.is_url() && names_folder(&self.path)
    }

    /// Returns the path of the file.
    pub fn as_path(&self) -> &Path {
        &self.path
    }

    /// Returns the origin of a remote recording that is on this machine.
    pub fn remote_origin(&self) -> Option<&RemoteOrigin> {
        self.origin.as_deref()
    }

    /// Returns the location as it was named, for messages.
    pub fn display(&self) -> std::path::Display<'_> {
        match &self.origin {
            Some(origin) => Path::new(&origin.name).display(),
            None => self.path.display(),
        }
    }

    /// Returns the location beside the recording with `suffix` after its name.
    pub fn with_suffix(&self, suffix: &str) -> Self {
        beside_recording(&self.path, suffix).into()
    }

    /// Returns the location of the requests that a replay of this recording missed. They wait for
    /// answers.
    pub fn pending_file(&self) -> Self {
        pending_file(&self.path).into()
    }

    /// Returns the recording whose waiting requests or changes (`suffix`) this location names, by
    /// its name alone.
    pub fn recording_of(&self, suffix: &str) -> Option<Self> {
        recording_of(&self.path, suffix).map(Self::from)
    }

    /// Returns the location of a new recording that a session writes, until it takes this
    /// recording's place.
    pub fn unfinished_file(&self) -> Self {
        hidden_file(&self.path, ".unfinished").into()
    }

    /// Returns the paths of the log, and of the log that is being compacted.
    pub fn log_files(&self) -> [PathBuf; 2] {
        match RecordingPaths::from_path(&self.path) {
            Ok(paths) => [paths.log, paths.folding],
            Err(_) => [".log", ".folding"].map(|suffix| hidden_file(&self.path, suffix)),
        }
    }
}

/// Returns the scheme of a text that begins with one and `://`.
fn url_scheme(text: &str) -> Option<&str> {
    let (scheme, _) = text.split_once("://")?;
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "+-.".contains(letter);
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic());
    (is_scheme && scheme.chars().all(is_letter)).then_some(scheme)
}

impl From<PathBuf> for RecordingLocation {
    fn from(path: PathBuf) -> Self {
        Self { path, origin: None }
    }
}

impl From<&Path> for RecordingLocation {
    fn from(path: &Path) -> Self {
        path.to_owned().into()
    }
}

impl From<&PathBuf> for RecordingLocation {
    fn from(path: &PathBuf) -> Self {
        path.clone().into()
    }
}

impl From<&RecordingLocation> for RecordingLocation {
    fn from(location: &RecordingLocation) -> Self {
        location.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_refused_and_a_path_that_looks_like_one_is_not() {
        for (scheme, rest) in [("https", "example.org/r.json"), ("file", "/r"), ("a+b.c-1", "")] {
            let error = RecordingLocation::parse(format!("{scheme}://{rest}").into()).unwrap_err();
            assert_eq!(error, UrlSchemeError { scheme: scheme.to_owned() });
        }
        for path in
            ["r.json", "r/", "./https://r.json", "://r", "1s://r", "c:/r.json", "a b://r", ""]
        {
            let location = RecordingLocation::parse(path.into()).unwrap();
            assert_eq!(location.as_path(), Path::new(path));
            assert_eq!(location.display().to_string(), path);
        }
    }

    #[test]
    fn remote_recording_is_one_until_it_is_on_this_machine() {
        for (text, is_remote) in [
            ("s3://bucket/agent", true),
            ("gs://bucket/agent@v1", true),
            ("recordings/agent.remote.json", true),
            ("recordings/agent.json", false),
        ] {
            let location = RecordingLocation::parse(text.into()).unwrap();
            assert_eq!(location.is_remote(), is_remote, "{text}");
        }
        let origin =
            RemoteOrigin { name: "s3://bucket/agent".to_owned(), ..RemoteOrigin::default() };
        let here = RecordingLocation::from_remote("/cache/1.json".into(), origin);
        assert!(!here.is_remote());
        assert_eq!(here.display().to_string(), "s3://bucket/agent");
        assert_eq!(here.as_path(), Path::new("/cache/1.json"));
    }
}
