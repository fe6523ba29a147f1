//! The paths of a recording's files, and of the temporary files beside it while it is replaced as a
//! whole.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::regular_file;

/// The end of every temporary file's name.
pub(super) const SUFFIX: &str = regular_file::TEMPORARY;

/// Returns the file that a path names. Symbolic links are followed to the end, even if there is
/// nothing yet.
pub(super) fn resolve_links(path: &Path) -> io::Result<PathBuf> {
    /// As many links as the kernel follows.
    const LINKS: usize = 40;
    let mut path = path.to_path_buf();
    for _ in 0..LINKS {
        if !path.is_symlink() {
            break;
        }
        let link = fs::read_link(&path)?;
        path = parent_folder(&path).join(link);
    }
    let Some(name) = path.file_name() else {
        return fs::canonicalize(&path);
    };
    Ok(fs::canonicalize(parent_folder(&path))?.join(name))
}

/// Returns the folder of a file.
pub(super) fn parent_folder(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Removes what a killed process left of `target` in `folder`. Only under its lock, and only while
/// no compaction is running: a compaction writes its file without the lock.
pub(super) fn remove_leftovers(folder: &Path, target: &Path) -> io::Result<()> {
    find_temporary(folder, target)?.iter().try_for_each(|path| regular_file::remove_temporary(path))
}

/// Returns the temporary files of `target` in `folder`: of a process that writes now, or of one that
/// was killed.
pub(super) fn find_temporary(folder: &Path, target: &Path) -> io::Result<Vec<PathBuf>> {
    let prefix = name_prefix(target);
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let middle = name
            .to_str()
            .and_then(|name| name.strip_prefix(&prefix)?.strip_suffix(SUFFIX))
            // With another dot, it belongs to a recording whose name begins with this one's.
            .filter(|middle| !middle.contains('.'));
        if middle.is_some() {
            found.push(entry.path());
        }
    }
    Ok(found)
}

fn name_prefix(target: &Path) -> String {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    format!(".{name}.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_is_followed_to_a_file_that_is_not_there_yet() {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().join("real.json");
        let link = dir.path().join("link.json");
        std::os::unix::fs::symlink("real.json", &link).unwrap();
        assert_eq!(
            resolve_links(&link).unwrap(),
            fs::canonicalize(dir.path()).unwrap().join("real.json")
        );
        fs::write(resolve_links(&link).unwrap(), b"x").unwrap();
        assert_eq!(fs::read(&real).unwrap(), b"x");
    }

    #[test]
    fn sweep_removes_only_what_was_left_beside_this_file() {
        let dir = tempfile::tempdir().unwrap();
        let others = [".b.json.1.loomrec-tmp", ".a.json.b.fold.loomrec-tmp", "a.json"];
        for name in others.into_iter().chain([".a.json.123.loomrec-tmp"]) {
            fs::write(dir.path().join(name), "").unwrap();
        }
        remove_leftovers(dir.path(), &dir.path().join("a.json")).unwrap();
        assert!(!dir.path().join(".a.json.123.loomrec-tmp").exists());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), others.len());
    }
}
