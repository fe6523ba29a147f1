//! The folders of remote recordings on this machine.

use std::path::PathBuf;

use loomrec_remote::LocalCache;

/// Returns the cache: `LOOMREC_CACHE`, or `loomrec` in the user's folder for caches.
pub(super) fn cache() -> LocalCache {
    LocalCache::new(folder("LOOMREC_CACHE", "XDG_CACHE_HOME", ".cache"))
}

/// Returns the folder of what was recorded and not uploaded: `LOOMREC_STATE`, or `loomrec` in the
/// user's folder for state.
pub(super) fn state() -> PathBuf {
    folder("LOOMREC_STATE", "XDG_STATE_HOME", ".local/state")
}

fn folder(own: &str, xdg: &str, below_home: &str) -> PathBuf {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(own) = set(own) {
        return own.into();
    }
    // A relative path is invalid there, by the XDG specification.
    let base = set(xdg).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || set("HOME").map_or_else(std::env::temp_dir, PathBuf::from);
    base.unwrap_or_else(|| home().join(below_home)).join("loomrec")
}
