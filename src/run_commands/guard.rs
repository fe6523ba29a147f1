//! The guard of a wrapped command, or of the tests of a framework: its set-up, and what the receipt
//! says of connections that went around loomrec.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use serde_json::{Value, json};

use super::args::ServeArgs;
use loomrec_cli::exit::{CommandFailure, UNUSABLE};
use loomrec_engine::route::RouteTable;
use loomrec_proxy::guard::{
    Escape, EscapePolicy, FailedTunnel, Guard, GuardReport, HostCount, InterceptionPolicy,
    RunningGuard,
};
use loomrec_proxy::server::RunningServer;

/// The variables that name the proxy for `https` addresses.
const VARIABLES: [&str; 2] = ["HTTPS_PROXY", "https_proxy"];

/// How many hosts that are no known providers' are named to people.
const NAMED: usize = 5;

/// The guard of a run.
#[derive(Default)]
pub(super) struct RunGuard {
    /// Its port, for CMD or the programs of a framework.
    port: Option<RunningGuard>,
    /// The guard of a server whose listener is the proxy.
    of_listener: Option<Guard>,
}

impl RunGuard {
    /// Starts the guard, if the run has one, on the interface of the bound listener. It is for CMD, or
    /// for the programs whose sessions a framework begins: they get the variables by a control call.
    /// With interception, the listener is a proxy as well.
    ///
    /// # Errors
    /// A port that cannot be opened.
    pub(super) async fn start(
        policy: Option<EscapePolicy>,
        args: &ServeArgs,
        listener: SocketAddr,
        routes: &Arc<RouteTable>,
        interception: Option<InterceptionPolicy>,
    ) -> Result<Self, CommandFailure> {
        let has_clients = has_clients(args, listener.ip());
        let intercepts = interception.is_some();
        let is_wanted = has_clients || intercepts;
        let Some(policy) = policy.filter(|_| is_wanted) else { return Ok(Self::default()) };
        let guard = Guard::new(policy, Arc::clone(routes), listener, interception);
        let of_listener = intercepts.then(|| guard.clone());
        if !has_clients {
            return Ok(Self { port: None, of_listener });
        }
        let loopback = Some(listener.ip()).filter(|ip| ip.is_loopback());
        let address = loopback.unwrap_or(Ipv4Addr::LOCALHOST.into());
        let started = RunningGuard::start(address, guard).await;
        let port = started.map_err(|error| {
            let text = "failed to open the guard's port";
            CommandFailure::new(
                UNUSABLE,
                format!("{text}: {error}; --no-guard runs CMD without it"),
            )
        })?;
        Ok(Self { port: Some(port), of_listener })
    }

    /// Returns the URL of the proxy that has a port of its own.
    pub(super) fn url(&self) -> Option<&str> {
        self.port.as_ref().map(RunningGuard::proxy_url)
    }

    /// Returns the guard that decides about the listener's tunnels.
    pub(super) fn of_listener(&self) -> Option<&Guard> {
        self.of_listener.as_ref()
    }

    /// Has intercepted tunnels served by this server.
    pub(super) fn lead_to(&self, server: &RunningServer) {
        if let Some(port) = &self.port {
            port.take_tunnels_by(Box::new(server.tunnel_taker()));
        }
    }

    /// Returns the variables that lead CMD's `https` connections to the guard.
    pub(super) fn proxy_variables(&self) -> Vec<(String, String)> {
        let Some(url) = self.url() else { return Vec::new() };
        VARIABLES.map(|name| (name.to_owned(), url.to_owned())).to_vec()
    }

    /// Ends the guard, if there is one. Returns the hosts that went through it.
    pub(super) async fn end(self) -> GuardReport {
        match (self.port, self.of_listener) {
            (Some(port), _) => port.end_connections().await,
            (None, Some(guard)) => guard.host_report(),
            (None, None) => GuardReport::default(),
        }
    }
}

/// Whether the programs whose calls come to the listener have the environment of this process, and
/// get variables from it: CMD, or those of a framework that started loomrec on this machine.
pub(super) fn has_clients(args: &ServeArgs, listener: IpAddr) -> bool {
    !args.cmd.is_empty() || (args.sessions.sessions_by_control && listener.is_loopback())
}

/// Returns a sentence for each host that CMD contacted.
pub(super) fn explain_escapes(escapes: &[Escape], policy: EscapePolicy) -> Vec<String> {
    let sentence = |escape: &Escape| {
        let Escape { host, count, remedy } = escape;
        let (connections, were) = match count {
            1 => ("connection", "was"),
            _ => ("connections", "were"),
        };
        let refused = match policy {
            EscapePolicy::Refuse => "got 403".to_owned(),
            EscapePolicy::Count => format!("{were} not recorded, so a replay will fail"),
        };
        format!("{count} {connections} to {host} went around loomrec, and {refused}: {remedy}")
    };
    escapes.iter().map(sentence).collect()
}

/// Returns a note about hosts that are no known providers'. `None` if there are none.
pub(super) fn explain_passed(passed: &[HostCount]) -> Option<String> {
    let named = most_often(passed)?;
    Some(format!(
        "connections of the command to hosts that are no known providers' were passed on: {named}; \
         --upstream NAME=URL guards a host, too"
    ))
}

/// Returns a note about hosts to which an intercepting replay made no connection. `None` without
/// such a host.
pub(super) fn explain_refused(refused: &[HostCount]) -> Option<String> {
    let named = most_often(refused)?;
    Some(format!(
        "connections to hosts that are no upstream's were refused: {named}; --pass HOST lets them \
         through"
    ))
}

/// Returns a sentence for each host whose tunnels failed, and whether a client was kept from its
/// calls.
pub(super) fn explain_failed(failed: &[FailedTunnel]) -> Vec<(String, bool)> {
    let sentence = |tunnel: &FailedTunnel| {
        let FailedTunnel { host, count, reason, has_lost_calls } = tunnel;
        let connections = if *count == 1 { "connection" } else { "connections" };
        (format!("{count} {connections} to {host} failed: its client {reason}"), *has_lost_calls)
    };
    failed.iter().map(sentence).collect()
}

/// Names the hosts with most connections.
fn most_often(hosts: &[HostCount]) -> Option<String> {
    let mut often: Vec<&HostCount> = hosts.iter().collect();
    often.sort_by_key(|host| std::cmp::Reverse(host.count));
    let named = often.iter().take(NAMED).map(|it| format!("{} ({})", it.host, it.count));
    let mut named: Vec<String> = named.collect();
    let more = hosts.len() - named.len();
    if more > 0 {
        named.push(format!("and {more} more"));
    }
    (!named.is_empty()).then(|| named.join(", "))
}

/// Returns the escapes for the receipt.
pub(super) fn to_json(escapes: &[Escape]) -> Value {
    escapes.iter().map(|escape| json!({ "host": escape.host, "count": escape.count })).collect()
}

/// Returns hosts for the receipt.
pub(super) fn hosts_to_json(hosts: &[HostCount]) -> Value {
    hosts.iter().map(|it| json!({ "host": it.host, "count": it.count })).collect()
}

/// Returns the failed tunnels for the receipt.
pub(super) fn failed_to_json(failed: &[FailedTunnel]) -> Value {
    let shown =
        |it: &FailedTunnel| json!({ "host": it.host, "count": it.count, "reason": it.reason });
    failed.iter().map(shown).collect()
}
