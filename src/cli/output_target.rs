//! Checks of where a command may write: not among the entries of a recording that is a folder, and
//! no single file in place of a folder.

use std::path::{Path, PathBuf};

use super::exit::CommandFailure;
use loomrec_store::RecordingLocation;

/// Resolves a path as far as it exists. Two equal results name the same file, which need not exist
/// yet.
pub fn real(path: &Path) -> PathBuf {
    if let Ok(place) = std::fs::canonicalize(path) {
        return place;
    }
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return path.to_owned();
    };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    std::fs::canonicalize(folder).map_or_else(|_| path.to_owned(), |folder| folder.join(name))
}

/// Whether two paths lead to the same existing file.
pub fn is_same_file(one: &Path, other: &Path) -> bool {
    let place = |path: &Path| std::fs::canonicalize(path).ok();
    place(one).is_some_and(|one| Some(one) == place(other))
}

/// Refuses a file that would be taken for an entry of one of these recordings. `flag` is the flag
/// that names the file.
///
/// # Errors
/// Names the recording that the file would be in.
pub fn refuse_within<'a>(
    flag: &str,
    path: &Path,
    recordings: impl IntoIterator<Item = &'a RecordingLocation>,
) -> Result<(), CommandFailure> {
    let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    if hidden || path.extension().is_none_or(|end| end != "json") {
        return Ok(());
    }
    let place = |path: &Path| std::fs::canonicalize(path).ok();
    let Some(folder) = path.parent() else { return Ok(()) };
    let folder = place(if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
    match recordings
        .into_iter()
        .find(|recording| folder.is_some() && place(recording.as_path()) == folder)
    {
        None => Ok(()),
        Some(recording) => Err(CommandFailure::usage(format!(
            "{flag} {}: it would be among the entries of {}: name a file elsewhere",
            path.display(),
            recording.display()
        ))),
    }
}

/// Refuses a folder for output that is a single file. `what` describes the output, and `flag` is
/// the flag that names it.
///
/// # Errors
/// A path that names a folder.
pub fn refuse_folder(
    flag: &str,
    path: &RecordingLocation,
    what: &str,
) -> Result<(), CommandFailure> {
    if !loomrec_store::is_folder(path) {
        return Ok(());
    }
    Err(CommandFailure::usage(format!(
        "{flag} {}: {what}, and this names a folder: name a file",
        path.display()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_among_entries_is_refused_and_others_are_not() {
        let dir = tempfile::tempdir().unwrap();
        let run = dir.path().join("run");
        std::fs::create_dir_all(run.join("sub")).unwrap();
        let recordings = [dir.path().join("other"), run.join("")].map(RecordingLocation::from);
        for (path, fits) in [
            ("run/x.json", false),
            ("run/../run/x.json", false),
            ("run/.x.json", true),
            ("run/x.txt", true),
            ("run/sub/x.json", true),
            ("run.json", true),
            ("none/x.json", true),
        ] {
            let told = refuse_within("-o", &dir.path().join(path), &recordings);
            assert_eq!(told.is_ok(), fits, "{path}");
        }
    }

    #[test]
    fn paths_of_one_file_are_the_same_before_it_is_there() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("sub")).unwrap();
        let at = |path: &str| real(&dir.path().join(path));
        assert_eq!(at("new.json"), at("./sub/../new.json"));
        assert_ne!(at("new.json"), at("sub/new.json"));
        assert_eq!(real(Path::new("new.json")), real(Path::new("./new.json")));
        assert_eq!(real(Path::new("none/new.json")), Path::new("none/new.json"));
    }

    #[test]
    fn folder_is_no_place_for_one_file() {
        let dir = tempfile::tempdir().unwrap();
        assert!(refuse_folder("-o", &dir.path().into(), "it is one file").is_err());
        assert!(refuse_folder("-o", &dir.path().join("new/").into(), "it is one file").is_err());
        assert!(refuse_folder("-o", &dir.path().join("new").into(), "it is one file").is_ok());
    }
}
