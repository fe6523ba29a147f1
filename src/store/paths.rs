//! The paths of a recording and of the files that belong to it.
//!
//! Those files are in the hidden folder beside the recording ([`super::state_folder`]). An older
//! loomrec kept them beside the recording itself. What it left there is used where it is until it is
//! merged.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use super::error::StoreError;
use super::file_version::FileVersion;
use super::regular_file;
use super::state_folder;
use super::temporary_file;

/// A recording and the files that belong to it. If nobody records, only the recording exists. After
/// a crash, there may also be both logs and torn tails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RecordingPaths {
    /// The recording, symbolic links followed.
    pub(super) target: PathBuf,
    /// Locked briefly by a process that changes any of these.
    pub(super) lock: PathBuf,
    /// The present run of recorders.
    pub(super) run: PathBuf,
    /// What was recorded and not yet compacted into the recording.
    pub(super) log: PathBuf,
    /// The log that is being compacted; always older than `log`.
    pub(super) folding: PathBuf,
    /// Locked by a session that records the recording anew.
    pub(super) session: PathBuf,
    /// The folder of these files.
    state: PathBuf,
}

impl RecordingPaths {
    /// Returns the paths of the recording that `path` names.
    ///
    /// A link that names a recording is followed to one that exists. A link with the name of a file
    /// beside a recording is not followed, because it may have come with a recording.
    ///
    /// # Errors
    /// The recording's folder does not exist; [`io::ErrorKind::IsADirectory`] for a path that names
    /// a folder; `UnsafeFileError` for a link that leads to nothing or is not followed, and for a
    /// hidden folder that is not one.
    pub(super) fn from_path(path: &Path) -> io::Result<Self> {
        if names_folder(path) {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let plain: PathBuf = path.components().collect();
        let target = temporary_file::resolve_links(&plain)?;
        if plain.is_symlink() && (!target.exists() || regular_file::is_sidecar_name(&plain)) {
            regular_file::look_at(&plain)?;
        }
        let hidden = state_folder::path_for(&target);
        state_folder::check_folder(&hidden)?;
        let beside = temporary_file::parent_folder(&target).to_owned();
        let state = if is_in_use(&beside, &target) { beside } else { hidden };
        let file = |suffix: &str| in_folder(&state, &target, suffix);
        Ok(Self {
            lock: file(".lock"),
            run: file(".run"),
            log: file(".log"),
            folding: file(".folding"),
            session: file(".session"),
            target,
            state,
        })
    }

    /// Creates the folder of the other files, for tests that write them.
    #[cfg(test)]
    pub(super) fn with_state_folder(self) -> Self {
        state_folder::create_if_missing(&self.state, &super::disk::Disk::real()).unwrap();
        self
    }

    /// Returns the current version of the recording's file, or `None` if there is no file.
    ///
    /// # Errors
    /// The status of the file cannot be read.
    pub(super) fn file_version(&self) -> Result<Option<FileVersion>, StoreError> {
        FileVersion::at_path(&self.target)
            .map_err(|source| StoreError::write_failed(&self.target, source))
    }

    /// Returns the folder that holds the recording.
    pub(super) fn recording_folder(&self) -> &Path {
        temporary_file::parent_folder(&self.target)
    }

    /// Returns the folder that holds the other files.
    pub(super) fn state_folder(&self) -> &Path {
        &self.state
    }

    /// Whether the other files are where an older loomrec kept them.
    pub(super) fn is_old_place(&self) -> bool {
        self.state != state_folder::path_for(&self.target)
    }

    /// Returns the files of changes that wait for answers, and for review.
    pub(super) fn pending_files(&self) -> [PathBuf; 2] {
        [pending_file(&self.target), beside_recording(&self.target, ".new")]
    }

    /// Returns the path of the Nth torn tail of a log, counted from 1.
    pub(super) fn torn_tail(&self, number: usize) -> PathBuf {
        in_folder(&self.state, &self.target, &format!(".log.torn-{number}"))
    }
}

/// Whether a path names a folder: one is there, or the path ends in a slash.
pub(super) fn names_folder(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(b"/") || path.is_dir()
}

/// Whether recorders use a folder for the files of a recording, or ended recorders have left some
/// there.
fn is_in_use(folder: &Path, target: &Path) -> bool {
    [".folding", ".log", ".run"]
        .iter()
        .any(|suffix| in_folder(folder, target, suffix).symlink_metadata().is_ok())
}

/// Returns the path of a file beside a recording, named as the recording is, with `suffix` after
/// its name.
pub(super) fn beside_recording(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

/// Returns the path of a file in the hidden folder beside a recording, named as the recording is,
/// with `suffix` after its name.
pub(super) fn hidden_file(path: &Path, suffix: &str) -> PathBuf {
    in_folder(&state_folder::path_for(path), path, suffix)
}

/// Returns the path of the requests that wait for answers: in the hidden folder, unless only an
/// older loomrec's file is there.
pub(super) fn pending_file(path: &Path) -> PathBuf {
    let (hidden, old) = (hidden_file(path, ".pending"), beside_recording(path, ".pending"));
    if hidden.symlink_metadata().is_err() && old.symlink_metadata().is_ok() { old } else { hidden }
}

/// Returns the recording whose file of this suffix a path names, beside it or in the hidden folder.
pub(super) fn recording_of(path: &Path, suffix: &str) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?.strip_suffix(suffix)?;
    let folder = temporary_file::parent_folder(path);
    let folder =
        if state_folder::is_named(folder) { temporary_file::parent_folder(folder) } else { folder };
    let is_here = folder == Path::new(".");
    (!name.is_empty()).then(|| if is_here { PathBuf::from(name) } else { folder.join(name) })
}

fn in_folder(folder: &Path, target: &Path, suffix: &str) -> PathBuf {
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(suffix);
    folder.join(name)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn folder_and_path_with_a_slash_at_its_end_are_no_recording() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("r.json"), "{}").unwrap();
        fs::create_dir(dir.path().join("folder")).unwrap();
        for path in ["", "folder", "folder/", "none/", "r.json/"] {
            let error = RecordingPaths::from_path(&dir.path().join(path)).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::IsADirectory, "{path}");
        }
        assert!(RecordingPaths::from_path(&dir.path().join("r.json")).is_ok());
    }

    #[test]
    fn files_stand_beside_the_recording_that_a_link_names() {
        let dir = tempfile::tempdir().unwrap();
        let real = std::fs::canonicalize(dir.path()).unwrap().join("real.json");
        let link = dir.path().join("link.json");
        std::os::unix::fs::symlink("real.json", &link).unwrap();
        fs::write(&real, "{}").unwrap();
        let paths = RecordingPaths::from_path(&link).unwrap();
        assert_eq!(paths.target, real);
        assert_eq!(paths.recording_folder(), real.parent().unwrap());
        let files = |paths: &RecordingPaths| {
            [&paths.lock, &paths.run, &paths.log, &paths.folding, &paths.torn_tail(2)]
                .map(Clone::clone)
        };
        let names = [".lock", ".run", ".log", ".folding", ".log.torn-2"]
            .map(|suffix| format!("real.json{suffix}"));
        assert_eq!(
            files(&paths),
            names.clone().map(|name| real.with_file_name(".loomrec").join(name))
        );
        // What an older loomrec left is found where that kept it.
        fs::write(real.with_file_name("real.json.log"), "").unwrap();
        let paths = RecordingPaths::from_path(&link).unwrap();
        assert!(paths.is_old_place());
        assert_eq!(files(&paths), names.map(|name| real.with_file_name(name)));
    }

    #[test]
    fn pending_requests_are_hidden_and_lead_to_their_recording() {
        let dir = tempfile::tempdir().unwrap();
        let recording = dir.path().join("a.json");
        let (hidden, old) =
            (dir.path().join(".loomrec/a.json.pending"), dir.path().join("a.json.pending"));
        assert_eq!(pending_file(&recording), hidden);
        fs::write(&old, "").unwrap();
        assert_eq!(pending_file(&recording), old);
        for path in [&hidden, &old] {
            assert_eq!(recording_of(path, ".pending"), Some(recording.clone()));
        }
        for (path, recording) in [
            (".loomrec/a.json.pending", Some("a.json")),
            ("a.json.pending", Some("a.json")),
            ("./.loomrec/a.json.pending", Some("a.json")),
            ("r/.loomrec/a.json.pending", Some("r/a.json")),
            (".pending", None),
            ("a.json", None),
        ] {
            assert_eq!(recording_of(Path::new(path), ".pending"), recording.map(PathBuf::from));
        }
    }

    #[test]
    fn link_to_nothing_and_link_beside_a_recording_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("real.json"), "{}").unwrap();
        for (link, to) in
            [("link.json", "none.json"), ("a.json.new", "real.json"), ("a.json.log", "real.json")]
        {
            let link = dir.path().join(link);
            std::os::unix::fs::symlink(to, &link).unwrap();
            let error = RecordingPaths::from_path(&link).unwrap_err();
            assert!(error.to_string().contains("symbolic link"), "{error}");
        }
    }
}
