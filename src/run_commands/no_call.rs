//! The explanation of a run in which CMD made no call.

use std::collections::BTreeSet;

use super::server_run::RunResult;
use loomrec_cli::wrapped_command::CommandEnvironment;
use loomrec_provider::directory::KnownUpstream;

/// The most variables that are named.
const SHOWN: usize = 6;

/// The upstreams whose variables are named if nothing says which ones the program calls.
const USUAL: [&str; 2] = ["openai", "anthropic"];

/// Returns `what` went wrong, and why: the exit code of CMD if it failed, and the variables of the
/// upstreams that the program should have called. These may be unknown. `is_allowed` says whether
/// such a run is a success.
pub(super) fn explain(
    what: &str,
    ran: &RunResult,
    upstreams: &BTreeSet<String>,
    is_allowed: bool,
) -> String {
    let elsewhere = match is_intercepting(&ran.environment) {
        true => "HTTPS_PROXY, NODE_USE_ENV_PROXY and certificates: Node before 22.21, Java and \
                 clients that pin certificates ignore these, and `loomrec doctor` names those that \
                 are installed"
            .to_owned(),
        false => format!(
            "{}: a base URL in its code wins over these, and a test runner may clear the \
             environment{}",
            set_variables(&ran.environment, upstreams),
            mistral_hint(upstreams)
        ),
    };
    match ran.cmd_exit() {
        Some(code) if code != 0 => format!(
            "{what}: the command ended with {code} before it made a call here. If its calls went \
             elsewhere: it got {elsewhere}"
        ),
        _ => {
            let hint = if is_allowed { "" } else { " (--allow-empty permits that)" };
            format!("{what}{hint}: the command made no call here. It got {elsewhere}")
        }
    }
}

/// Whether the command got what has programs without a base URL go through loomrec.
fn is_intercepting(environment: &CommandEnvironment) -> bool {
    environment.guard.iter().any(|(name, _)| name == "NODE_EXTRA_CA_CERTS")
}

/// Names the variables that point the SDKs of these upstreams here: the first of each upstream
/// first.
fn set_variables(environment: &CommandEnvironment, upstreams: &BTreeSet<String>) -> String {
    let set: Vec<&str> = environment
        .variables
        .iter()
        .filter(|(_, value)| value.starts_with("http"))
        .map(|(name, _)| name.as_str())
        .collect();
    let variables = |name: &str| {
        let all = KnownUpstream::find(name).map_or(&[][..], |known| known.variables);
        all.iter().map(|variable| variable.name).filter(|name| set.contains(name))
    };
    let is_known = !upstreams.is_empty();
    let mut names: Vec<&str> = match is_known {
        true => {
            let first = upstreams.iter().filter_map(|name| variables(name).next());
            first.chain(upstreams.iter().flat_map(|name| variables(name).skip(1))).collect()
        }
        false => USUAL.iter().filter_map(|name| variables(name).next()).collect(),
    };
    let count = if is_known { names.len() } else { set.len() };
    names.truncate(SHOWN);
    if names.is_empty() {
        return "LOOMREC_URL".to_owned();
    }
    let more = match count.saturating_sub(names.len()) {
        0 => String::new(),
        more => format!(" and {more} more (--print-env prints them)"),
    };
    format!("{}{more}", names.join(", "))
}

/// Returns a hint if the program may use Mistral's SDK, which reads no variable.
fn mistral_hint(upstreams: &BTreeSet<String>) -> &'static str {
    match upstreams.is_empty() || upstreams.contains("mistral") {
        true => "; the Mistral SDK reads no variable (give it server_url, $LOOMREC_URL/mistral)",
        false => "",
    }
}
