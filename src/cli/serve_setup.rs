//! Setup of a server from flags: what `record` and `replay` have in common.

mod destinations;
mod folder_tree;
mod identity;
mod known_clients;
mod listener_tls;
mod public_url;
mod repository;
mod run_values;
mod upstream;
mod upstream_address;
mod upstream_name;

use std::collections::BTreeMap;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use http::HeaderName;
use tokio::net::TcpListener;

use super::args::{IdentityArgs, ServeArgs};
use super::exit::{CommandFailure, RECORDING, UNUSABLE};
use super::output::Output;
use super::output_target;
use super::store_note::store_note;
use super::terminal;
use loomrec_engine::observe::STEP_HEADER;
use loomrec_engine::replay::{ReplayEngine, ReplaySource};
use loomrec_proxy::server::access::AccessPolicy;
use loomrec_proxy::server::{OnNotice, UserNotice};
use loomrec_recording::PendingKind;
use loomrec_recording::redact::{self, CallCredentials, Redactor};
use loomrec_store::{Recording, RecordingLocation};
use loomrec_telemetry::journal::{Journal, JournalFile};
use loomrec_telemetry::metric::RunInfo;

pub use folder_tree::ignoring_rule;
pub use identity::{read_rules, rule_of_results};
pub use known_clients::known_clients;
pub use listener_tls::{ListenerCertificate, listener_certificate, listener_tls};
pub use public_url::{PublicUrl, UrlScheme, local_note, local_origin, local_url};
pub use run_values::{RunValueTerms, read_local_time, run_values};
pub use upstream::{
    UpstreamSettings, add_recorded, add_recorded_addresses, add_recorded_hosts, read_upstreams,
    upstream_client, upstreams_at,
};
pub use upstream_address::{parse_url, read_addresses, without_secrets};
pub use upstream_name::{check_names, misspelled_name};

/// The default port.
pub const PORT: u16 = 4141;

/// Returns the user's environment, in a fixed order.
pub fn read_environment() -> BTreeMap<String, String> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// Returns the names of `--credential-param`, in lower case.
pub fn credential_params(args: &IdentityArgs) -> Vec<String> {
    args.credential_param.iter().map(|name| name.to_ascii_lowercase()).collect()
}

/// Reads `--redact`.
///
/// # Errors
/// A text that is not a regular expression.
pub fn create_redactor(patterns: &[String]) -> Result<Arc<Redactor>, CommandFailure> {
    Redactor::new(patterns)
        .map(Arc::new)
        .map_err(|error| CommandFailure::usage(format!("--redact: failed to {error}")))
}

/// Returns notes about redaction rules that matched but removed nothing.
pub fn ineffective_rules(redactor: &Redactor) -> Vec<String> {
    let note = |rule: &str| {
        format!(
            "--redact {rule} matched only names of members and numbers, which are never \
             replaced: it removed nothing"
        )
    };
    redactor.ineffective_rules().into_iter().map(note).collect()
}

/// Reads `--step-id-header`.
///
/// # Errors
/// A text that is not a header name; a header with another meaning: one that is stored, that
/// carries credentials, that belongs to the connection, or that is loomrec's own.
pub fn step_header(args: &ServeArgs) -> Result<Option<HeaderName>, CommandFailure> {
    let Some(text) = &args.step_id_header else { return Ok(None) };
    let wrong = |why: &str| {
        CommandFailure::usage(format!(
            "--step-id-header {text}: {why}; it takes the name of a header that holds nothing \
             but the step's id, such as x-step-id"
        ))
    };
    let name: HeaderName =
        text.trim().parse().map_err(|_| wrong("this cannot be the name of a header"))?;
    let known = name.as_str();
    if known == STEP_HEADER {
        return Ok(None);
    }
    if known.starts_with("x-loomrec-") {
        return Err(wrong("headers that begin with x-loomrec- are loomrec's own"));
    }
    if CallCredentials::may_be_in(known) {
        return Err(wrong("a header of this name is taken for a credential, and never kept"));
    }
    let connection = redact::HOP_BY_HOP.contains(&known)
        || matches!(known, "host" | "content-length" | "expect" | "accept-encoding");
    if redact::is_stored_header(known) || connection {
        return Err(wrong("this header has another meaning"));
    }
    Ok(Some(name))
}

/// Returns the address to listen on: the given one, otherwise the default port, or a free port if
/// there is a command.
///
/// # Errors
/// An address that other machines can reach, unless that is allowed.
pub fn listen_address(args: &ServeArgs) -> Result<SocketAddr, CommandFailure> {
    let port = if args.cmd.is_empty() { PORT } else { 0 };
    let address = args.listen.unwrap_or_else(|| (Ipv4Addr::LOCALHOST, port).into());
    if !address.ip().is_loopback() && !args.allow_remote {
        return Err(CommandFailure::usage(format!(
            "--listen {address} can be reached by other machines, which get recorded answers, and \
             with record can have calls sent and recorded; add --allow-remote if that is intended"
        )));
    }
    Ok(address)
}

