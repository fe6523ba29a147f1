//! Wrapping a command: the environment that points every SDK here, the process
//! itself, and the signals that reach it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::ExitStatus;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::process::{Child, Command};
use tokio::signal::unix::{self as signal, SignalKind};
use url::Url;

use super::exit::{CANNOT_RUN, Failure, NOT_FOUND, UNEXPECTED};
use crate::provider::directory::{self, SAME_KEY, UPSTREAMS, Variable};

/// What stands in for an API key that replay does not need.
pub const STAND_IN_KEY: &str = "loomrec-replay-stand-in";

/// LiteLLM fetches prices from the network as it is loaded, unless it is told not to.
const NO_FETCHING: (&str, &str) = ("LITELLM_LOCAL_MODEL_COST_MAP", "True");

/// What is to be set for a command.
#[derive(Debug)]
pub struct Environment {
    /// The variables, in a fixed order.
    pub variables: Vec<(String, String)>,
}

/// What [`Environment`] is made from.
#[derive(Debug)]
pub struct Wanted<'a> {
    /// Where loomrec listens: `http://127.0.0.1:PORT`.
    pub origin: &'a str,
    /// The user's own environment.
    pub current: &'a BTreeMap<String, String>,
    /// Variables to leave alone.
    pub skip: &'a [String],
    /// Whether nothing is to go out: keys that are missing get a stand-in.
    pub stand_in_keys: bool,
    /// Whether paths go unprefixed, to a single upstream, except for these.
    pub single: bool,
    /// Upstreams whose address the user gave or the recording names.
    pub known: &'a [String],
}

impl Environment {
    /// The variables that bring every SDK to loomrec.
    pub fn of(wanted: &Wanted<'_>) -> Self {
        let mut variables: BTreeMap<String, String> = BTreeMap::new();
        for upstream in UPSTREAMS {
            let named = wanted.known.iter().any(|name| name == upstream.name);
            let mount = wanted.single && !named;
            for variable in upstream.variables {
                let custom = custom(wanted.current, upstream, variable);
                // Programs choose Azure, Vertex or Bedrock by such a variable being
                // there at all: it is set only where that choice has been made.
                if upstream.base.is_none() && !named && custom.is_none() {
                    continue;
                }
                let value = match (mount, custom) {
                    (true, _) => format!("{}{}", wanted.origin, upstream.tail(variable)),
                    // A gateway whose address does not end as the SDK's own does is
                    // kept whole, and the SDK's path goes on behind it.
                    (false, Some(Custom { whole: true, .. })) if !wanted.stand_in_keys => {
                        format!("{}/{}", wanted.origin, upstream.name)
                    }
                    (false, _) => format!("{}{}", wanted.origin, variable.suffix),
                };
                variables.insert(variable.name.to_owned(), value);
            }
            if wanted.stand_in_keys {
                for key in upstream.keys.iter().filter(|key| is_missing(wanted.current, key)) {
                    variables.insert((*key).to_owned(), STAND_IN_KEY.to_owned());
                }
            }
        }
        let (name, value) = NO_FETCHING;
        if wanted.stand_in_keys && is_unset(wanted.current, name) {
            variables.insert(name.to_owned(), value.to_owned());
        }
        for name in ["NO_PROXY", "no_proxy"] {
            variables.insert(name.to_owned(), no_proxy(wanted.current, name));
        }
        variables.insert("LOOMREC_URL".to_owned(), wanted.origin.to_owned());
        variables.retain(|name, _| !wanted.skip.contains(name));
        Self { variables: variables.into_iter().collect() }
    }

    /// As lines for a shell.
    pub fn shell(&self) -> String {
        let line = |(name, value): &(String, String)| {
            format!("export {name}='{}'\n", value.replace('\'', r"'\''"))
        };
        self.variables.iter().map(line).collect()
    }
}

/// An upstream's address as the user's own environment gives it.
#[derive(Debug, PartialEq, Eq)]
pub struct Custom {
    /// The address, without the part that this SDK expects in it.
    pub base: Url,
    /// Whether the address did not end in that part.
    pub whole: bool,
}

/// The address that a variable was already pointed at.
fn custom(
    current: &BTreeMap<String, String>,
    upstream: &directory::Upstream,
    variable: &Variable,
) -> Option<Custom> {
    let value = current.get(variable.name)?.trim().trim_end_matches('/');
    let tail = upstream.tail(variable);
    let whole = !value.ends_with(tail);
    let base = if whole { value } else { &value[..value.len() - tail.len()] };
    let base = if base.contains("://") { base.to_owned() } else { bare(base, upstream) };
    let base = Url::parse(&base).ok().filter(|url| url.has_host())?;
    Some(Custom { base, whole })
}

