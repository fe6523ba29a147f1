//! The `--pending` flag: requests that a replay missed are kept to be sent live, with instructions
//! for the next step.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::args::ReplayArgs;
use crate::receipt::Receipt;
use loomrec_cli::exit::CommandFailure;
use loomrec_cli::serve_setup::RunValueTerms;
use loomrec_cli::{output_target, terminal};
use loomrec_engine::replay::missed::MissedError;
use loomrec_engine::replay::{Matcher, MissedRequests};
use loomrec_engine::{Engine, MissPolicy};
use loomrec_proxy::server::Proxy;
use loomrec_store::RecordingLocation;

/// Creates the pending file, if one is requested.
///
/// # Errors
/// A path that cannot be used; a miss policy that answers misses; no recording.
pub(super) fn create_file(
    args: &ReplayArgs,
    on_miss: &MissPolicy,
    matcher: &Matcher,
    run_values: &RunValueTerms,
) -> Result<Option<Arc<MissedRequests>>, CommandFailure> {
    let Some(named) = &args.pending else { return Ok(None) };
    let first = args.recordings.first().filter(|_| matches!(on_miss, MissPolicy::Error));
    let Some(first) = first else {
        return Err(CommandFailure::usage(
            "--pending keeps the requests that are refused since no recording (-r) answers them: \
             leave --on-miss out, and name a recording",
        ));
    };
    let path = &named.clone().unwrap_or_else(|| first.pending_file());
    let outputs = args.serve.journal.iter().chain(&args.serve.receipt).map(PathBuf::as_path);
    let mut others = args.recordings.iter().map(RecordingLocation::as_path).chain(outputs);
    if others.any(|other| {
        output_target::resolve_path(other) == output_target::resolve_path(path.as_path())
    }) {
        return Err(CommandFailure::usage(format!(
            "--pending {}: this is another file of this run; name one of its own, such as \
             FILE.pending",
            path.display()
        )));
    }
    output_target::refuse_folder("--pending", path, "pending requests go into one file")?;
    let first = matcher.source_terms().next().map(|terms| terms.rules).unwrap_or_default();
    let finder = run_values.finder_as_recorded(first.normalize_rules(), matcher.binds_all());
    match MissedRequests::create_file(path.as_path(), matcher, finder) {
        Ok(missed) => Ok(Some(Arc::new(missed))),
        Err(MissedError::Store(error)) => Err(error.into()),
        Err(error) => Err(CommandFailure::usage(format!("failed to {error}"))),
    }
}

/// Completes the pending file, and adds the next steps to the receipt.
pub(super) fn complete_file(
    args: &ReplayArgs,
    proxy: &Proxy,
    missed: Option<&MissedRequests>,
    receipt: &mut Receipt,
) {
    let Some(recording) = args.recordings.first() else { return };
    let (Some(missed), Some(replayer)) = (missed, proxy.engine.replay_engine()) else {
        let is_refused = matches!(proxy.engine, Engine::Replay { on_miss: MissPolicy::Error, .. });
        if receipt.missed > 0 && is_refused {
            let file = quote_path(recording.as_path());
            receipt.next.extend([
                "if the change is meant, replay with --pending, then:".to_owned(),
                format!("  loomrec rerecord {file} --pending"),
                format!("  loomrec review {file}"),
            ]);
        }
        return;
    };
    KeptRequests::from_requests(missed, replayer.matcher()).add_to_receipt(args, receipt);
}

/// The requests that a replay has missed and kept, once it is over.
pub(crate) struct KeptRequests {
    path: PathBuf,
    /// How many there are, or why their file is not whole.
    count: Result<usize, String>,
}

impl KeptRequests {
    /// Completes the file of a session. Returns `None` if it answered from no recording.
    pub(crate) fn from_session(missed: &MissedRequests, proxy: &Proxy) -> Option<Self> {
        Some(Self::from_requests(missed, proxy.engine.replay_engine()?.matcher()))
    }

    /// Completes the file.
    fn from_requests(missed: &MissedRequests, matcher: &Matcher) -> Self {
        let count = missed.finish_file(matcher).map_err(|error| error.error_chain());
        Self { path: missed.path().to_owned(), count }
    }

    /// Adds the file and the next steps to a receipt.
    pub(crate) fn add_to_receipt(&self, args: &ReplayArgs, receipt: &mut Receipt) {
        let Some(recording) = args.recordings.first() else { return };
        let count = match &self.count {
            Ok(0) => return,
            Ok(count) => *count,
            Err(why) => {
                let text = format!("{} is not whole: failed to {why}", self.path.display());
                receipt.complaints.push(text);
                return;
            }
        };
        receipt.pending = Some((self.path.clone(), count));
        let (file, pending) = (quote_path(recording.as_path()), quote_path(&self.path));
        let calls = if count == 1 { "1 call waits" } else { &format!("{count} calls wait") };
        let named = args.pending.as_ref().and_then(Option::as_ref).map(|_| format!(" {pending}"));
        receipt.next.extend([
            format!("{calls} in {pending}; if the change is meant:"),
            format!("  loomrec rerecord {file} --pending{}", named.unwrap_or_default()),
            format!("  loomrec review {file}"),
            format!("  git commit {file}"),
        ]);
    }
}

/// Quotes a path for the shell.
pub(super) fn quote_path(path: &Path) -> String {
    terminal::quote_word(&path.to_string_lossy())
}
