//! Where a recording and the files beside it stand.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::backend::StoreBackend;
use super::regular_file;
use super::temporary_file;

/// A recording and the files beside it. Only the recording itself is there when
/// nobody records; both logs and torn tails after a crash, too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RecordingPaths {
    /// The recording, symbolic links followed.
    pub(super) target: PathBuf,
    /// What keeps its entries there.
    pub(super) backend: StoreBackend,
    /// Locked for moments, by whoever changes any of these.
    pub(super) lock: PathBuf,
    /// The present run of recorders.
    pub(super) run: PathBuf,
    /// What has been recorded and not been compacted into the recording.
    pub(super) log: PathBuf,
    /// The log that is being compacted; always older than `log`.
    pub(super) folding: PathBuf,
}

impl RecordingPaths {
    /// The files of the recording that `path` names: a folder where there is one, or
    /// where it ends in a slash.
    ///
    /// A link that names a recording is followed to one that is there. A link called as
    /// a file beside a recording is not, since it may have come with one.
    ///
    /// # Errors
    /// A folder that is not there; a file with a slash behind its name;
    /// `UnsafeFileError` for a link that leads to nothing, or is not followed.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let slash = path.as_os_str().as_encoded_bytes().ends_with(b"/");
        // Without it: what stands beside a folder stands beside what a link leads to.
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
            target,
        })
    }

    /// The folder they all stand in.
    pub(super) fn folder(&self) -> &Path {
        temporary_file::folder(&self.target)
    }

    /// Where changes wait that were made to the recording: for answers, and for review.
    pub(super) fn waiting(&self) -> [PathBuf; 2] {
        [beside(&self.target, ".pending"), beside(&self.target, ".new")]
    }

    /// Where the Nth torn tail of a log is kept, counted from 1.
    pub(super) fn torn(&self, number: usize) -> PathBuf {
        beside(&self.target, &format!(".log.torn-{number}"))
    }
}

/// The path of a file beside a recording, named as the recording is: `suffix` behind its
/// name, whatever stands behind that. A folder's is not within it.
pub(super) fn beside_recording(path: &Path, suffix: &str) -> PathBuf {
    let plain: PathBuf = path.components().collect();
    // `.` and the like have no name of their own.
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
