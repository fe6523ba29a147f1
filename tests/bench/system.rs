//! The systems: their names, how they are started, and what to expect of their answers.

use std::ffi::OsString;
use std::path::Path;

use crate::child::Launch;
use crate::fault::Fault;
use crate::peer::{Peer, Setting, Task};
use crate::sample::Kind;
use crate::tls;
use crate::transport::{TUNNEL_HOST, Transport};
use crate::watch::Watch;

/// A system that answers calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    /// The bare server.
    Hyper,
    /// The bare server that copies its frames together into one write.
    Flat,
    /// The bare server that sends a stream's bytes as one body.
    OneBody,
    /// The bare server with a JSON parse, a SHA-256 and a map.
    Keyed,
    /// The bare pass-through in front of the bare server.
    PassThrough,
    /// The bare pass-through that appends the exchanges to a file.
    Tee,
    /// A peer with one of the two tasks.
    Peer(Peer, Task),
    /// `loomrec replay`.
    Replay,
    /// `loomrec record` in front of the bare server.
    Record,
    /// One of these two in a run that has another value than the recorded one: in replay, a value
    /// of the run is bound in each call.
    Elsewhere(Task),
    /// One of these two under observation.
    Watched(Watch, Task),
    /// One of these two, reached in another way than plainly.
    Over(Transport, Task),
    /// A peer with one of the two tasks, as the proxy of the connections.
    ProxyPeer(Peer, Task),
    /// One of these two as an earlier commit built it (`scripts/bench --before COMMIT`).
    Earlier(Task),
}

