//! Wrapping of a command: the environment that points every SDK to loomrec, the process itself, and
//! the signals that are passed on to it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::process::ExitStatus;

use tokio::process::{Child, Command};
use url::Url;

use super::exit::{CANNOT_RUN, CommandFailure, NOT_FOUND, UNEXPECTED};
use super::preset::{AppliedPreset, PRESETS};
use loomrec_os::{ProcessSignal, SignalStream};
use loomrec_provider::directory::{self, BaseUrlVariable, OTHER_CREDENTIALS, SAME_KEY, UPSTREAMS};
use loomrec_recording::KeyVariables;

/// LiteLLM fetches prices from the network when it is loaded, unless this is set.
const NO_FETCHING: (&str, &str) = ("LITELLM_LOCAL_MODEL_COST_MAP", "True");

/// The variables to set for a command.
#[derive(Debug)]
pub struct CommandEnvironment {
    /// The variables, in a fixed order.
    pub variables: Vec<(String, String)>,
    /// The variables that lead its `https` connections to the guard.
    pub guard: Vec<(String, String)>,
    /// Arguments for the command, before its own.
    arguments: Vec<OsString>,
}

/// The input for a [`CommandEnvironment`].
#[derive(Debug)]
pub struct EnvironmentSource<'a> {
    /// The URL of loomrec: `http://127.0.0.1:PORT`.
    pub origin: &'a str,
    /// The user's own environment.
    pub current: &'a BTreeMap<String, String>,
    /// Variables that must not be set.
    pub skip: &'a [String],
    /// Which missing API keys get a stand-in.
    pub stand_in_keys: &'a StandInKeys,
    /// Whether paths go to a single upstream without a prefix, except for those in `known`.
    pub single: bool,
    /// Upstreams whose address the user gave or the recording names.
    pub known: &'a [String],
}

/// Which missing API keys of a command get a stand-in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StandInKeys {
    /// None: its calls go upstream, with its own keys.
    None,
    /// Those in these variables. Nothing is sent upstream.
    Of(KeyVariables),
    /// Those of all known upstreams. Nothing is sent upstream.
    All,
}

impl StandInKeys {
    /// Whether calls are sent upstream.
    fn goes_upstream(&self) -> bool {
        *self == Self::None
    }

    /// Whether this variable of an upstream gets a stand-in if it is missing.
    fn has_stand_in(&self, upstream: &directory::KnownUpstream, key: &str) -> bool {
        match self {
            Self::None => false,
            Self::Of(variables) => variables.iter().any(|name| name == key),
            Self::All => upstream.first_key_variables().any(|name| name == key),
        }
    }
}

impl CommandEnvironment {
    /// Returns the variables that point every SDK to loomrec.
    pub fn from_source(wanted: &EnvironmentSource<'_>) -> Self {
        let mut variables: BTreeMap<String, String> = BTreeMap::new();
        let goes_upstream = wanted.stand_in_keys.goes_upstream();
        for upstream in UPSTREAMS {
            let named = wanted.known.iter().any(|name| name == upstream.name);
            let mount = wanted.single && !named;
            for variable in upstream.variables {
                let custom = custom_base_url(wanted.current, upstream, variable);
                // Programs choose Azure, Vertex or Bedrock if such a variable exists at all, so it
                // is set only if that choice has been made.
                if upstream.base.is_none() && !named && custom.is_none() {
                    continue;
                }
                let value = match (mount, custom) {
                    (true, _) => {
                        format!("{}{}", wanted.origin, upstream.suffix_after_mount(variable))
                    }
                    // The address of a proxy that does not end as the SDK's own does is kept whole,
                    // and the SDK appends its path.
                    (false, Some(CustomBaseUrl { whole: true, .. })) if goes_upstream => {
                        format!("{}/{}", wanted.origin, upstream.name)
                    }
                    (false, _) => format!("{}{}", wanted.origin, variable.suffix),
                };
                variables.insert(variable.name.to_owned(), value);
            }
        }
        variables.extend(stand_ins(wanted));
        let (name, value) = NO_FETCHING;
        if !goes_upstream && is_unset(wanted.current, name) {
            variables.insert(name.to_owned(), value.to_owned());
        }
        for name in ["NO_PROXY", "no_proxy"] {
            variables.insert(name.to_owned(), no_proxy(wanted, name));
        }
        variables.insert("LOOMREC_URL".to_owned(), wanted.origin.to_owned());
        variables.retain(|name, _| !wanted.skip.contains(name));
        let variables = variables.into_iter().collect();
        Self { variables, guard: Vec::new(), arguments: Vec::new() }
    }