/// Returns who may call: the hosts of the public URLs, and the origins of `--allow-origin`.
///
/// # Errors
/// A value that is not a valid origin.
pub fn access_policy(
    args: &ServeArgs,
    public_urls: &[PublicUrl],
) -> Result<AccessPolicy, CommandFailure> {
    let hosts = public_urls.iter().map(|url| url.host().to_owned()).collect();
    AccessPolicy::from_flags(hosts, &args.access.allow_origin)
        .map_err(|error| CommandFailure::usage(error.to_string()))
}

/// Binds the listener.
///
/// # Errors
/// A port that is in use, or that the system reserves.
pub async fn bind_listener(address: SocketAddr) -> Result<TcpListener, CommandFailure> {
    TcpListener::bind(address).await.map_err(|error| {
        let hint = match error.kind() {
            std::io::ErrorKind::AddrInUse => {
                "; another program listens there (another loomrec?): stop it, or choose with --listen 127.0.0.1:0"
            }
            _ => "; choose another address with --listen",
        };
        CommandFailure::new(UNUSABLE, format!("failed to listen on {address}: {error}{hint}"))
    })
}

/// Opens a recording for reading, and prints notes about files beside it.
///
/// # Errors
/// A recording that is missing, damaged or too new.
pub fn open(path: &RecordingLocation, output: &Output) -> Result<Recording, CommandFailure> {
    Ok(report_notes(Recording::open(path)?, output))
}

/// Opens a recording that is to be changed, and prints notes about what was merged into it first.
///
/// # Errors
/// The errors of [`open`]; a log that cannot be merged.
pub fn open_to_change(
    path: &RecordingLocation,
    output: &Output,
) -> Result<Recording, CommandFailure> {
    Ok(report_notes(Recording::open_merged(path)?, output))
}

fn report_notes(recording: Recording, output: &Output) -> Recording {
    for note in recording.opening_events() {
        output.warning(&store_note(note));
    }
    recording
}

/// Opens a recording to answer from. What a recorder that was killed left in its log is read as well,
/// and a note names it; a strict replay refuses it, because nobody has reviewed it.
///
/// # Errors
/// The errors of [`open`]; with `is_strict`, a log that has not been merged; a file of requests that
/// wait for answers.
pub fn source(
    path: &RecordingLocation,
    is_strict: bool,
    output: &Output,
) -> Result<ReplaySource, CommandFailure> {
    let label = path.display().to_string();
    let recording = match is_strict {
        true => Recording::open_reviewed(path)?,
        false => open(path, output)?,
    };
    if recording.meta().waits_for() == Some(PendingKind::Answers) {
        return Err(CommandFailure::usage(format!(
            "{label} holds requests without answers, which a replay missed: fetch them with \
             `loomrec rerecord FILE --pending`, then replay the recording FILE itself"
        )));
    }
    Ok(ReplaySource { label, recording })
}

/// Returns the error of requests that a replay has missed, where none were kept.
pub fn nothing_pending(file: &RecordingLocation) -> CommandFailure {
    let file = terminal::quote_word(&file.display().to_string());
    CommandFailure::usage(format!(
        "no requests that a replay has missed are kept for {file}: run \
         `loomrec replay --pending -r {file} -- CMD` first"
    ))
}

/// Opens a recording to be shown, and warns if it is a file of pending items.
///
/// # Errors
/// The errors of [`open`].
pub fn open_to_read(
    path: &RecordingLocation,
    output: &Output,
) -> Result<Recording, CommandFailure> {
    let recording = open(path, output)?;
    match recording.meta().waits_for() {
        Some(PendingKind::Answers) => output.warning(&format!(
            "{} holds requests that a replay missed, and no answers",
            path.display()
        )),
        Some(PendingKind::Review) => output
            .warning(&format!("{} holds new answers that wait for their review", path.display())),
        None => {}
    }
    Ok(recording)
}

/// Refuses to record into a file of pending items.
///
/// # Errors
/// The recording is such a file.
pub fn refuse_waiting(
    path: &RecordingLocation,
    recording: &Recording,
) -> Result<(), CommandFailure> {
    let Some(waiting) = recording.meta().waits_for() else { return Ok(()) };
    let holds = match waiting {
        PendingKind::Answers => "requests that a replay missed: see loomrec rerecord",
        PendingKind::Review => "new answers that wait for their review: see loomrec review",
    };
    Err(CommandFailure::usage(format!(
        "{} holds {holds}; record into another file",
        path.display()
    )))
}

