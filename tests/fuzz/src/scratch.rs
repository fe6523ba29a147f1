//! A folder in memory for targets that need files; one for each process.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The folder: in the one that scripts/fuzz makes and removes, else in `/dev/shm` where that
/// is there, so that a file costs no disk.
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

/// Every file of the folder and of those within it, and its bytes, by name.
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
