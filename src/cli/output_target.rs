//! Checks of where a command may write: no file in place of a folder, and none over another that the
//! command uses.

use std::path::{Path, PathBuf};

use super::exit::CommandFailure;
use loomrec_store::RecordingLocation;

/// Resolves a path as far as it exists. Two equal results name the same file, which need not exist
/// yet.
pub fn resolve_path(path: &Path) -> PathBuf {
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
    if !path.names_folder() {
        return Ok(());
    }
    Err(CommandFailure::usage(format!(
        "{flag} {}: {what}, and this names a folder: name a file",
        path.display()
    )))
}

/// Refuses an output that would replace a file that the command reads.
///
/// # Errors
/// An output that is one of the inputs.
pub fn refuse_input<'a>(
    flag: &str,
    output: &Path,
    inputs: impl IntoIterator<Item = &'a Path>,
) -> Result<(), CommandFailure> {
    if !inputs.into_iter().any(|input| is_same_file(input, output)) {
        return Ok(());
    }
    let output = output.display();
    Err(CommandFailure::usage(format!("{flag} {output} is read here itself: name another file")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_one_file_are_the_same_before_it_is_there() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("sub")).unwrap();
        let at = |path: &str| resolve_path(&dir.path().join(path));
        assert_eq!(at("new.json"), at("./sub/../new.json"));
        assert_ne!(at("new.json"), at("sub/new.json"));
        assert_eq!(resolve_path(Path::new("new.json")), resolve_path(Path::new("./new.json")));
        assert_eq!(resolve_path(Path::new("none/new.json")), Path::new("none/new.json"));
    }

    #[test]
    fn folder_is_no_place_for_one_file() {
        let dir = tempfile::tempdir().unwrap();
        assert!(refuse_folder("-o", &dir.path().into(), "it is one file").is_err());
        assert!(refuse_folder("-o", &dir.path().join("new/").into(), "it is one file").is_err());
        assert!(refuse_folder("-o", &dir.path().join("new").into(), "it is one file").is_ok());
    }
}
