//! The system's limit on open files, and how many connections it leaves room for.

use super::args::ServeArgs;
use crate::os;
use crate::server::limit::ConnectionLimit;

/// Files that are open beside connections: recordings, locks, logs, the journal, what the
/// runtime needs.
const OTHERS: u64 = 64;

/// More connections are no program under test.
const MOST: u64 = 20_000;

/// Raises the limit as far as the system lets everybody. A command that was started before
/// keeps its own: some programs go through all files that they could have open.
pub fn raise() {
    os::raise_open_file_limit();
}

/// How many connections there may be at once: as many as was asked for, or else as the limit
/// leaves room for. Each takes a file, and one more where its calls go upstream.
pub fn limit(args: &ServeArgs, goes_upstream: bool) -> ConnectionLimit {
    let asked = args.limits.max_connections.map(u64::from);
    let most = asked.unwrap_or_else(|| {
        let limit = os::open_file_maximum().unwrap_or(u64::MAX);
        let files = if goes_upstream { 2 } else { 1 };
        (limit.saturating_sub(OTHERS) / files).clamp(1, MOST)
    });
    ConnectionLimit::new(usize::try_from(most).unwrap_or(usize::MAX))
}
