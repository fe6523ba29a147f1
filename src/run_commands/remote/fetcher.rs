//! The download of remote recordings, with its progress.

use std::sync::{Arc, OnceLock};

use indicatif::ProgressBar;
use loomrec_remote::{OnFetchProgress, StateFetcher};

use super::folders;
use crate::progress;
use loomrec_cli::output::Output;

/// How many objects there must be before their progress is shown.
const SHOWN: u64 = 20;

/// Returns a fetcher with this machine's cache, which shows its progress on a terminal.
pub(super) fn fetcher(output: &Output, is_stale_ok: bool) -> StateFetcher {
    let on_progress = match output.may_draw() {
        true => show_progress(),
        false => Arc::new(|_, _| {}),
    };
    StateFetcher { cache: folders::cache(), is_stale_ok, on_progress }
}

/// Returns a callback that draws a bar while there are objects to wait for.
fn show_progress() -> OnFetchProgress {
    let bar: OnceLock<Arc<ProgressBar>> = OnceLock::new();
    Arc::new(move |done, total| {
        if total < SHOWN {
            return;
        }
        let bar = bar.get_or_init(|| progress::bar(total));
        bar.set_position(done);
        if done >= total {
            bar.finish_and_clear();
        }
    })
}
