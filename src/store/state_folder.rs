//! The hidden folder beside recordings: it holds the files that loomrec needs while it works on a
//! recording, so that a recorded program sees nothing but the recording itself.
//!
//! The folder ignores itself in git, and stays when the work is over, as a cache does: a recorded
//! run and its replay then see the same folders.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::disk::Disk;
use super::regular_file::{self, UnsafeFileError};
use super::temporary_file;
use loomrec_os::{FileKind, FileStatus};

/// The name of the folder.
pub const STATE_FOLDER: &str = ".loomrec";

/// The file that keeps the folder out of git.
const IGNORE_FILE: &str = ".gitignore";

/// The text of that file: it also ignores itself.
const IGNORE_TEXT: &[u8] = b"*\n";

/// Returns the folder for a recording. A recording that is in such a folder itself, as requests
/// that wait for answers are, has its files there too.
pub(super) fn path_for(target: &Path) -> PathBuf {
    let folder = temporary_file::parent_folder(target);
    match is_named(folder) {
        true => folder.to_owned(),
        false if folder == Path::new(".") => PathBuf::from(STATE_FOLDER),
        false => folder.join(STATE_FOLDER),
    }
}

/// Whether a path has the folder's name.
pub(super) fn is_named(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| name == STATE_FOLDER)
}

/// Checks that there is a real folder, or nothing. A link may have come with a repository, and
/// would make loomrec write elsewhere.
///
/// # Errors
/// [`UnsafeFileError`] for anything else.
pub(super) fn check_folder(folder: &Path) -> io::Result<()> {
    match FileStatus::at_path(folder) {
        Ok(Some(status)) if status.kind != FileKind::Directory => {
            Err(UnsafeFileError::in_place_of_folder(folder, &status).into())
        }
        // The recording cannot be there either, which its own error says better.
        Err(error) if error.kind() == ErrorKind::NotADirectory => Ok(()),
        found => found.map(drop),
    }
}

/// Creates the folder, if it is missing. Its own folder must exist.
///
/// # Errors
/// Something else is in its place, or the storage fails.
pub(super) fn create_if_missing(folder: &Path, disk: &Disk) -> io::Result<()> {
    check_folder(folder)?;
    std::fs::metadata(temporary_file::parent_folder(folder))?;
    disk.create_folder(folder)?;
    let ignore = folder.join(IGNORE_FILE);
    match regular_file::look_at(&ignore)? {
        Some(status) if status.length > 0 => Ok(()),
        // Others may write the same at the same time.
        _ => disk.write_all_at(&disk.open(&ignore)?, IGNORE_TEXT, 0),
    }
}

/// Creates the folder for a recording, whose own folder exists.
///
/// # Errors
/// Something else is in its place, or the storage fails: on a read-only file system, for example.
pub fn create_state_folder(recording: &Path) -> io::Result<()> {
    let target = temporary_file::resolve_links(recording)?;
    create_if_missing(&path_for(&target), &Disk::real())
}

/// Creates the folder, if it is missing and `path` names a file in it.
///
/// # Errors
/// As for [`create_if_missing`].
pub(super) fn create_for_file(path: &Path, disk: &Disk) -> io::Result<()> {
    let folder = temporary_file::parent_folder(path);
    if is_named(folder) { create_if_missing(folder, disk) } else { Ok(()) }
}

/// Opens a file that may be in the folder. If the folder is missing, creates it and tries once
/// more.
///
/// # Errors
/// The error of `open`, or the folder cannot be created.
pub(super) fn open_within<T>(
    path: &Path,
    disk: &Disk,
    mut open: impl FnMut() -> io::Result<T>,
) -> io::Result<T> {
    let folder = temporary_file::parent_folder(path);
    match open() {
        Err(error) if error.kind() == ErrorKind::NotFound && is_named(folder) => {
            create_if_missing(folder, disk)?;
            open()
        }
        done => done,
    }
}

/// Returns the sorted names in a folder, and those of the files in the hidden folder there.
#[cfg(test)]
pub(super) fn all_names(folder: &Path) -> Vec<String> {
    let hidden = std::fs::read_dir(folder.join(STATE_FOLDER)).into_iter().flatten();
    let files = std::fs::read_dir(folder).unwrap().chain(hidden);
    let mut names: Vec<String> =
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| name != STATE_FOLDER && name != IGNORE_FILE);
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn folder_is_created_once_and_ignores_itself() {
        let dir = tempfile::tempdir().unwrap();
        let folder = path_for(&dir.path().join("agent.json"));
        assert_eq!(folder, dir.path().join(".loomrec"));
        for _ in 0..2 {
            create_if_missing(&folder, &Disk::real()).unwrap();
            let names: Vec<_> = fs::read_dir(&folder).unwrap().map(|f| f.unwrap().path()).collect();
            assert_eq!(names, [folder.join(".gitignore")]);
            assert_eq!(fs::read_to_string(&names[0]).unwrap(), "*\n");
        }
        assert_eq!(path_for(&folder.join("agent.json.pending")), folder);
        assert_eq!(path_for(Path::new("agent.json")), Path::new(".loomrec"));
    }

    #[test]
    fn link_and_file_in_its_place_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let (elsewhere, link) = (dir.path().join("elsewhere"), dir.path().join(".loomrec"));
        fs::create_dir(&elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &link).unwrap();
        let error = create_if_missing(&link, &Disk::real()).unwrap_err().to_string();
        assert!(error.contains("a symbolic link to"), "{error}");
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
        fs::remove_file(&link).unwrap();
        fs::write(&link, "").unwrap();
        let error = check_folder(&link).unwrap_err().to_string();
        assert!(error.ends_with("is a regular file"), "{error}");
    }
}
