//! A folder in memory for targets that need files, one for each process.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Returns the folder. It is in the folder that scripts/fuzz makes and removes, or else in
/// `/dev/shm` if that exists, so that files do not use the disk.
pub fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let memory = Path::new("/dev/shm");
        let base = match std::env::var_os("LOOMREC_FUZZ_SCRATCH") {
            Some(given) => PathBuf::from(given),
            None if memory.is_dir() => memory.to_owned(),
            None => std::env::temp_dir(),
        };
        let folder = base.join(format!("loomrec-fuzz-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    })
}

/// Empties the folder, and writes these files into it.
pub fn lay_out(files: &[(&str, &[u8])]) -> &'static Path {
    let folder = folder();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let removed = match path.is_dir() {
            true => std::fs::remove_dir_all(&path),
            false => std::fs::remove_file(&path),
        };
        removed.unwrap();
    }
    for (name, bytes) in files {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().expect("it is in the folder")).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    folder
}

/// Returns all files of the folder and its subfolders, with their bytes, sorted by name.
pub fn contents() -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder().to_owned()];
    while let Some(at) = folders.pop() {
        for entry in std::fs::read_dir(&at).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(folder()).expect("it is in the folder");
            let bytes = std::fs::read(&path).unwrap_or_default();
            found.push((name.to_string_lossy().into_owned(), bytes));
        }
    }
    found.sort();
    found
}
