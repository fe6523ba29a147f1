//! A folder in memory for targets that need files; one for each process.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The folder: in `/dev/shm` where that is there, so that a file costs no disk.
pub fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let memory = Path::new("/dev/shm");
        let base = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
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
        std::fs::write(folder.join(name), bytes).unwrap();
    }
    folder
}

/// Every file of the folder and its bytes, by name.
pub fn contents() -> Vec<(String, Vec<u8>)> {
    let mut found: Vec<_> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            (name, std::fs::read(entry.path()).unwrap_or_default())
        })
        .collect();
    found.sort();
    found
}
