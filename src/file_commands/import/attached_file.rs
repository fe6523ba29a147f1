//! Reads the files that a HAR file names for its bodies.
//!
//! The file may come from a stranger, so a name leads to a regular file in the folder of the HAR
//! file or below, through no link and no hidden name.

use std::fs::OpenOptions;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use loomrec_dialect::interchange::AttachedFiles;
use loomrec_os::{FileKind, FileStatus};

/// The most bytes of a body.
const LIMIT: u64 = 128 << 20;

/// Returns the files that the HAR file at `path` may name; none for the standard input.
pub(super) fn files_beside(path: &Path) -> AttachedFiles {
    if path == Path::new("-") {
        return AttachedFiles::default();
    }
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    AttachedFiles::new(move |name| read_beside(&folder, name))
}

/// Returns the bytes of the file with this name in a folder.
///
/// # Errors
/// If the name leads elsewhere, or the file cannot be read. The error says why.
fn read_beside(folder: &Path, name: &str) -> Result<Vec<u8>, String> {
    let path = safe_path(folder, name)?;
    let failed = |error: std::io::Error| format!("it cannot be read: {error}");
    let mut options = OpenOptions::new();
    let file = loomrec_os::refuse_links_and_waits(options.read(true)).open(&path);
    let file = file.map_err(failed)?;
    let status = FileStatus::from_file(&file).map_err(failed)?;
    if status.kind != FileKind::Regular || status.names > 1 {
        return Err("it is not a regular file with one name".to_owned());
    }
    let mut bytes = Vec::new();
    file.take(LIMIT + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > LIMIT {
        return Err(format!("it has more than {} MiB", LIMIT >> 20));
    }
    Ok(bytes)
}

/// Returns the path of a name in a folder. No part of the name is a link.
fn safe_path(folder: &Path, name: &str) -> Result<PathBuf, String> {
    let mut path = folder.to_owned();
    let parts: Vec<Component<'_>> = Path::new(name).components().collect();
    for (index, part) in parts.iter().enumerate() {
        let Component::Normal(part) = part else {
            return Err("its name leads out of the folder of the HAR file".to_owned());
        };
        if part.as_encoded_bytes().starts_with(b".") {
            return Err("its name is hidden".to_owned());
        }
        path.push(part);
        let wanted = if index + 1 == parts.len() { FileKind::Regular } else { FileKind::Directory };
        match FileStatus::at_path(&path) {
            Ok(Some(status)) if status.kind == wanted => {}
            Ok(Some(_)) => return Err("it is not a regular file with one name".to_owned()),
            Ok(None) => return Err("it is not beside the HAR file".to_owned()),
            Err(error) => return Err(format!("it cannot be read: {error}")),
        }
    }
    if parts.is_empty() { Err("it has no name".to_owned()) } else { Ok(path) }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn file_is_read_only_below_the_folder_and_through_no_link() {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("har");
        fs::create_dir_all(folder.join("sub")).unwrap();
        fs::write(outer.path().join("secret"), "no").unwrap();
        fs::write(folder.join("a.json"), "yes").unwrap();
        fs::write(folder.join("sub/b.json"), "below").unwrap();
        fs::write(folder.join(".env"), "no").unwrap();
        fs::hard_link(outer.path().join("secret"), folder.join("hard")).unwrap();
        std::os::unix::fs::symlink("../secret", folder.join("link")).unwrap();
        std::os::unix::fs::symlink("..", folder.join("up")).unwrap();
        let read = |name: &str| read_beside(&folder, name);
        assert_eq!(read("a.json").unwrap(), b"yes");
        assert_eq!(read("sub/b.json").unwrap(), b"below");
        let absolute = folder.join("a.json").display().to_string();
        for name in [
            "",
            ".",
            "sub",
            "../secret",
            "sub/../a.json",
            &absolute,
            ".env",
            "hard",
            "link",
            "up/secret",
            "/dev/zero",
            "missing",
        ] {
            assert!(read(name).is_err(), "{name}");
        }
    }
}
