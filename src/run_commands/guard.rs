//! The guard of a wrapped command, or of the tests of a framework: its set-up, and what the receipt
//! says of connections that went around loomrec.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use serde_json::{Value, json};

use super::args::ServeArgs;
use loomrec_cli::exit::{CommandFailure, UNUSABLE};
use loomrec_engine::route::RouteTable;
use loomrec_proxy::guard::{Escape, EscapePolicy, GuardReport, PassedHost, RunningGuard};

/// The variables that name the proxy for `https` addresses.
const VARIABLES: [&str; 2] = ["HTTPS_PROXY", "https_proxy"];

/// How many hosts that are no known providers' are named to people.
const NAMED: usize = 5;

/// Starts the guard, if the run has one, on the interface of the bound listener. It is for CMD, or for the
/// programs whose sessions a framework begins: they get the variables by a control call.
///
/// # Errors
/// A port that cannot be opened.
pub(super) async fn start(
    policy: Option<EscapePolicy>,
    args: &ServeArgs,
    listener: SocketAddr,
    routes: &Arc<RouteTable>,
) -> Result<Option<RunningGuard>, CommandFailure> {
    let has_clients = has_clients(args, listener.ip());
    let Some(policy) = policy.filter(|_| has_clients) else { return Ok(None) };
    let loopback = Some(listener.ip()).filter(|ip| ip.is_loopback());
    let address = loopback.unwrap_or(Ipv4Addr::LOCALHOST.into());
    let started = RunningGuard::start(address, policy, Arc::clone(routes), listener).await;
    started.map(Some).map_err(|error| {
        let text = "failed to open the guard's port";
        CommandFailure::new(UNUSABLE, format!("{text}: {error}; --no-guard runs CMD without it"))
    })
}

/// Whether the programs whose calls come to the listener have the environment of this process, and
/// get variables from it: CMD, or those of a framework that started loomrec on this machine.
pub(super) fn has_clients(args: &ServeArgs, listener: IpAddr) -> bool {
    !args.cmd.is_empty() || (args.sessions.sessions_by_control && listener.is_loopback())
}

/// Returns the variables that lead CMD's `https` connections to the guard, except for those in
/// `skip`.
pub(super) fn variables(guard: Option<&RunningGuard>, skip: &[String]) -> Vec<(String, String)> {
    let Some(guard) = guard else { return Vec::new() };
    let names = VARIABLES.iter().filter(|name| !skip.iter().any(|it| it == *name));
    names.map(|name| ((*name).to_owned(), guard.url().to_owned())).collect()
}

/// Ends the guard, if there is one. Returns the hosts that went through it.
pub(super) async fn end(guard: Option<RunningGuard>) -> GuardReport {
    match guard {
        Some(guard) => guard.end().await,
        None => GuardReport::default(),
    }
}

/// Returns a sentence for each host that CMD contacted.
pub(super) fn explain(escapes: &[Escape], policy: EscapePolicy) -> Vec<String> {
    let sentence = |escape: &Escape| {
        let Escape { host, count, base_url } = escape;
        let (connections, were) = match count {
            1 => ("connection", "was"),
            _ => ("connections", "were"),
        };
        let refused = match policy {
            EscapePolicy::Refuse => "got 403".to_owned(),
            EscapePolicy::Count => format!("{were} not recorded, so a replay will fail"),
        };
        format!(
            "{count} {connections} to {host} went around loomrec, and {refused}: have the program use \
             {base_url} as its base URL"
        )
    };
    escapes.iter().map(sentence).collect()
}

/// Returns a note about hosts that are no known providers'. `None` if there are none.
pub(super) fn explain_passed(passed: &[PassedHost]) -> Option<String> {
    let mut often: Vec<&PassedHost> = passed.iter().collect();
    often.sort_by_key(|passed| std::cmp::Reverse(passed.count));
    let named = often.iter().take(NAMED).map(|it| format!("{} ({})", it.host, it.count));
    let mut named: Vec<String> = named.collect();
    let more = passed.len() - named.len();
    if more > 0 {
        named.push(format!("and {more} more"));
    }
    (!named.is_empty()).then(|| {
        format!(
            "connections of the command to hosts that are no known providers' were passed on: {}; \
             --upstream NAME=URL guards a host, too",
            named.join(", ")
        )
    })
}

/// Returns the escapes for the receipt.
pub(super) fn to_json(escapes: &[Escape]) -> Value {
    escapes.iter().map(|escape| json!({ "host": escape.host, "count": escape.count })).collect()
}

/// Returns the other hosts for the receipt.
pub(super) fn passed_to_json(passed: &[PassedHost]) -> Value {
    passed.iter().map(|passed| json!({ "host": passed.host, "count": passed.count })).collect()
}