impl System {
    /// Returns its name in the table.
    pub fn name(self) -> &'static str {
        use Peer::{Aimock, Llmposter, Mitmdump, Nginx, Wiremock};
        match self {
            Self::Hyper => "bare hyper",
            Self::Flat => "bare hyper, `writev(false)`",
            Self::OneBody => "bare hyper, one body",
            Self::Keyed => "bare hyper + JSON, SHA-256, map",
            Self::PassThrough => "hyper + reqwest pass-through",
            Self::Tee => "that pass-through + a file",
            Self::Peer(Nginx, Task::Replay) => "nginx, static file",
            Self::Peer(Nginx, Task::Record) => "nginx, proxy_pass",
            Self::Peer(Mitmdump, Task::Replay) => "mitmdump, server replay",
            Self::Peer(Mitmdump, Task::Record) => "mitmdump, reverse, `-w`",
            Self::Peer(Aimock, Task::Replay) => "aimock, fixtures",
            Self::Peer(Aimock, Task::Record) => "aimock, record",
            Self::Peer(Llmposter, Task::Replay) => "llmposter, vcr replay",
            Self::Peer(Llmposter, Task::Record) => "llmposter, vcr record",
            Self::Peer(Wiremock, Task::Replay) => "WireMock, stubs",
            Self::Peer(Wiremock, Task::Record) => "WireMock, proxy and record",
            Self::Replay => "loomrec replay",
            Self::Record => "loomrec record",
            Self::Elsewhere(Task::Replay) => "loomrec replay, bound",
            Self::Elsewhere(Task::Record) => "loomrec record, a value",
            Self::Over(Transport::Plain | Transport::Tls, Task::Replay) => "loomrec replay, TLS",
            Self::Over(Transport::Http2, Task::Replay) => "loomrec replay, HTTP/2",
            Self::Over(Transport::Tunnel, Task::Replay) => "loomrec replay, intercepted",
            Self::Over(_, Task::Record) => "loomrec record, intercepted",
            Self::ProxyPeer(_, Task::Replay) => "mitmdump, intercepted replay",
            Self::ProxyPeer(_, Task::Record) => "mitmdump, intercepted, `-w`",
            Self::Earlier(Task::Replay) => "earlier loomrec replay",
            Self::Earlier(Task::Record) => "earlier loomrec record",
            Self::Watched(Watch::Journal, _) => "with a journal",
            Self::Watched(Watch::Scraper, _) => "scraped each second",
            Self::Watched(Watch::Both, _) => "journal and scraper",
            Self::Watched(Watch::Follower, _) => "journal followed",
            Self::Watched(Watch::Traced, _) => "with traces",
            Self::Watched(Watch::All, _) => "journal, scraper and traces",
        }
    }

    /// Whether it is loomrec.
    pub fn is_ours(self) -> bool {
        matches!(
            self,
            Self::Replay
                | Self::Record
                | Self::Elsewhere(_)
                | Self::Over(..)
                | Self::Watched(..)
                | Self::Earlier(_)
        )
    }

    /// Whether it is a loomrec that records.
    pub fn records(self) -> bool {
        matches!(
            self,
            Self::Record
                | Self::Elsewhere(Task::Record)
                | Self::Over(_, Task::Record)
                | Self::Watched(_, Task::Record)
                | Self::Earlier(Task::Record)
        )
    }

    /// Returns how connections reach it.
    pub fn transport(self) -> Transport {
        match self {
            Self::Over(transport, _) => transport,
            Self::ProxyPeer(..) => Transport::Tunnel,
            _ => Transport::Plain,
        }
    }

    /// Returns how it is observed, if it is.
    pub fn watch(self) -> Option<Watch> {
        match self {
            Self::Watched(watch, _) => Some(watch),
            _ => None,
        }
    }

    /// Returns the kind of call and answer that it gets and gives in a workload of `kind`.
    pub fn kind(self, kind: Kind) -> Kind {
        match self {
            Self::OneBody => Kind::Whole,
            Self::Elsewhere(Task::Replay) => Kind::Elsewhere,
            _ => kind,
        }
    }

    /// Whether its answers have exactly the upstream's bytes. The two exceptions keep only the
    /// words of an answer, and generate the rest.
    pub fn is_exact(self) -> bool {
        !matches!(self, Self::Peer(Peer::Aimock | Peer::Llmposter, Task::Replay))
    }

    /// Returns the system that makes the recording which this one replays, if it replays one.
    pub fn recorder(self) -> Option<Self> {
        match self {
            Self::Replay | Self::Over(_, Task::Replay) | Self::Watched(_, Task::Replay) => {
                Some(Self::Record)
            }
            Self::Elsewhere(Task::Replay) => Some(Self::Elsewhere(Task::Record)),
            Self::Earlier(Task::Replay) => Some(Self::Earlier(Task::Record)),
            Self::Peer(Peer::Nginx, _) => None,
            Self::Peer(peer, Task::Replay) | Self::ProxyPeer(peer, Task::Replay) => {
                Some(Self::Peer(peer, Task::Record))
            }
            _ => None,
        }
    }

    /// Returns the command that starts it.
    ///
    /// # Errors
    /// A system that is not available.
    pub fn launch(self, at: &Setting) -> Result<Launch, Fault> {
        let mut launch = self.launch_plain(at)?;
        let trust = at.authority.map(|file| (tls::TRUST, file.display().to_string()));
        launch.settings.extend(trust);
        Ok(launch)
    }

    fn launch_plain(self, at: &Setting) -> Result<Launch, Fault> {
        let name = self.name();
        let word = self.kind(at.kind).word();
        let origin = at.url();
        let recording = recording(at.folder);
        match self {
            Self::Hyper | Self::OneBody => Launch::own(name, ["bare", word]),
            Self::Flat => Launch::own(name, ["flat", word]),
            Self::Keyed => Launch::own(name, ["keyed", word]),
            Self::PassThrough => Launch::own(name, ["pass", &origin]),
            Self::Tee => {
                let words: [OsString; 3] =
                    ["tee".into(), origin.into(), at.folder.join("tee").into()];
                Launch::own(name, words)
            }
            Self::Peer(peer, task) => peer.launch(name, task, at),
            Self::ProxyPeer(peer, task) => proxy_peer(peer, task, at, name),
            Self::Over(_, task) => Ok(intercepting(task, at, name)),
            Self::Replay => Ok(Launch::loomrec(name, replay_words(&recording, "127.0.0.1:0"))),
            Self::Record => Ok(Launch::loomrec(name, record_words(recording, &origin))),
            Self::Watched(watch, task) => {
                let words = match task {
                    Task::Replay => replay_words(&recording, "127.0.0.1:0"),
                    Task::Record => record_words(recording, &origin),
                };
                let more = watch.words(at.folder);
                Ok(Launch::loomrec(name, words.into_iter().chain(more)))
            }
            Self::Elsewhere(task) => {
                let (mut words, value) = match task {
                    Task::Replay => (replay_words(&recording, "127.0.0.1:0"), Kind::Elsewhere),
                    Task::Record => (record_words(recording, &origin), Kind::Call),
                };
                if task == Task::Record {
                    words.extend(["--normalize", FORM_RULE].map(OsString::from));
                }
                let value = format!("form={}", value.form());
                Ok(Launch::loomrec(name, words.into_iter().chain(["--var".into(), value.into()])))
            }
            Self::Earlier(task) => {
                let words = match task {
                    Task::Replay => replay_words(&recording, "127.0.0.1:0"),
                    Task::Record => record_words(recording, &origin),
                };
                Launch::earlier(name, words)
            }
        }
    }
}

