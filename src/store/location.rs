//! The location of a recording, as a user names it.

use std::path::{Path, PathBuf};

use super::paths::beside_recording;

/// Where a recording is: the path of a file or a folder. A user's text is parsed once
/// ([`RecordingLocation::parse`]) and passed on. A path that the program made is a location as it
/// is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordingLocation {
    path: PathBuf,
}

/// The error of a recording that was named by a URL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "recordings are read from files and folders, not from {scheme}://; fetch it and name the file"
)]
pub struct RemoteLocationError {
    /// The scheme of the URL.
    pub scheme: String,
}

impl RecordingLocation {
    /// Parses what a user named.
    ///
    /// # Errors
    /// It is a URL: recordings are files and folders.
    pub fn parse(named: PathBuf) -> Result<Self, RemoteLocationError> {
        match named.to_str().and_then(url_scheme) {
            Some(scheme) => Err(RemoteLocationError { scheme: scheme.to_owned() }),
            None => Ok(Self { path: named }),
        }
    }

    /// Returns the path of the file or the folder.
    pub fn as_path(&self) -> &Path {
        &self.path
    }

    /// Returns the location as it was named, for messages.
    pub fn display(&self) -> std::path::Display<'_> {
        self.path.display()
    }

    /// Returns the location beside the recording with `suffix` after its name. For a folder, it is
    /// not within the folder.
    pub fn beside(&self, suffix: &str) -> Self {
        Self { path: beside_recording(&self.path, suffix) }
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
        Self { path }
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
        for (scheme, rest) in [
            ("https", "example.org/r.json"),
            ("s3", "bucket/agent"),
            ("file", "/r"),
            ("a+b.c-1", ""),
        ] {
            let error = RecordingLocation::parse(format!("{scheme}://{rest}").into()).unwrap_err();
            assert_eq!(error, RemoteLocationError { scheme: scheme.to_owned() });
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
    fn what_stands_beside_a_folder_is_not_within_it() {
        for (path, beside) in [("a/r/", "a/r.new"), ("a/r", "a/r.new"), ("r.json", "r.json.new")] {
            assert_eq!(
                RecordingLocation::from(Path::new(path)).beside(".new").as_path(),
                Path::new(beside)
            );
        }
    }
}