/// How many unused takes are named if not all are.
const NAMED: usize = 10;

/// Returns the takes that no call used. With `all`, each of them is named.
pub fn unused_takes(replayer: &ReplayEngine, all: bool) -> UnusedTakes {
    let matcher = replayer.matcher();
    let most = if all { usize::MAX } else { NAMED };
    let named = matcher.unused_takes().take(most).map(|take| matcher.key_of(take)).collect();
    let (count, undelivered) = (matcher.unused_takes().count(), matcher.undelivered_count());
    UnusedTakes { count, named, undelivered }
}

/// Takes that no call used.
#[derive(Clone, Debug, Default)]
pub struct UnusedTakes {
    /// Their number.
    pub count: usize,
    /// The keys of all of them if there is a receipt, otherwise of some.
    pub named: Vec<String>,
    /// The number of takes of whose answers no client got anything, used or not. They are not among
    /// the unused ones.
    pub undelivered: usize,
}

/// Refuses a journal, receipt or report that would overwrite a recording or another of these files.
///
/// # Errors
/// Two flags that name the same file.
pub fn refuse_overwriting(
    args: &ServeArgs,
    recordings: &[RecordingLocation],
) -> Result<(), CommandFailure> {
    let written = [
        ("--journal", &args.journal),
        ("--receipt", &args.receipt),
        ("--summary", &args.summary),
        ("--junit", &args.trouble.junit),
    ];
    let written: Vec<(&str, &PathBuf)> =
        written.into_iter().filter_map(|(flag, path)| Some((flag, path.as_ref()?))).collect();
    for (index, (flag, path)) in written.iter().enumerate() {
        let earlier = written[..index].iter().map(|(flag, path)| (*flag, path.as_path()));
        let others = recordings.iter().map(|recording| ("--recording", recording.as_path()));
        for (other, taken) in others.chain(earlier) {
            if output_target::resolve_path(path) == output_target::resolve_path(taken) {
                return Err(CommandFailure::usage(format!(
                    "{flag} and {other} both name {}: give each a file of its own",
                    path.display()
                )));
            }
        }
    }
    Ok(())
}

/// Returns the facts about a run that accompany its metrics.
pub fn run_info(args: &ServeArgs, recordings: &[RecordingLocation]) -> RunInfo {
    let name = recordings.first().and_then(|recording| recording.as_path().file_stem());
    let workflow = name.map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    RunInfo { workflow, compat: args.metrics_compat }
}

/// Opens the journal.
///
/// # Errors
/// A file that cannot be written.
pub fn open_journal(args: &ServeArgs, notify: OnNotice) -> Result<Journal, CommandFailure> {
    let Some(path) = &args.journal else { return Ok(Journal::new(None)) };
    let file = JournalFile::create(path).map_err(|error| write_failure(path, &error))?;
    let name = path.display().to_string();
    let on_error = move |why: &str| notify(UserNotice::Warning(&format!("journal {name}: {why}")));
    Ok(Journal::new(Some((file, Box::new(on_error)))))
}

/// Creates a receipt or a report that only its owner may read. Overwrites one of an earlier run:
/// `beginning` is how such files begin.
///
/// # Errors
/// A file that cannot be written, or that has other content.
pub fn create_report(path: &Path, beginning: &[u8]) -> Result<std::fs::File, CommandFailure> {
    let opened = loomrec_store::open_output(path, 0o600).and_then(|file| {
        loomrec_store::accept_replacing(&file, path, &[beginning])?;
        // A pipe or a device has no length.
        if file.metadata()?.is_file() {
            file.set_len(0)?;
        }
        Ok(file)
    });
    opened.map_err(|error| write_failure(path, &error))
}

/// Appends to a file, which is created if it does not exist.
///
/// # Errors
/// A file that cannot be written.
pub fn append_text(path: &Path, text: &str) -> Result<(), CommandFailure> {
    let appended = loomrec_store::open_output(path, 0o600).and_then(|mut file| {
        // A pipe or a device has no end.
        if file.metadata()?.is_file() {
            file.seek(SeekFrom::End(0))?;
        }
        file.write_all(text.as_bytes())
    });
    appended.map_err(|error| write_failure(path, &error))
}

fn write_failure(path: &Path, error: &std::io::Error) -> CommandFailure {
    if error.get_ref().is_some_and(|inner| inner.is::<loomrec_store::UnsafeFileError>()) {
        let text = format!("failed to write {error}: delete it, or name another file");
        return CommandFailure::new(RECORDING, text);
    }
    if error.kind() == std::io::ErrorKind::AlreadyExists {
        return CommandFailure::usage(format!("failed to write {}: {error}", path.display()));
    }
    let hint = "check its folder and permissions";
    CommandFailure::usage(format!("failed to write {}: {error}; {hint}", path.display()))
}
