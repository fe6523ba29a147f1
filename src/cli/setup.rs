//! From flags to a server: what `record` and `replay` have in common.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use http::HeaderName;
use tokio::net::TcpListener;
use url::Url;

use super::args::ServeArgs;
use super::exit::{Failure, UNEXPECTED, UNUSABLE};
use super::output::Output;
use super::wrap;
use crate::identity::Pointer;
use crate::provider::Provider;
use crate::provider::directory::UPSTREAMS;
use crate::recording::Waiting;
use crate::recording::redact::{self, Redactor, Secrets};
use crate::replay::{Replayer, Source};
use crate::server::journal::Journal;
use crate::server::observe::STEP_HEADER;
use crate::server::route::{Routes, UNNAMED, Upstream};
use crate::store::Recording;

/// The port of a server that was not told another.
pub const PORT: u16 = 4141;

/// Upstreams as the flags and the environment give them.
#[derive(Debug)]
pub struct Upstreams {
    /// Where requests go.
    pub routes: Routes,
    /// The names whose address the user gave.
    pub given: Vec<String>,
}

/// The user's environment, in a fixed order.
pub fn environment() -> BTreeMap<String, String> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// Reads `--upstream`, and for a wrapped command the addresses that the
/// environment already gave.
///
/// # Errors
/// An address that is none, or two single ones.
pub fn upstreams(
    args: &ServeArgs,
    current: &BTreeMap<String, String>,
) -> Result<Upstreams, Failure> {
    let custom = match args.cmd.is_empty() {
        true => Vec::new(),
        false => wrap::custom_upstreams(current, &args.no_env),
    };
    upstreams_at(&args.upstream, custom)
}

/// The upstreams, at the addresses of `--upstream`, else of the environment.
///
/// # Errors
/// An address that is none, or two single ones.
pub fn upstreams_at(
    addresses: &[String],
    custom: Vec<(&'static str, Url)>,
) -> Result<Upstreams, Failure> {
    let mut named: Vec<Upstream> = UPSTREAMS
        .iter()
        .map(|known| Upstream {
            name: known.name.to_owned(),
            base: known.base.and_then(|base| Url::parse(base).ok()),
            provider: known.provider,
        })
        .collect();
    let mut given = Vec::new();
    let mut set = |name: &str, base: Url| {
        given.push(name.to_owned());
        match named.iter_mut().find(|upstream| upstream.name == name) {
            Some(upstream) => upstream.base = Some(base),
            None => named.push(Upstream {
                name: name.to_owned(),
                base: Some(base),
                provider: Provider::Unknown,
            }),
        }
    };
    for (name, base) in custom {
        set(name, base);
    }
    let mut single = None;
    for text in addresses.iter().filter(|text| !text.is_empty()) {
        match text.split_once('=').filter(|(name, _)| is_name(name)) {
            Some((name, address)) => set(name, parse_address(text, address)?),
            None if single.is_none() => single = Some(parse_address(text, text)?),
            None => {
                return Err(Failure::usage(format!(
                    "--upstream {text}: there can be only one upstream without a name; \
                     give each a name: --upstream NAME={text}",
                    text = without_secrets(text)
                )));
            }
        }
    }
    Ok(Upstreams { routes: Routes { named, single, unnamed: false }, given })
}

/// Whether a text can be the first segment of a path.
fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with("__")
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

/// An address as it was given, or a text that holds one, without what may be secret in
/// it: the user and password before its host, and its query.
pub fn without_secrets(text: &str) -> String {
    let (scheme, rest) = match text.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), text),
    };
    let (rest, query) = match rest.split_once('?') {
        Some((rest, _)) => (rest, "?…"),
        None => (rest, ""),
    };
    // A password may hold a slash, which ends the host for those who read it properly.
    let host = rest.rsplit_once('@').map_or(rest.to_owned(), |(_, host)| format!("…@{host}"));
    format!("{scheme}{host}{query}")
}

/// Reads `--upstream` alone: names, none for everything else, and addresses.
///
/// # Errors
/// An address that is none.
pub fn addresses(flags: &[String]) -> Result<Vec<(Option<String>, Url)>, Failure> {
    let read = |text: &String| match text.split_once('=').filter(|(name, _)| is_name(name)) {
        Some((name, address)) => Ok((Some(name.to_owned()), parse_address(text, address)?)),
        None => Ok((None, parse_address(text, text)?)),
    };
    flags.iter().filter(|text| !text.is_empty()).map(read).collect()
}

