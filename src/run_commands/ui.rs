//! The `loomrec ui` command: shows a recording or a journal in a browser.

use std::io::IsTerminal as _;
use std::net::Ipv4Addr;
use std::process::Stdio;

use tokio::net::TcpListener;
use tokio::process::Command;

use super::args::{LogFormat, UiArgs};
use super::stop_signals::StopSignals;
use loomrec_cli::exit::{CommandFailure, RECORDING, UNEXPECTED, UNUSABLE};
use loomrec_cli::journal_lines::is_journal;
use loomrec_cli::output::Output;
use loomrec_cli::serve_setup;
use loomrec_os::PAGE_OPENERS;
use loomrec_proxy::inspector::file::{JournalIndex, ShownFile};
use loomrec_proxy::server::file_inspector;

/// Runs the command.
///
/// # Errors
/// A file that is missing, damaged or neither a recording nor a journal (4); a port that is not
/// available (6).
pub async fn run(args: &UiArgs) -> Result<u8, CommandFailure> {
    let output = Output::new(LogFormat::Human, false, false);
    let shown = open(args, &output)?;
    let address = args.listen.unwrap_or((Ipv4Addr::LOCALHOST, 0).into());
    let listener = TcpListener::bind(address).await.map_err(|error| {
        let hint = "; choose another port with --listen, or leave it to the system";
        CommandFailure::new(UNUSABLE, format!("failed to listen on {address}: {error}{hint}"))
    })?;
    let origin = serve_setup::local_origin(&listener, serve_setup::UrlScheme::Http)?;
    let unexpected =
        |error| CommandFailure::new(UNEXPECTED, format!("failed to watch signals: {error}"));
    let mut stop = StopSignals::watch().map_err(unexpected)?;
    let page = format!("{origin}/__loomrec/");
    output.info(&format!("loomrec ui: {page}"));
    if std::io::stderr().is_terminal() {
        open_browser(&page);
    }
    tokio::select! {
        () = file_inspector::serve_connections(listener, shown) => {}
        _ = stop.next_signal() => {}
    }
    Ok(0)
}

/// Opens the file to show.
fn open(args: &UiArgs, output: &Output) -> Result<ShownFile, CommandFailure> {
    let file = &args.file;
    if !is_journal(file.as_path()) {
        if args.recording.is_some() {
            let text = format!(
                "{} is not a journal: -r names the recording that a journal's calls are in",
                file.display()
            );
            return Err(CommandFailure::usage(text));
        }
        return Ok(ShownFile::from_recording(
            file.display().to_string().into(),
            serve_setup::open_to_read(file, output)?,
        )?);
    }
    let recording = match &args.recording {
        Some(path) => {
            Some((path.display().to_string().into(), serve_setup::open_to_read(path, output)?))
        }
        None => None,
    };
    let journal = JournalIndex::open(file.as_path()).map_err(|error| {
        CommandFailure::new(RECORDING, format!("failed to read {}: {error}", file.display()))
    })?;
    Ok(ShownFile::from_journal(journal, recording)?)
}

/// Opens the page in the user's browser if possible. Its address is printed anyway.
fn open_browser(page: &str) {
    for opener in PAGE_OPENERS {
        let Some((program, before)) = opener.split_first() else { continue };
        let mut command = Command::new(program);
        command.args(before).arg(page);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if command.spawn().is_ok() {
            return;
        }
    }
}