/// An address without a scheme, as Ollama's clients read it: its host may be left out,
/// or be the one that its server binds for all, and its port is the server's usual one.
fn bare(host: &str, upstream: &directory::Upstream) -> String {
    let Some(usual) = upstream.base.filter(|_| upstream.name == "ollama") else {
        return format!("http://{host}");
    };
    let (authority, path) = host.find('/').map_or((host, ""), |at| host.split_at(at));
    let (name, port) = match authority.rsplit_once(':') {
        // In brackets it is a part of an address.
        Some((name, port)) if !port.contains(']') => (name, port),
        _ => (authority, ""),
    };
    let (_, usual) = usual.rsplit_once(':').unwrap_or_default();
    let name = if matches!(name, "" | "0.0.0.0") { "127.0.0.1" } else { name };
    let port = if port.is_empty() { usual } else { port };
    format!("http://{name}:{port}{path}")
}

/// Upstreams that the user's environment had already pointed elsewhere.
pub fn custom_upstreams(
    current: &BTreeMap<String, String>,
    skip: &[String],
) -> Vec<(&'static str, Url)> {
    UPSTREAMS
        .iter()
        .filter_map(|upstream| {
            let mut variables =
                upstream.variables.iter().filter(|var| !skip.iter().any(|name| name == var.name));
            let custom = variables.find_map(|variable| custom(current, upstream, variable))?;
            Some((upstream.name, custom.base))
        })
        .collect()
}

/// Whether a key is to have a stand-in: it is not set, and neither is its other name.
/// Of two names that are both missing the first gets it.
fn is_missing(current: &BTreeMap<String, String>, key: &str) -> bool {
    match SAME_KEY {
        [first, second] if key == first => is_unset(current, first) && is_unset(current, second),
        [_, second] if key == second => false,
        _ => is_unset(current, key),
    }
}

fn is_unset(current: &BTreeMap<String, String>, name: &str) -> bool {
    current.get(name).is_none_or(String::is_empty)
}

/// The user's list with the local names added: a proxy must not catch our address.
fn no_proxy(current: &BTreeMap<String, String>, name: &str) -> String {
    let other = if name == "NO_PROXY" { "no_proxy" } else { "NO_PROXY" };
    let mine = current.get(name).or_else(|| current.get(other)).map_or("", String::as_str);
    let mut names: Vec<&str> = mine.split(',').map(str::trim).filter(|n| !n.is_empty()).collect();
    for local in ["127.0.0.1", "localhost"] {
        if !names.contains(&local) {
            names.push(local);
        }
    }
    names.join(",")
}

/// A command under way.
#[derive(Debug)]
pub struct Wrapped {
    child: Child,
    /// Whether the command leads a process group of its own, so that a signal can
    /// reach its children too. On a terminal it shares ours: there the terminal
    /// itself signals everyone.
    own_group: bool,
    signals: Signals,
}

/// The signals that are passed on, watched from before the command starts, so
/// that none is missed.
#[derive(Debug)]
struct Signals {
    interrupt: signal::Signal,
    terminate: signal::Signal,
    hangup: signal::Signal,
}

impl Wrapped {
    /// Starts `cmd` with `environment` added to ours; its streams are its own.
    ///
    /// # Errors
    /// When it is not found or cannot be started, as shells report it.
    pub fn start(cmd: &[OsString], environment: &Environment) -> Result<Self, Failure> {
        let Some((program, arguments)) = cmd.split_first() else {
            return Err(Failure::usage("there is no command behind --"));
        };
        let own_group = !io::stdin().is_terminal();
        let watch = |kind| {
            signal::signal(kind).map_err(|error| {
                Failure::new(UNEXPECTED, format!("failed to watch signals: {error}"))
            })
        };
        let signals = Signals {
            interrupt: watch(SignalKind::interrupt())?,
            terminate: watch(SignalKind::terminate())?,
            hangup: watch(SignalKind::hangup())?,
        };
        let mut command = std::process::Command::new(program);
        command.args(arguments).envs(environment.variables.iter().cloned());
        if own_group {
            command.process_group(0);
        }
        let child = Command::from(command).spawn().map_err(|error| {
            let code = match error.kind() {
                io::ErrorKind::NotFound => NOT_FOUND,
                _ => CANNOT_RUN,
            };
            let name = program.to_string_lossy();
            Failure::new(code, format!("failed to run {name}: {error}; check the name after --"))
        })?;
        Ok(Self { child, own_group, signals })
    }

