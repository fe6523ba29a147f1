//! The download of remote recordings.

use std::sync::Arc;

use loomrec_remote::StateFetcher;

use super::folders;
use super::transfer_notice::TransferNotice;

/// Returns a fetcher with this machine's cache.
pub(super) fn state_fetcher(is_stale_ok: bool) -> StateFetcher {
    StateFetcher { cache: folders::local_cache(), is_stale_ok, on_progress: Arc::new(|_, _| {}) }
}

/// Returns a fetcher that counts its objects in a notice.
pub(super) fn fetcher_with(fetcher: &StateFetcher, notice: &TransferNotice) -> StateFetcher {
    StateFetcher { on_progress: notice.on_progress(), ..fetcher.clone() }
}
