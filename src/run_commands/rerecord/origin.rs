//! The files of a run: the recording, the requests that a replay missed, and the new answers.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::collect::RequestSources;
use crate::args::RerecordArgs;
use loomrec_cli::exit::{CommandFailure, RECORDING};
use loomrec_cli::output::Output;
use loomrec_cli::{output_target, serve_setup};
use loomrec_recording::PendingKind;
use loomrec_store::{Recording, RecordingLocation};

/// The most bytes that are read of a receipt.
const RECEIPT: u64 = 64 << 20;

/// The files of a run.
#[derive(Debug, PartialEq)]
pub(super) struct OriginFiles {
    /// The recording.
    pub(super) file: RecordingLocation,
    /// The requests that a replay missed.
    pending: Option<RecordingLocation>,
    /// The file for new answers.
    pub(super) new: RecordingLocation,
}

impl OriginFiles {
    /// Returns the files that the flags name, or `None` if nothing drifted according to the
    /// receipt.
    ///
    /// # Errors
    /// A receipt that cannot be used; no recording; one file in two roles.
    pub(super) fn from_args(args: &RerecordArgs) -> Result<Option<Self>, CommandFailure> {
        let pending = match (&args.pending, &args.drifted) {
            (Some(Some(pending)), _) => Some(pending.clone()),
            (Some(None), _) => args.file.as_ref().map(kept_requests).transpose()?,
            (None, Some(receipt)) => match drifted_file(receipt)? {
                Some(pending) => Some(pending),
                None => return Ok(None),
            },
            (None, None) => None,
        };
        let owner = || pending.as_ref()?.recording_of(".pending");
        let Some(file) = args.file.clone().or_else(owner) else {
            return Err(CommandFailure::usage(match &args.pending {
                Some(_) => "name the recording as well: loomrec rerecord FILE --pending",
                None => {
                    "name the recording: loomrec rerecord FILE (or set `recording` in loomrec.toml)"
                }
            }));
        };
        let new = args.output.clone().unwrap_or_else(|| file.with_suffix(".new"));
        let taken = [Some(&file), pending.as_ref()].into_iter().flatten();
        for other in taken {
            if output_target::resolve_path(other.as_path())
                == output_target::resolve_path(new.as_path())
            {
                return Err(CommandFailure::usage(format!(
                    "-o {}: the new answers go into a file of their own",
                    new.display()
                )));
            }
        }
        output_target::refuse_folder("-o", &new, "new answers wait in one file")?;
        Ok(Some(Self { file, pending, new }))
    }

    /// Returns the files of a recording whose missed requests are in the file beside it.
    pub(super) fn kept_beside(file: RecordingLocation) -> Self {
        let (pending, new) = (Some(file.pending_file()), file.with_suffix(".new"));
        Self { file, pending, new }
    }

    /// Opens the recording and the pending file.
    ///
    /// # Errors
    /// A file that cannot be read, or that does not fit its role.
    pub(super) fn open(&self, output: &Output) -> Result<RequestSources, CommandFailure> {
        let file = serve_setup::open(&self.file, output)?;
        let path = self.file.display();
        match file.meta().waits_for() {
            None => {}
            Some(PendingKind::Answers) => {
                return Err(CommandFailure::usage(format!(
                    "{path} holds requests that a replay missed: name the recording itself, and this \
                     file with --pending {path}"
                )));
            }
            Some(PendingKind::Review) => {
                return Err(CommandFailure::usage(format!(
                    "{path} holds new answers that wait for their review: name the recording itself"
                )));
            }
        }
        let pending =
            self.pending.as_ref().map(|path| Self::open_pending(path, output)).transpose()?;
        Ok(RequestSources { file, pending })
    }

    fn open_pending(
        path: &RecordingLocation,
        output: &Output,
    ) -> Result<Recording, CommandFailure> {
        let pending = serve_setup::open(path, output)?;
        if pending.meta().waits_for() != Some(PendingKind::Answers) {
            return Err(CommandFailure::usage(format!(
                "--pending {path}: it was not written by loomrec replay --pending (if it is the \
                 recording, write: loomrec rerecord {path} --pending)",
                path = path.display()
            )));
        }
        Ok(pending)
    }
}

/// Returns the requests that a replay of a recording has missed and kept.
fn kept_requests(file: &RecordingLocation) -> Result<RecordingLocation, CommandFailure> {
    let pending = file.pending_file();
    let mut paths = pending.log_files().into_iter().chain([pending.as_path().to_owned()]);
    match paths.any(|path| path.symlink_metadata().is_ok()) {
        true => Ok(pending),
        false => Err(serve_setup::nothing_pending(file)),
    }
}

/// Returns the pending file that a receipt names, or `None` if nothing drifted.
fn drifted_file(path: &Path) -> Result<Option<RecordingLocation>, CommandFailure> {
    let wrong = |why: String| {
        CommandFailure::new(
            RECORDING,
            format!("failed to read the receipt {}: {why}", path.display()),
        )
    };
    let text = loomrec_os::read_input(path, RECEIPT).map_err(|error| wrong(error.to_string()))?;
    let receipt: Value = serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))?;
    if receipt.get("command").and_then(Value::as_str) != Some("replay") {
        let why = "it is not a receipt of loomrec replay (--receipt)";
        return Err(wrong(why.to_owned()));
    }
    match receipt.get("drifted").and_then(Value::as_u64) {
        None => return Err(wrong("it does not say how many calls drifted".to_owned())),
        Some(0) => return Ok(None),
        Some(_) => {}
    }
    // A receipt contains no requests. Those are in the file that it names.
    let pending = receipt.pointer("/pending/path").and_then(Value::as_str);
    let pending = pending.filter(|pending| !pending.is_empty()).ok_or_else(|| {
        CommandFailure::usage(format!(
            "{}: the requests that drifted were not kept; replay with --pending, then run \
             `loomrec rerecord FILE --pending`",
            path.display()
        ))
    })?;
    Ok(Some(PathBuf::from(pending).into()))
}
