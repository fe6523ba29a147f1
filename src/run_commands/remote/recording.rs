//! A recording in an object store that a run records into.

use std::sync::Arc;
use std::time::Duration;

use loomrec_remote::{
    GapChoice, OnUploadEvent, RecorderFile, RecordingBucket, RemoteError, RemoteName,
    SegmentUploader, StateFetcher, StateSelector, UploadEvent, UploadResult, UploadSpool, compact,
    newest_rules, upload_leftovers,
};

use super::failure::{read_failure, write_failure};
use super::fetcher::{fetcher_with, state_fetcher};
use super::transfer_notice::TransferNotice;
use super::{folders, names};
use crate::args::{RecordArgs, RecordMode};
use crate::receipt::UploadReceipt;
use crate::stop_signals::StopSignals;
use loomrec_cli::exit::CommandFailure;
use loomrec_cli::output::Output;
use loomrec_cli::pointer_trust::PointerTrust;
use loomrec_cli::settings::Settings;
use loomrec_cli::store_note::store_note;
use loomrec_engine::clock::{ArrivalClock, format_timestamp};
use loomrec_engine::upstream::install_crypto_provider;
use loomrec_identity::IdentityRules;
use loomrec_store::{RecordingLocation, RemoteOrigin};
use loomrec_telemetry::metric::Metrics;

/// A difference between the clocks of this machine and of the store is told from here on, in
/// seconds.
const TOLD_DIFFERENCE: u64 = 5;

/// The uploads of a run, and what it found in the store.
pub(crate) struct RemoteRecording {
    /// The rules of the recording; `None` if there is no recording yet.
    pub(crate) rules: Option<IdentityRules>,
    /// The recording that answers calls, if the mode uses one.
    pub(crate) answers: Option<RecordingLocation>,
    /// The clock of the calls: that of the store, which is the same for all recorders.
    pub(crate) clock: Arc<ArrivalClock>,
    bucket: RecordingBucket,
    fetcher: StateFetcher,
    uploader: SegmentUploader,
    on_event: OnUploadEvent,
    patience: Duration,
    output: Output,
    /// Whether the recorder merges the segments in the end.
    merges: bool,
}

impl RemoteRecording {
    /// Begins to record into a remote recording: `args` then name the log on this machine. Returns
    /// `None` if nothing will be recorded into one. In a mode that only answers, `args` name the
    /// newest state.
    ///
    /// # Errors
    /// A name that is wrong (2); a store that cannot be read (4) or written to (5).
    pub(crate) async fn begin(
        args: &mut RecordArgs,
        settings: &Settings,
        output: &Output,
        metrics: &Arc<Metrics>,
    ) -> Result<Option<Self>, CommandFailure> {
        if !args.recording.is_remote() {
            return Ok(None);
        }
        let name = names::read_name(&args.recording, &PointerTrust::from_settings(settings))?;
        if name.state != StateSelector::Newest {
            return Err(CommandFailure::usage(format!(
                "{} is one state, which never changes: record into {}",
                args.recording.display(),
                name.address
            )));
        }
        install_crypto_provider();
        let bucket = RecordingBucket::connect(&name.address).map_err(write_failure)?;
        let notice = TransferNotice::start(output, bucket.url());
        let fetcher = fetcher_with(&state_fetcher(false), &notice);
        let rules = newest_rules(&bucket, &fetcher.cache).await.map_err(read_failure)?;
        let answers = fetch_answers(args, &name, &bucket, &fetcher).await?;
        if let Some(origin) = answers.as_ref().and_then(RecordingLocation::remote_origin) {
            metrics.remote.count_load(origin.fetched == 0);
        }
        if let Some(answers) = &answers
            && matches!(args.mode, RecordMode::None | RecordMode::Once)
        {
            args.recording = answers.clone();
            return Ok(None);
        }
        name.address
            .refuse_object_names()
            .map_err(|error| CommandFailure::usage(format!("failed to {error}")))?;
        let ahead = bucket.clock_ahead().await;
        tell_difference(ahead, &notice.output_above_line(output));
        let clock = Arc::new(ArrivalClock::new(ahead));
        let spool = begin_spool(args, &bucket, &clock, &notice.output_above_line(output)).await?;
        drop(notice);
        let origin = RemoteOrigin {
            name: args.recording.display().to_string(),
            url: name.address.to_string(),
            ..RemoteOrigin::default()
        };
        args.recording =
            RecordingLocation::from_remote(spool.recording_location().as_path().to_owned(), origin);
        let on_event = on_event(output, &bucket, metrics);
        let uploader = SegmentUploader::start(bucket.clone(), spool, Arc::clone(&on_event));
        let patience = args.serve.recording_drain();
        let merges = args.run.is_none();
        Ok(Some(Self {
            rules,
            answers,
            clock,
            bucket,
            fetcher,
            uploader,
            on_event,
            patience,
            output: output.clone(),
            merges,
        }))
    }