    /// Adds the variables without which known agents call around loomrec, since a script, `npx` or an
    /// SDK may start an agent, and what the preset of CMD has for its own program. Variables that are
    /// set, or in `skip`, are left out.
    #[must_use]
    pub fn with_agents(
        mut self,
        of_command: Option<&AppliedPreset>,
        current: &BTreeMap<String, String>,
        skip: &[String],
    ) -> Self {
        let is_set = |name: &str| current.contains_key(name) || skip.iter().any(|it| it == name);
        let all = PRESETS.iter().flat_map(|preset| preset.variables);
        let missing = all.filter(|(name, _)| !is_set(name));
        self.variables.extend(missing.map(|(name, text)| ((*name).into(), (*text).into())));
        if let Some(preset) = of_command {
            self.variables.extend(preset.file_variable().filter(|(name, _)| !is_set(name)));
            let openai = self.variables.iter().find(|(name, _)| name == "OPENAI_BASE_URL");
            let own =
                current.get("OPENAI_BASE_URL").map(String::as_str).filter(|it| !it.is_empty());
            // Without the variable, the agent calls the provider itself.
            let openai = openai.map_or(own.unwrap_or(OPENAI_ITSELF), |(_, value)| value);
            self.arguments = preset.command_arguments(openai);
        }
        self
    }

    /// Formats the variables as shell commands.
    pub fn to_shell_commands(&self) -> String {
        let line = |(name, value): &(String, String)| {
            format!("export {name}='{}'\n", value.replace('\'', r"'\''"))
        };
        self.variables.iter().map(line).collect()
    }
}

/// The address at which OpenAI's clients call it.
const OPENAI_ITSELF: &str = "https://api.openai.com/v1";

/// An upstream's address from the user's own environment.
#[derive(Debug, PartialEq, Eq)]
pub struct CustomBaseUrl {
    /// The address, without the part that this SDK expects in it.
    pub base: Url,
    /// Whether the address did not end in that part.
    pub whole: bool,
}

/// Returns the address that a variable already contains.
fn custom_base_url(
    current: &BTreeMap<String, String>,
    upstream: &directory::KnownUpstream,
    variable: &BaseUrlVariable,
) -> Option<CustomBaseUrl> {
    let value = current.get(variable.name)?.trim().trim_end_matches('/');
    let tail = upstream.suffix_after_mount(variable);
    let whole = !value.ends_with(tail);
    let base = if whole { value } else { &value[..value.len() - tail.len()] };
    let base =
        if base.contains("://") { base.to_owned() } else { complete_address(base, upstream) };
    let base = Url::parse(&base).ok().filter(|url| url.has_host())?;
    Some(CustomBaseUrl { base, whole })
}

/// Completes an address without a scheme, as Ollama's clients do: the host may be missing, or be
/// the one on which its server binds all addresses, and the default port is the server's.
fn complete_address(host: &str, upstream: &directory::KnownUpstream) -> String {
    let Some(usual) = upstream.base.filter(|_| upstream.name == "ollama") else {
        return format!("http://{host}");
    };
    let (authority, path) = host.find('/').map_or((host, ""), |at| host.split_at(at));
    let (name, port) = match authority.rsplit_once(':') {
        // Inside brackets, the colon is part of an address.
        Some((name, port)) if !port.contains(']') => (name, port),
        _ => (authority, ""),
    };
    let (_, usual) = usual.rsplit_once(':').unwrap_or_default();
    let name = if matches!(name, "" | "0.0.0.0") { "127.0.0.1" } else { name };
    let port = if port.is_empty() { usual } else { port };
    format!("http://{name}:{port}{path}")
}

/// Returns the upstreams that the user's environment already points elsewhere.
pub fn custom_upstreams(
    current: &BTreeMap<String, String>,
    skip: &[String],
) -> Vec<(&'static str, Url)> {
    UPSTREAMS
        .iter()
        .filter_map(|upstream| {
            let mut variables =
                upstream.variables.iter().filter(|var| !skip.iter().any(|name| name == var.name));
            let custom =
                variables.find_map(|variable| custom_base_url(current, upstream, variable))?;
            Some((upstream.name, custom.base))
        })
        .collect()
}

/// Returns stand-ins for keys.
fn stand_ins(wanted: &EnvironmentSource<'_>) -> Vec<(String, String)> {
    let keys = UPSTREAMS.iter().flat_map(|upstream| {
        let gets_one = |key: &&&str| {
            wanted.stand_in_keys.has_stand_in(upstream, key) && is_missing(wanted.current, key)
        };
        upstream.keys.iter().filter(gets_one).map(|key| (*key, upstream.key_form))
    });
    let others = OTHER_CREDENTIALS.into_iter().filter(|(name, _)| match wanted.stand_in_keys {
        StandInKeys::Of(recorded) => {
            recorded.iter().any(|other| other == *name) && is_unset(wanted.current, name)
        }
        StandInKeys::None | StandInKeys::All => false,
    });
    keys.chain(others).map(|(name, form)| (name.to_owned(), form.stand_in())).collect()
}

/// Whether a key is missing: neither it nor its other name is set.
fn is_missing(current: &BTreeMap<String, String>, key: &str) -> bool {
    match SAME_KEY.contains(&key) {
        true => SAME_KEY.iter().all(|name| is_unset(current, name)),
        false => is_unset(current, key),
    }
}

/// Returns the key variables that an environment has.
pub fn key_variables(current: &BTreeMap<String, String>) -> KeyVariables {
    KeyVariables::set_in(|name| !is_unset(current, name))
}

