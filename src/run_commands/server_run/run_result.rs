//! The result of a run that has ended, and its receipt.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use crate::args::ServeArgs;
use crate::receipt::{self, Receipt, RunVerdict};
use crate::score::write_junit;
use loomrec_cli::exit::{CommandFailure, UNEXPECTED};
use loomrec_cli::output::Output;
use loomrec_cli::serve_setup::UpstreamSettings;
use loomrec_cli::wrapped_command::{CommandEnd, CommandEnvironment};
use loomrec_cli::{serve_setup, terminal};
use loomrec_engine::replay::ReplayEngine;
use loomrec_fault::recovery::RecoveryBudget;
use loomrec_proxy::guard::GuardReport;
use loomrec_proxy::server::session::SessionTable;
use loomrec_proxy::server::{Proxy, ServerThreads};

/// The result of a run that has ended.
pub struct RunResult {
    /// The state that the run used.
    pub proxy: Arc<Proxy>,
    /// The engine whose takes the run is judged by.
    pub replay: Option<Arc<ReplayEngine>>,
    /// The upstreams of requests.
    pub(super) upstreams: UpstreamSettings,
    /// The environment that was set for CMD.
    pub environment: CommandEnvironment,
    /// How CMD ended.
    pub cmd: Option<CommandEnd>,
    /// How soon the program had to recover from faults.
    pub budget: Option<RecoveryBudget>,
    /// The hosts that CMD connected to through the guard.
    pub hosts: GuardReport,
    /// The sessions, if each has a recording.
    pub sessions: Option<Arc<SessionTable>>,
    /// The threads that served it, with the connections that ignored the signal to stop: these
    /// end with the process.
    pub(super) _threads: Option<Arc<ServerThreads>>,
}

impl RunResult {
    /// Returns the exit code of CMD.
    pub fn cmd_exit(&self) -> Option<u8> {
        self.cmd.map(|cmd| cmd.code)
    }

    /// Returns the exit code of the run, which would be `own` without CMD.
    pub fn exit_code(&self, own: u8) -> u8 {
        self.cmd.map_or(own, |cmd| cmd.exit_code(own))
    }

    /// Returns a note about upstreams that got no call, if calls were sent upstream.
    pub fn unused_upstreams(&self) -> Option<String> {
        self.proxy.engine.goes_upstream().then(|| self.upstreams.unused_note()).flatten()
    }
}

/// Prints the receipt, and writes it to a file if that was requested.
///
/// # Errors
/// A receipt or report that cannot be written.
pub fn write_receipt(
    receipt: &Receipt,
    args: &ServeArgs,
    output: &Output,
) -> Result<(), CommandFailure> {
    match receipt.run_verdict() {
        RunVerdict::Ok if receipt.needs_disclosure() => output.disclose_report(&receipt.to_text()),
        RunVerdict::Ok => output.print_report(&receipt.to_text()),
        _ => output.failed_report(&receipt.to_text()),
    }
    if let (Some(judged), Some(path)) = (&receipt.recovery, &args.trouble.junit) {
        write_junit(judged, path)?;
    }
    let failed = |message: String| CommandFailure::new(UNEXPECTED, message);
    if let Some(path) = &args.summary {
        let appended = serve_setup::append_text(path, &receipt.to_markdown());
        appended.map_err(|failure| failed(failure.message))?;
    }
    let Some(path) = &args.receipt else { return Ok(()) };
    let text = terminal::printable_json(&format!("{:#}\n", receipt.to_json())).into_owned();
    let created = serve_setup::create_report(path, receipt::BEGINNING);
    let mut file = created.map_err(|failure| failed(failure.message))?;
    file.write_all(text.as_bytes())
        .map_err(|error| failed(format!("failed to write {}: {error}", path.display())))
}

/// Makes sure that the receipt can be written. Done now, not when the run is over: a receipt that
/// cannot be written is an error at once, and a run that dies leaves no receipt of an older run
/// behind. A pipe is left alone: its reader would take the closing for the end.
pub(super) fn begin_receipt(args: &ServeArgs) -> Result<(), CommandFailure> {
    let plain = |path: &&PathBuf| !path.exists() || path.is_file();
    match args.receipt.as_ref().filter(plain) {
        Some(path) => serve_setup::create_report(path, receipt::BEGINNING).map(drop),
        None => Ok(()),
    }
}

/// Removes the empty receipt of a run that could not be made. One that stays does no harm.
pub(super) fn remove_empty_receipt(args: &ServeArgs) {
    let is_empty = |path: &&PathBuf| {
        path.symlink_metadata().is_ok_and(|file| file.is_file() && file.len() == 0)
    };
    if let Some(path) = args.receipt.as_ref().filter(is_empty) {
        drop(std::fs::remove_file(path));
    }
}
