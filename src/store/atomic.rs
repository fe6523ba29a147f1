//! Replaces a file as a whole: its readers see the old text or the new one,
//! whatever happens in between.

use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// The end of every temporary file's name.
const SUFFIX: &str = ".loomrec-tmp";

/// The file that a path stands for: symbolic links followed to the end, even
/// where nothing is there yet.
pub(super) fn resolve(path: &Path) -> io::Result<PathBuf> {
    /// As many links as the kernel follows.
    const LINKS: usize = 40;
    let mut path = path.to_path_buf();
    for _ in 0..LINKS {
        if !path.is_symlink() {
            break;
        }
        let link = fs::read_link(&path)?;
        path = folder(&path).join(link);
    }
    let Some(name) = path.file_name() else {
        return fs::canonicalize(&path);
    };
    Ok(fs::canonicalize(folder(&path))?.join(name))
}

/// The folder a file stands in.
pub(super) fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Writes `bytes` beside `target` and renames them into its place, with
/// everything on disk when it returns. Gives the new file, open.
///
/// A new file may be read by its owner only; one that is replaced keeps its mode.
pub(super) fn replace(target: &Path, bytes: &[u8]) -> io::Result<File> {
    let mut temporary = tempfile::Builder::new()
        .prefix(&prefix(target))
        .suffix(SUFFIX)
        .tempfile_in(folder(target))?;
    match fs::metadata(target) {
        Ok(old) => {
            let mode = old.permissions().mode() & 0o777;
            let file = temporary.as_file();
            file.set_permissions(Permissions::from_mode(mode))?;
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    temporary.write_all(bytes)?;
    temporary.as_file().sync_all()?;
    let file = temporary.persist(target).map_err(|error| error.error)?;
    File::open(folder(target))?.sync_all()?;
    Ok(file)
}

/// Removes what a killed process left beside `target`. Only under its lock:
/// temporary files live no longer than that is held.
pub(super) fn sweep(target: &Path) -> io::Result<()> {
    let prefix = prefix(target);
    for entry in fs::read_dir(folder(target))? {
        let entry = entry?;
        let name = entry.file_name();
        let left =
            name.to_str().is_some_and(|name| name.starts_with(&prefix) && name.ends_with(SUFFIX));
        if left {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn prefix(target: &Path) -> String {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    format!(".{name}.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn new_file_is_private_and_a_replaced_one_keeps_its_mode() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.json");
        replace(&path, b"one").unwrap();
        assert_eq!(mode(&path), 0o600);
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        replace(&path, b"two").unwrap();
        assert_eq!((fs::read(&path).unwrap(), mode(&path)), (b"two".to_vec(), 0o644));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn nothing_is_left_behind_when_the_target_cannot_be_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.json");
        fs::create_dir(&path).unwrap();
        assert!(replace(&path, b"one").is_err());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn link_is_followed_to_a_file_that_is_not_there_yet() {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().join("real.json");
        let link = dir.path().join("link.json");
        std::os::unix::fs::symlink("real.json", &link).unwrap();
        assert_eq!(
            resolve(&link).unwrap(),
            fs::canonicalize(dir.path()).unwrap().join("real.json")
        );
        replace(&resolve(&link).unwrap(), b"x").unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read(&real).unwrap(), b"x");
    }

    #[test]
    fn sweep_removes_only_what_was_left_beside_this_file() {
        let dir = tempfile::tempdir().unwrap();
        for name in [".a.json.123.loomrec-tmp", ".b.json.1.loomrec-tmp", "a.json"] {
            fs::write(dir.path().join(name), "").unwrap();
        }
        sweep(&dir.path().join("a.json")).unwrap();
        assert!(!dir.path().join(".a.json.123.loomrec-tmp").exists());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }
}
