//! The system's limit on open files, and the number of connections that it leaves room for.

use loomrec_proxy::server::limit::ConnectionLimit;

/// The number of files that are open besides connections: recordings, locks, logs, the journal,
/// those of the runtime.
const OTHERS: u64 = 64;

/// No program under test needs more connections.
const MOST: u64 = 20_000;

/// Raises the limit as far as the system allows without privileges. Call this after a command is
/// started, so that the command keeps the lower limit: some programs go through every file
/// descriptor that they could have open.
pub fn raise_limit() {
    loomrec_os::raise_open_file_limit();
}

/// Returns the limit on connections: as many as the file limit leaves room for. Each connection takes one file, and another one if its calls go upstream.
pub fn connection_limit(goes_upstream: bool) -> ConnectionLimit {
    let limit = loomrec_os::open_file_maximum().unwrap_or(u64::MAX);
    let files = if goes_upstream { 2 } else { 1 };
    let most = (limit.saturating_sub(OTHERS) / files).clamp(1, MOST);
    ConnectionLimit::new(usize::try_from(most).unwrap_or(usize::MAX))
}