    /// Uploads the rest, once the recorder has ended, and merges what all recorders have uploaded.
    pub(crate) async fn finish(self) -> UploadReceipt {
        let url = self.bucket.url().to_owned();
        let recorder = self.uploader.recorder_id().to_owned();
        let interrupted = async {
            match StopSignals::watch() {
                Ok(mut signals) => drop(signals.next_signal().await),
                Err(_) => std::future::pending().await,
            }
        };
        let _notice = TransferNotice::start(&self.output, &url);
        let finished = self.uploader.finish(self.patience, &self.on_event, interrupted);
        let UploadResult { uploaded, left, problem } = finished.await;
        let mut receipt = UploadReceipt { url, uploaded, left, problem, ..Default::default() };
        if receipt.left > 0 || !self.merges {
            return receipt;
        }
        match compact(&self.bucket, &self.fetcher.cache, GapChoice::Refuse).await {
            Ok(done) => {
                receipt.manifest = done.manifest.map(|hash| hash.to_string());
                receipt.lost = done.lost.map(|error| error.chain());
                // Its segments are merged, and it creates no more. If it stays, gc removes it.
                let _ = self.bucket.remove_segments(&[], &[recorder]).await;
            }
            Err(error) => receipt.unmerged = Some(error.chain()),
        }
        receipt
    }
}

/// Fetches the recording that answers calls. Returns `None` if the store has no recording yet, or if
/// the mode sends every call to its upstream.
async fn fetch_answers(
    args: &RecordArgs,
    name: &RemoteName,
    bucket: &RecordingBucket,
    fetcher: &StateFetcher,
) -> Result<Option<RecordingLocation>, CommandFailure> {
    if args.mode == RecordMode::All {
        return Ok(None);
    }
    match fetcher.fetch_newest(bucket).await {
        Ok(state) => {
            Ok(Some(names::state_location(args.recording.display().to_string(), name, state)))
        }
        Err(RemoteError::NotFound { .. }) if args.mode != RecordMode::None => Ok(None),
        Err(error) => Err(read_failure(error)),
    }
}

/// Creates the folder of the recorder, shows it in the store, and uploads what ended recorders left
/// on this machine.
async fn begin_spool(
    args: &RecordArgs,
    bucket: &RecordingBucket,
    clock: &ArrivalClock,
    output: &Output,
) -> Result<UploadSpool, CommandFailure> {
    let state = folders::state_folder();
    let file = RecorderFile::new(args.run.clone(), format_timestamp(clock.next_arrival_time()));
    let spool = UploadSpool::create(&state, bucket.url(), file).map_err(write_failure)?;
    if let Err(error) = bucket.begin_recorder(&spool.recorder, &spool.file).await {
        // Nothing is in them yet.
        let _ = bucket.remove_segments(&[], std::slice::from_ref(&spool.recorder)).await;
        let _ = spool.remove_folder();
        return Err(write_failure(error));
    }
    match upload_leftovers(bucket, &state).await {
        Ok(0) => {}
        Ok(left) => output.disclose(&format!(
            "{}: segments uploaded that ended recorders left here: {left}",
            bucket.url()
        )),
        Err(error) => output.warning(&format!("failed to {}", error.chain())),
    }
    Ok(spool)
}

/// Says that calls get the time of the store, if this machine's clock is wrong. `ahead` is by how
/// many microseconds the store's clock is ahead.
fn tell_difference(ahead: i64, output: &Output) {
    let seconds = ahead.unsigned_abs().div_ceil(1_000_000);
    if seconds >= TOLD_DIFFERENCE {
        let side = if ahead > 0 { "behind" } else { "ahead of" };
        output.warning(&format!(
            "the clock of this machine is {seconds} s {side} that of the store: calls are recorded \
             with the time of the store"
        ));
    }
}

/// Returns the callback that reports the uploads to the user, and counts them.
fn on_event(output: &Output, bucket: &RecordingBucket, metrics: &Arc<Metrics>) -> OnUploadEvent {
    let (output, url) = (output.clone(), bucket.url().to_owned());
    let counts = Arc::clone(&metrics.remote);
    Arc::new(move |event| match event {
        UploadEvent::Interrupted(problem) => output.warning(&format!(
            "calls stay on this machine for now: failed to {problem}; loomrec tries again"
        )),
        UploadEvent::Waiting(patience) => output.info(&format!(
            "waiting up to {} s for the store of {url}; Ctrl-C stops now, and loses nothing",
            patience.as_secs()
        )),
        UploadEvent::Failed => counts.count_failed(),
        UploadEvent::Progress { sent, left } => {
            counts.add_sent(sent);
            counts.set_left(left);
        }
        UploadEvent::Resumed => output.info(&format!("{url}: uploads go on")),
        UploadEvent::Log(note) => output.warning(&store_note(&note)),
    })
}
