//! The files of an import: those that are named, and those in the folders that are named.

use std::path::{Path, PathBuf};

use loomrec_cli::exit::CommandFailure;
use loomrec_dialect::interchange::SkippedItem;
use loomrec_os::{FileKind, FileStatus};

/// How the names of files end that are read in a folder.
const ENDINGS: [&str; 7] = [".yaml", ".yml", ".json", ".jsonl", ".har", ".httprr", ".gz"];

/// How deep folders may be nested.
const DEPTH: usize = 32;

/// How many files a folder may hold.
const MOST: usize = 1_000_000;

/// A file to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ImportFile {
    pub(super) path: PathBuf,
    /// Its name for people.
    pub(super) label: String,
    /// Its path below the folder that was named; `None` if the file itself was.
    pub(super) below: Option<PathBuf>,
}

/// The files of an import.
#[derive(Debug, Default)]
pub(super) struct ImportFiles {
    /// Those to read, in order.
    pub(super) files: Vec<ImportFile>,
    /// Links in folders, which are not followed.
    pub(super) links: Vec<SkippedItem>,
}

/// Returns the files in order: a folder stands for the files in it and below, by name. Hidden names
/// are passed over, and links are left out.
///
/// # Errors
/// If a file is named twice, or a folder cannot be read or holds no file.
pub(super) fn expand_folders(named: &[PathBuf]) -> Result<ImportFiles, CommandFailure> {
    let mut found = ImportFiles::default();
    for path in named {
        if !path.is_dir() {
            let label = path.display().to_string();
            found.files.push(ImportFile { path: path.clone(), label, below: None });
            continue;
        }
        let before = found.files.len();
        walk_folder(path, path, 0, &mut found)?;
        if found.files.len() == before {
            return Err(CommandFailure::usage(format!(
                "the folder {} holds no file that could be imported ({})",
                path.display(),
                ENDINGS.join(", ")
            )));
        }
    }
    let mut seen = std::collections::HashSet::new();
    match found.files.iter().find(|file| !seen.insert(&file.path)) {
        Some(twice) => Err(CommandFailure::usage(format!("{} is named twice", twice.label))),
        None => Ok(found),
    }
}

fn has_ending(name: &str) -> bool {
    ENDINGS.iter().any(|ending| name.ends_with(ending))
}

fn walk_folder(
    root: &Path,
    folder: &Path,
    depth: usize,
    found: &mut ImportFiles,
) -> Result<(), CommandFailure> {
    let failed = |why: String| {
        let text = format!("failed to read the folder {}: {why}", folder.display());
        CommandFailure::new(loomrec_cli::exit::RECORDING, text)
    };
    if depth > DEPTH || found.files.len() + found.links.len() > MOST {
        return Err(failed("it holds too many files or folders".to_owned()));
    }
    let entries = std::fs::read_dir(folder).map_err(|error| failed(error.to_string()))?;
    let paths: Result<Vec<PathBuf>, _> =
        entries.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut paths = paths.map_err(|error| failed(error.to_string()))?;
    paths.sort();
    for path in paths {
        let name = path.file_name().map(|name| name.to_string_lossy().to_ascii_lowercase());
        let name = name.filter(|name| !name.starts_with('.')).unwrap_or_default();
        let kind = FileStatus::at_path(&path).ok().flatten().map(|status| status.kind);
        match kind {
            Some(FileKind::Directory) if !name.is_empty() => {
                walk_folder(root, &path, depth + 1, found)?
            }
            Some(FileKind::Regular) if has_ending(&name) => {
                let below = path.strip_prefix(root).ok().map(Path::to_owned);
                found.files.push(ImportFile { label: path.display().to_string(), path, below });
            }
            Some(FileKind::SymbolicLink)
                if has_ending(&name) || (!name.is_empty() && path.is_dir()) =>
            {
                let place = path.display().to_string();
                found.links.push(SkippedItem::no_call(place, "it is a link: name it to import it"));
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn folder_stands_for_its_files_by_name() {
        let outer = tempfile::tempdir().unwrap();
        for name in ["b/x.yaml", "a.json.gz", "b/.hidden.yaml", "b/readme.md", ".git/c.yaml"] {
            let path = outer.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        for (to, link) in [("a.json.gz", "c.yaml"), ("b", "d"), ("b/readme.md", "e.md")] {
            std::os::unix::fs::symlink(to, outer.path().join(link)).unwrap();
        }
        let found = expand_folders(&[outer.path().to_owned()]).unwrap();
        let links: Vec<_> = found.links.into_iter().map(|link| link.place).collect();
        assert_eq!(
            links,
            ["c.yaml", "d"].map(|link| outer.path().join(link).display().to_string())
        );
        let below: Vec<_> = found.files.into_iter().filter_map(|file| file.below).collect();
        assert_eq!(below, [PathBuf::from("a.json.gz"), PathBuf::from("b/x.yaml")]);
        let one = outer.path().join("a.json.gz");
        assert!(expand_folders(&[one.clone(), one]).is_err());
        assert!(expand_folders(&[outer.path().join(".git/none"), outer.path().join("b")]).is_ok());
        fs::create_dir(outer.path().join("empty")).unwrap();
        assert!(expand_folders(&[outer.path().join("empty")]).is_err());
    }
}