/// An upstream's address.
fn parse_address(flag: &str, address: &str) -> Result<Url, Failure> {
    let wrong = |why: &str| {
        Failure::usage(format!(
            "--upstream {}: {why}; it takes NAME=URL or URL, \
             such as openai=http://127.0.0.1:9999",
            without_secrets(flag)
        ))
    };
    let url = Url::parse(address).map_err(|error| wrong(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(wrong("the address is neither http:// nor https://"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(wrong("the address may not have a query or a fragment"));
    }
    Ok(url)
}

/// Reads `--ignore`.
///
/// # Errors
/// A text that is no JSON pointer.
pub fn pointers(flags: &[String]) -> Result<Vec<Pointer>, Failure> {
    let parse = |text: &String| {
        Pointer::parse(text).map_err(|error| Failure::usage(format!("--ignore {text}: {error}")))
    };
    flags.iter().filter(|text| !text.is_empty()).map(parse).collect()
}

/// Reads `--redact`.
///
/// # Errors
/// A text that is no regular expression.
pub fn redactor(patterns: &[String]) -> Result<Arc<Redactor>, Failure> {
    Redactor::new(patterns)
        .map(Arc::new)
        .map_err(|error| Failure::usage(format!("--redact: failed to {error}")))
}

/// Reads `--step-id-header`.
///
/// # Errors
/// A text that is no header's name; a header that says something else: what is kept of
/// a request, its credentials, what belongs to the connection, or is loomrec's own.
pub fn step_header(args: &ServeArgs) -> Result<Option<HeaderName>, Failure> {
    let Some(text) = &args.step_id_header else { return Ok(None) };
    let wrong = |why: &str| {
        Failure::usage(format!(
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
    if Secrets::may_be_in(known) {
        return Err(wrong("a header of this name is taken for a credential, and never kept"));
    }
    let connection = redact::HOP_BY_HOP.contains(&known)
        || matches!(known, "host" | "content-length" | "expect" | "accept-encoding");
    if redact::stores(known) || connection {
        return Err(wrong("this header says something else"));
    }
    Ok(Some(name))
}

/// Where to listen: as told, else the usual port, or a free one for a command.
///
/// # Errors
/// An address other machines can reach, unless that was asked for.
pub fn address(args: &ServeArgs) -> Result<SocketAddr, Failure> {
    let port = if args.cmd.is_empty() { PORT } else { 0 };
    let address = args.listen.unwrap_or_else(|| (Ipv4Addr::LOCALHOST, port).into());
    if !address.ip().is_loopback() && !args.allow_remote {
        return Err(Failure::usage(format!(
            "--listen {address} can be reached by other machines, which could then use your keys; \
             add --allow-remote if that is meant"
        )));
    }
    Ok(address)
}

/// Binds the listener.
///
/// # Errors
/// A port in use, or one the system keeps for itself.
pub async fn listener(address: SocketAddr) -> Result<TcpListener, Failure> {
    TcpListener::bind(address).await.map_err(|error| {
        let hint = match error.kind() {
            std::io::ErrorKind::AddrInUse => {
                "; another program listens there (another loomrec?): stop it, or choose with --listen 127.0.0.1:0"
            }
            _ => "; choose another address with --listen",
        };
        Failure::new(UNUSABLE, format!("failed to listen on {address}: {error}{hint}"))
    })
}

/// Where a client on this machine finds the listener.
///
/// # Errors
/// A system that does not tell.
pub fn origin(listener: &TcpListener) -> Result<String, Failure> {
    let address = listener.local_addr().map_err(|error| {
        Failure::new(UNEXPECTED, format!("failed to read the listener's address: {error}"))
    })?;
    if address.ip().is_unspecified() {
        return Ok(format!("http://127.0.0.1:{}", address.port()));
    }
    Ok(format!("http://{address}"))
}

/// Opens one recording, and tells what was done to it on the way.
///
/// # Errors
/// A recording that is missing, damaged or too new.
pub fn open(path: &Path, output: &Output) -> Result<Recording, Failure> {
    let recording = Recording::open(path)?;
    for note in recording.notes() {
        output.warning(&note.to_string());
    }
    Ok(recording)
}

/// Opens one recording to answer from.
///
/// # Errors
/// As [`open`]; a file of requests that wait for answers.
pub fn source(path: &Path, output: &Output) -> Result<Source, Failure> {
    let label = path.to_string_lossy().into_owned();
    let recording = open(path, output)?;
    if recording.meta().waits_for() == Some(Waiting::Answers) {
        return Err(Failure::usage(format!(
            "{label} holds requests without answers, which a replay missed: fetch them with \
             `loomrec rerecord --pending {label}`, then replay the recording itself"
        )));
    }
    Ok(Source { label, recording })
}

/// Opens one recording to be looked at, and says what it is where that is something else.
///
/// # Errors
/// As [`open`].
pub fn look(path: &Path, output: &Output) -> Result<Recording, Failure> {
    let recording = open(path, output)?;
    match recording.meta().waits_for() {
        Some(Waiting::Answers) => output.warning(&format!(
            "{} holds requests that a replay missed, and no answers",
            path.display()
        )),
        Some(Waiting::Review) => output
            .warning(&format!("{} holds new answers that wait for their review", path.display())),
        None => {}
    }
    Ok(recording)
}

/// Refuses to record into a file whose entries wait for something.
///
/// # Errors
/// Such a file.
pub fn refuse_waiting(path: &Path, recording: &Recording) -> Result<(), Failure> {
    let Some(waiting) = recording.meta().waits_for() else { return Ok(()) };
    let holds = match waiting {
        Waiting::Answers => "requests that a replay missed: see loomrec rerecord",
        Waiting::Review => "new answers that wait for their review: see loomrec review",
    };
    Err(Failure::usage(format!("{} holds {holds}; record into another file", path.display())))
}

/// The takes that no call asked for.
pub fn unused(replayer: &Replayer) -> Vec<String> {
    replayer.matcher().unused().map(|take| take.name.take_key(take.number)).collect()
}

/// Makes the upstreams that recordings name known, so that their calls are placed
/// without being told of them again.
pub fn add_recorded(upstreams: &mut Upstreams, recorded: &BTreeSet<String>) {
    for name in recorded.iter().filter(|name| *name != UNNAMED) {
        if !upstreams.routes.named.iter().any(|upstream| upstream.name == *name) {
            let provider = Provider::Unknown;
            upstreams.routes.named.push(Upstream { name: name.clone(), base: None, provider });
        }
        upstreams.given.push(name.clone());
    }
    upstreams.routes.unnamed = recorded.contains(UNNAMED);
}

/// Refuses a journal or a receipt that would take the place of a recording, or of
/// each other.
///
/// # Errors
/// Two flags that name one file.
pub fn refuse_overwriting(args: &ServeArgs, recordings: &[PathBuf]) -> Result<(), Failure> {
    let place = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let written = [
        ("--journal", &args.journal),
        ("--receipt", &args.receipt),
        ("--junit", &args.trouble.junit),
    ];
    let written: Vec<(&str, &PathBuf)> =
        written.into_iter().filter_map(|(flag, path)| Some((flag, path.as_ref()?))).collect();
    for (index, (flag, path)) in written.iter().enumerate() {
        let others = recordings.iter().map(|recording| ("--recording", recording));
        for (other, taken) in others.chain(written[..index].iter().copied()) {
            if place(path) == place(taken) {
                return Err(Failure::usage(format!(
                    "{flag} and {other} both name {}: give each a file of its own",
                    path.display()
                )));
            }
        }
        let within = |recording: &&PathBuf| {
            path.extension().is_some_and(|end| end == "json")
                && path.parent().is_some_and(|folder| place(folder) == place(recording))
        };
        if let Some(recording) = recordings.iter().find(within) {
            return Err(Failure::usage(format!(
                "{flag} {}: it would stand among the entries of {}: name a file elsewhere",
                path.display(),
                recording.display()
            )));
        }
    }
    Ok(())
}

/// Opens the journal.
///
/// # Errors
/// A file that cannot be written.
pub fn journal(args: &ServeArgs) -> Result<Journal, Failure> {
    let file = args.journal.as_deref().map(create).transpose()?;
    Ok(Journal::new(file))
}

/// Creates a file that only its owner may read.
///
/// # Errors
/// A file that cannot be written.
pub fn create(path: &Path) -> Result<std::fs::File, Failure> {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600).open(path).map_err(|error| {
        Failure::usage(format!(
            "failed to write {}: {error}; check its folder and permissions",
            path.display()
        ))
    })
}