fn is_unset(current: &BTreeMap<String, String>, name: &str) -> bool {
    current.get(name).is_none_or(String::is_empty)
}

/// Returns the user's list with the local names and the host of loomrec's URL added: a proxy must
/// not intercept them.
fn no_proxy(wanted: &EnvironmentSource<'_>, name: &str) -> String {
    let current = wanted.current;
    let url = Url::parse(wanted.origin).ok();
    let own = url.as_ref().and_then(Url::host_str);
    let other = if name == "NO_PROXY" { "no_proxy" } else { "NO_PROXY" };
    let mine = current.get(name).or_else(|| current.get(other)).map_or("", String::as_str);
    let mut names: Vec<&str> = mine.split(',').map(str::trim).filter(|n| !n.is_empty()).collect();
    for local in ["127.0.0.1", "localhost"].into_iter().chain(own) {
        if !names.contains(&local) {
            names.push(local);
        }
    }
    names.join(",")
}

/// A running command.
#[derive(Debug)]
pub struct WrappedCommand {
    child: Child,
    /// Whether the command leads a process group of its own, so that a signal can reach its
    /// children too. On a terminal it shares loomrec's group: there the terminal itself signals
    /// every process.
    own_group: bool,
    signals: PassedSignals,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandEnd {
    /// Its exit code, or 128+N for a signal.
    pub code: u8,
    /// Whether loomrec passed a SIGTERM on to it, so that it had to end.
    pub was_terminated: bool,
}

impl CommandEnd {
    /// Returns the exit code of loomrec, which would be `own` without the command: that of a command
    /// that failed. If it was told to end, what is wrong with the run counts first.
    pub fn exit_code(self, own: u8) -> u8 {
        if self.code == 0 || self.was_terminated && own != 0 { own } else { self.code }
    }
}

/// The signals that are passed on. They are watched from before the command starts, so that none is
/// missed.
#[derive(Debug)]
struct PassedSignals {
    interrupt: SignalStream,
    terminate: SignalStream,
    hangup: SignalStream,
}

impl WrappedCommand {
    /// Starts `cmd` with `environment` added to loomrec's own. It inherits loomrec's streams.
    ///
    /// # Errors
    /// A command that is not found or cannot be started, with the exit code that shells use.
    pub fn start(
        cmd: &[OsString],
        environment: &CommandEnvironment,
    ) -> Result<Self, CommandFailure> {
        let Some((program, arguments)) = cmd.split_first() else {
            return Err(CommandFailure::usage("there is no command after --"));
        };
        let own_group = !io::stdin().is_terminal();
        let watch = |signal: ProcessSignal| {
            signal.watch().map_err(|error| {
                CommandFailure::new(UNEXPECTED, format!("failed to watch signals: {error}"))
            })
        };
        let signals = PassedSignals {
            interrupt: watch(ProcessSignal::Interrupt)?,
            terminate: watch(ProcessSignal::Terminate)?,
            hangup: watch(ProcessSignal::Hangup)?,
        };
        let mut command = std::process::Command::new(program);
        command
            .args(&environment.arguments)
            .args(arguments)
            .envs(environment.variables.iter().chain(&environment.guard).cloned());
        if own_group {
            loomrec_os::lead_process_group(&mut command);
        }
        let child = Command::from(command).spawn().map_err(|error| {
            let code = match error.kind() {
                io::ErrorKind::NotFound => NOT_FOUND,
                _ => CANNOT_RUN,
            };
            let name = program.to_string_lossy();
            CommandFailure::new(
                code,
                format!("failed to run {name}: {error}; check the name after --"),
            )
        })?;
        Ok(Self { child, own_group, signals })
    }

    /// Waits for the command, and passes on the signals that loomrec gets.
    ///
    /// # Errors
    /// An error of the system.
    pub async fn wait(mut self) -> io::Result<CommandEnd> {
        let mut was_terminated = false;
        loop {
            tokio::select! {
                status = self.child.wait() => {
                    return Ok(CommandEnd { code: shell_code(status?), was_terminated });
                }
                // On a terminal, the command has already received the Ctrl-C.
                () = self.signals.interrupt.recv() => if self.own_group { self.pass_signal(ProcessSignal::Interrupt) },
                () = self.signals.terminate.recv() => {
                    was_terminated = true;
                    self.pass_signal(ProcessSignal::Terminate);
                }
                () = self.signals.hangup.recv() => if self.own_group { self.pass_signal(ProcessSignal::Hangup) },
            }
        }
    }

    /// Passes a signal on. A command that has just ended does not need it.
    fn pass_signal(&self, signal: ProcessSignal) {
        let Some(id) = self.child.id() else { return };
        let _gone = if self.own_group {
            loomrec_os::signal_process_group(id, signal)
        } else {
            loomrec_os::signal_process(id, signal)
        };
    }
}

/// Returns the exit code as shells report it.
pub fn shell_code(status: ExitStatus) -> u8 {
    let code = match (status.code(), loomrec_os::exit_signal(status)) {
        (Some(code), _) => code,
        (None, signal) => 128 + signal.unwrap_or(0),
    };
    u8::try_from(code).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests;
