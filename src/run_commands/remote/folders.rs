//! The folders of remote recordings on this machine.

use std::path::PathBuf;

use loomrec_cli::user_folder::UserFolder;
use loomrec_remote::LocalCache;

/// Returns the cache.
pub(super) fn local_cache() -> LocalCache {
    LocalCache::new(UserFolder::CACHE.path(), UserFolder::STATE.private_path())
}

/// Returns the folder of what was recorded and not uploaded.
pub(super) fn state_folder() -> PathBuf {
    UserFolder::STATE.path()
}
