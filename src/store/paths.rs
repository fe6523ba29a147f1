//! The paths of a recording and the files beside it.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::backend::StoreBackend;
use super::regular_file;
use super::temporary_file;

/// A recording and the files beside it. If nobody records, only the recording exists. After a
/// crash, there may also be both logs and torn tails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RecordingPaths {
    /// The recording, symbolic links followed.
    pub(super) target: PathBuf,
    /// The back-end that keeps its entries.
    pub(super) backend: StoreBackend,
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
}

impl RecordingPaths {
    /// Returns the paths of the recording that `path` names: a folder if one is there, or if the
    /// path ends in a slash.
    ///
    /// A link that names a recording is followed to one that exists. A link with the name of a file
    /// beside a recording is not followed, because it may have come with a recording.
    ///
    /// # Errors
    /// A folder that does not exist; a file with a slash after its name; `UnsafeFileError` for a
    /// link that leads to nothing or is not followed.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let slash = path.as_os_str().as_encoded_bytes().ends_with(b"/");
        // Without the slash: files beside a folder are beside the target of a link.
        let plain: PathBuf = path.components().collect();
        let target = temporary_file::resolve(&plain)?;
        if plain.is_symlink() && (!target.exists() || regular_file::is_sidecar_name(&plain)) {
            regular_file::look_at(&plain)?;
        }
        let backend = StoreBackend::at(&target, slash)?;
        let beside = |suffix: &str| beside(&target, suffix);
        Ok(Self {
            backend,
            lock: beside(".lock"),
            run: beside(".run"),
            log: beside(".log"),
            folding: beside(".folding"),
            session: beside(".session"),
            target,
        })
    }

    /// Returns the folder that holds all of them.
    pub(super) fn folder(&self) -> &Path {
        temporary_file::folder(&self.target)
    }

    /// Returns the files of changes that wait for answers, and for review.
    pub(super) fn waiting(&self) -> [PathBuf; 2] {
        [beside(&self.target, ".pending"), beside(&self.target, ".new")]
    }

    /// Returns the path of the Nth torn tail of a log, counted from 1.
    pub(super) fn torn(&self, number: usize) -> PathBuf {
        beside(&self.target, &format!(".log.torn-{number}"))
    }
}

/// Returns the path of a file beside a recording, named as the recording is, with `suffix` after
/// its name. For a folder, it is not within the folder.
pub(super) fn beside_recording(path: &Path, suffix: &str) -> PathBuf {
    let plain: PathBuf = path.components().collect();
    // `.` and the like have no file name.
    let named = match plain.file_name() {
        Some(_) => plain,
        None => fs::canonicalize(&plain).unwrap_or(plain),
    };
    beside(&named, suffix)
}

fn beside(target: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(target);
    name.push(suffix);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_beside_a_folder_is_not_within_it() {
        for (path, beside) in [("a/r/", "a/r.new"), ("a/r", "a/r.new"), ("r.json", "r.json.new")] {
            assert_eq!(beside_recording(Path::new(path), ".new"), Path::new(beside));
        }
        let here = fs::canonicalize(".").unwrap();
        let name = format!("{}.new", here.file_name().unwrap().to_str().unwrap());
        assert_eq!(beside_recording(Path::new("."), ".new"), here.with_file_name(name));
    }

    #[test]
    fn files_stand_beside_the_recording_that_a_link_names() {
        let dir = tempfile::tempdir().unwrap();
        let real = std::fs::canonicalize(dir.path()).unwrap().join("real.json");
        let link = dir.path().join("link.json");
        std::os::unix::fs::symlink("real.json", &link).unwrap();
        fs::write(&real, "{}").unwrap();
        let paths = RecordingPaths::of(&link).unwrap();
        assert_eq!(paths.target, real);
        assert_eq!(paths.folder(), real.parent().unwrap());
        for (path, name) in [
            (&paths.lock, "real.json.lock"),
            (&paths.run, "real.json.run"),
            (&paths.log, "real.json.log"),
            (&paths.folding, "real.json.folding"),
            (&paths.torn(2), "real.json.log.torn-2"),
        ] {
            assert_eq!(*path, real.with_file_name(name));
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
            let error = RecordingPaths::of(&link).unwrap_err();
            assert!(error.to_string().contains("symbolic link"), "{error}");
        }
    }
}