/// Returns the command that starts a loomrec that intercepts.
fn intercepting(task: Task, at: &Setting, name: &'static str) -> Launch {
    let recording = recording(at.folder);
    let mut words = match task {
        Task::Replay => replay_words(&recording, "127.0.0.1:0"),
        Task::Record => record_words(recording, &format!("openai={}", at.url())),
    };
    words.push("--intercept".into());
    let mut launch = Launch::loomrec(name, words);
    // The certificates of its authority are written below it.
    launch.settings.push(("HOME", at.folder.display().to_string()));
    launch
}

/// Returns the command that starts a peer as the proxy of the connections.
fn proxy_peer(peer: Peer, task: Task, at: &Setting, name: &'static str) -> Result<Launch, Fault> {
    let launch = peer.launch(name, task, at)?;
    let script = at.folder.join("plain.py");
    std::fs::write(&script, PLAIN_SCRIPT)
        .map_err(|source| Fault::Io { what: "set a peer up", source })?;
    let mut words = proxy_words(launch.words, &at.url());
    if task == Task::Replay {
        words.extend(["-s".into(), script.into()]);
    }
    Ok(Launch { words, ..launch })
}

/// Has mitmdump compare the requests of a tunnel with those that it recorded as a server, over http.
const PLAIN_SCRIPT: &str = "def requestheaders(flow):\n    flow.request.scheme = 'http'\n";

/// Returns the arguments with which mitmdump is the proxy of the connections, in the place of a server.
/// What the tunnels' host would get goes to the upstream.
fn proxy_words(words: Vec<OsString>, origin: &str) -> Vec<OsString> {
    let mode = |word: OsString| match word.to_string_lossy().starts_with("reverse:") {
        true => "regular".into(),
        false => word,
    };
    let mut all: Vec<OsString> = words.into_iter().map(mode).collect();
    all.extend(["--map-remote".into(), format!("|https://{TUNNEL_HOST}|{origin}").into()]);
    for setting in [
        "upstream_cert=false",
        "connection_strategy=lazy",
        "server_replay_ignore_host=true",
        "server_replay_ignore_port=true",
    ] {
        if !all.iter().any(|word| word == setting) {
            all.extend(["--set".into(), setting.into()]);
        }
    }
    all
}

/// The rule that binds the form that the system prompt asks for.
const FORM_RULE: &str = "system: You answer in one {{var:form}}.";

/// Returns the path of loomrec's recording in a system's folder.
pub fn recording(folder: &Path) -> OsString {
    folder.join("recording.json").into()
}

/// Returns the arguments of `loomrec replay`.
pub fn replay_words(recording: &OsString, listen: &str) -> Vec<OsString> {
    let words = ["replay", "--repeat", "cycle", "--listen", listen, "-r"];
    words.into_iter().map(OsString::from).chain([recording.clone()]).collect()
}

/// Returns the arguments of `loomrec record`.
pub fn record_words(recording: OsString, origin: &str) -> Vec<OsString> {
    let words = ["record", "--listen", "127.0.0.1:0", "--upstream", origin, "-r"];
    words.into_iter().map(OsString::from).chain([recording]).collect()
}