    /// Waits for the command, passing on the signals that loomrec gets. Returns
    /// its exit code, 128+N for a signal.
    ///
    /// # Errors
    /// When the system refuses to tell.
    pub async fn wait(mut self) -> io::Result<u8> {
        loop {
            tokio::select! {
                status = self.child.wait() => return Ok(code_of(status?)),
                // On a terminal the command has had its Ctrl-C from the terminal.
                _ = self.signals.interrupt.recv() => if self.own_group { self.pass(Signal::INT) },
                _ = self.signals.terminate.recv() => self.pass(Signal::TERM),
                _ = self.signals.hangup.recv() => if self.own_group { self.pass(Signal::HUP) },
            }
        }
    }

    /// Sends a signal on. A command that is just gone needs none.
    fn pass(&self, signal: Signal) {
        let id = self.child.id().and_then(|id| i32::try_from(id).ok());
        let Some(pid) = id.and_then(Pid::from_raw) else { return };
        let _gone = if self.own_group {
            kill_process_group(pid, signal)
        } else {
            kill_process(pid, signal)
        };
    }
}

/// The exit code as shells have it.
fn code_of(status: ExitStatus) -> u8 {
    let code = match (status.code(), status.signal()) {
        (Some(code), _) => code,
        (None, signal) => 128 + signal.unwrap_or(0),
    };
    u8::try_from(code).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(
        current: &[(&str, &str)],
        single: bool,
        stand_in: bool,
    ) -> BTreeMap<String, String> {
        let current = current.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let wanted = Wanted {
            origin: "http://127.0.0.1:5",
            current: &current,
            skip: &["CO_API_URL".to_owned()],
            stand_in_keys: stand_in,
            single,
            known: &["groq".to_owned()],
        };
        Environment::of(&wanted).variables.into_iter().collect()
    }

    #[test]
    fn sdk_variables_point_here_and_skipped_ones_stay() {
        let set = environment(&[("NO_PROXY", "a.b, localhost")], false, false);
        assert_eq!(set["OPENAI_BASE_URL"], "http://127.0.0.1:5/openai/v1");
        assert_eq!(set["ANTHROPIC_BASE_URL"], "http://127.0.0.1:5/anthropic");
        assert_eq!(set["NO_PROXY"], "a.b,localhost,127.0.0.1");
        assert_eq!(set["no_proxy"], "a.b,localhost,127.0.0.1");
        assert!(!set.contains_key("CO_API_URL") && !set.contains_key("OPENAI_API_KEY"));
    }

    /// What each SDK reads its base URL from, and what it expects in it behind ours.
    const READ: [(&str, &str); 34] = [
        ("OPENAI_BASE_URL", "/openai/v1"),
        ("OPENAI_API_BASE", "/openai/v1"),
        ("AZURE_OPENAI_ENDPOINT", "/azure"),
        ("AZURE_API_BASE", "/azure"),
        ("AWS_BEDROCK_BASE_URL", "/bedrock"),
        ("ANTHROPIC_BASE_URL", "/anthropic"),
        ("ANTHROPIC_API_BASE", "/anthropic"),
        ("ANTHROPIC_BEDROCK_BASE_URL", "/bedrock"),
        ("ANTHROPIC_VERTEX_BASE_URL", "/vertex/v1"),
        ("ANTHROPIC_BEDROCK_MANTLE_BASE_URL", "/anthropic-mantle"),
        ("ANTHROPIC_FOUNDRY_BASE_URL", "/anthropic-foundry"),
        ("ANTHROPIC_GOOGLE_CLOUD_BASE_URL", "/anthropic-google-cloud"),
        ("ANTHROPIC_AWS_BASE_URL", "/anthropic-aws"),
        ("GOOGLE_GEMINI_BASE_URL", "/gemini"),
        ("GOOGLE_VERTEX_BASE_URL", "/vertex"),
        ("GEMINI_API_BASE", "/gemini/v1beta"),
        ("MISTRAL_AZURE_API_BASE", "/mistral/v1"),
        ("MISTRAL_API_BASE", "/mistral/v1"),
        ("CO_API_URL", "/cohere"),
        ("COHERE_API_BASE", "/cohere/v2/chat"),
        ("OLLAMA_HOST", "/ollama"),
        ("OLLAMA_API_BASE", "/ollama"),
        ("GROQ_BASE_URL", "/groq"),
        ("GROQ_API_BASE", "/groq/openai/v1"),
        ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "/bedrock"),
        ("AWS_BEDROCK_RUNTIME_ENDPOINT", "/bedrock"),
        ("OPENROUTER_API_BASE", "/openrouter/api/v1"),
        ("TOGETHER_AI_API_BASE", "/together/v1"),
        ("TOGETHER_BASE_URL", "/together/v1"),
        ("DEEPSEEK_API_BASE", "/deepseek"),
        ("XAI_API_BASE", "/xai/v1"),
        ("FIREWORKS_API_BASE", "/fireworks/inference/v1"),
        ("LITELLM_LOCAL_MODEL_COST_MAP", ""),
        ("LOOMREC_URL", ""),
    ];

    #[test]
    fn every_sdks_variable_is_set_when_its_upstream_is_known() {
        let known: Vec<String> = UPSTREAMS.iter().map(|known| known.name.to_owned()).collect();
        let current = BTreeMap::new();
        let wanted = Wanted {
            origin: "http://127.0.0.1:5",
            current: &current,
            skip: &[],
            stand_in_keys: true,
            single: false,
            known: &known,
        };
        let mut set: BTreeMap<_, _> = Environment::of(&wanted).variables.into_iter().collect();
        assert_eq!(set["LITELLM_LOCAL_MODEL_COST_MAP"], "True");
        set.retain(|name, value| value != STAND_IN_KEY && !name.eq_ignore_ascii_case("no_proxy"));
        for (name, path) in READ {
            let value = set.remove(name).unwrap_or_else(|| panic!("{name} is not set"));
            assert!(
                value == "True" || value == format!("http://127.0.0.1:5{path}"),
                "{name}: {value}"
            );
        }
        assert!(set.is_empty(), "nobody is known to read {set:?}");
    }

    #[test]
    fn litellm_may_fetch_where_calls_go_out_or_the_user_says_so() {
        let (name, _) = NO_FETCHING;
        assert!(!environment(&[], false, false).contains_key(name));
        assert!(!environment(&[(name, "False")], false, true).contains_key(name));
    }

    #[test]
    fn missing_keys_get_a_stand_in_and_given_ones_stay() {
        let set = environment(&[("OPENAI_API_KEY", "sk-mine")], false, true);
        assert!(!set.contains_key("OPENAI_API_KEY"));
        assert_eq!(set["ANTHROPIC_API_KEY"], STAND_IN_KEY);
    }

    #[test]
    fn one_name_of_googles_key_gets_a_stand_in_when_neither_is_set() {
        let names = ["GEMINI_API_KEY", "GOOGLE_API_KEY"];
        let given = |current: &[(&str, &str)]| {
            let set = environment(current, false, true);
            names.map(|name| set.contains_key(name))
        };
        assert_eq!(given(&[]), [true, false]);
        assert_eq!(given(&[("GEMINI_API_KEY", "mine")]), [false, false]);
        assert_eq!(given(&[("GOOGLE_API_KEY", "mine")]), [false, false]);
        assert_eq!(given(&[("GOOGLE_API_KEY", ""), ("GEMINI_API_KEY", "")]), [true, false]);
    }

    #[test]
    fn single_upstream_is_reached_without_a_mount_but_named_ones_keep_theirs() {
        let set = environment(&[], true, false);
        assert_eq!(set["OPENAI_BASE_URL"], "http://127.0.0.1:5/v1");
        assert_eq!(set["ANTHROPIC_BASE_URL"], "http://127.0.0.1:5");
        assert_eq!(set["GROQ_BASE_URL"], "http://127.0.0.1:5/groq");
    }

    #[test]
    fn a_host_without_a_scheme_is_read_as_ollamas_clients_read_it() {
        for (host, base) in [
            ("0.0.0.0", "http://127.0.0.1:11434/"),
            ("gpu.test", "http://gpu.test:11434/"),
            (":8080", "http://127.0.0.1:8080/"),
            ("0.0.0.0:8080", "http://127.0.0.1:8080/"),
            ("gpu.test:80/api", "http://gpu.test/api"),
            ("[::1]", "http://[::1]:11434/"),
            ("[::1]:8080", "http://[::1]:8080/"),
            ("http://gpu.test", "http://gpu.test/"),
        ] {
            let current = [("OLLAMA_HOST".to_owned(), host.to_owned())].into_iter().collect();
            let found = custom_upstreams(&current, &[]);
            assert_eq!(found.first().map(|(_, url)| url.as_str()), Some(base), "{host}");
        }
    }

    #[test]
    fn gateway_in_the_environment_becomes_the_upstream() {
        let current = [
            ("OPENAI_BASE_URL", "http://gw.test/llm/v1/"),
            ("ANTHROPIC_BASE_URL", "http://gw.test/claude"),
        ];
        let map = current.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let found: BTreeMap<_, _> = custom_upstreams(&map, &[]).into_iter().collect();
        assert_eq!(found["openai"].as_str(), "http://gw.test/llm");
        assert_eq!(found["anthropic"].as_str(), "http://gw.test/claude");
        let whole = environment(&[("OPENAI_BASE_URL", "http://gw.test/llm")], false, false);
        assert_eq!(whole["OPENAI_BASE_URL"], "http://127.0.0.1:5/openai");
    }
}
