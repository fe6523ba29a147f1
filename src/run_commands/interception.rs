//! Interception in a run: the authority, its files, and the variables for programs.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::uri::Authority;

use super::args::ServeArgs;
use super::guard::RunGuard;
use loomrec_cli::authority_files::{AuthorityFiles, AuthorityPaths};
use loomrec_cli::exit::{CommandFailure, UNEXPECTED};
use loomrec_cli::output::Output;
use loomrec_engine::route::RouteTable;
use loomrec_engine::upstream::is_this_machine;
use loomrec_provider::directory::ProviderHosts;
use loomrec_proxy::guard::InterceptionPolicy;
use loomrec_proxy::server::{CertificateAuthority, Interception};

/// Interception in a run.
pub(super) struct RunInterception {
    authority: Arc<CertificateAuthority>,
    files: AuthorityFiles,
    passed: Vec<String>,
    output: Output,
}

impl RunInterception {
    /// Creates the authority of a run with `--intercept`, unless the user has one, and writes its
    /// files. `port` is that of the listener, `has_clients` whether CMD or a framework gets the
    /// variables from this process.
    ///
    /// # Errors
    /// A host of `--pass` that is invalid, or an upstream's; a file that cannot be written.
    pub(super) fn start(
        args: &ServeArgs,
        (port, has_clients): (u16, bool),
        routes: &RouteTable,
        (current, authority): (&BTreeMap<String, String>, Option<Arc<CertificateAuthority>>),
        output: &Output,
    ) -> Result<Option<Self>, CommandFailure> {
        let passed = passed_hosts(args, routes)?;
        if !args.intercept.intercept {
            return Ok(None);
        }
        let failed = |error| CommandFailure::new(UNEXPECTED, format!("failed to {error}"));
        let authority = match authority {
            Some(authority) => authority,
            None => Arc::new(CertificateAuthority::for_this_run().map_err(failed)?),
        };
        let files = match has_clients {
            true => AuthorityFiles::for_command(&authority, current)?,
            false => AuthorityFiles::for_server(&authority, current, port)?,
        };
        Ok(Some(Self { authority, files, passed, output: output.clone() }))
    }

    /// Returns what the guard does beyond watching.
    pub(super) fn guard_policy(&self) -> InterceptionPolicy {
        let output = self.output.clone();
        InterceptionPolicy {
            passed: self.passed.clone(),
            certificate_file: self.files.paths().certificate.display().to_string(),
            tell: Arc::new(move |text| output.warning(text)),
        }
    }

    /// Returns what the listener needs to intercept connections.
    pub(super) fn of_listener(&self, guard: &RunGuard) -> Option<Arc<Interception>> {
        let guard = guard.of_listener()?.clone();
        Some(Arc::new(Interception { authority: Arc::clone(&self.authority), guard }))
    }

    /// Returns the variables for programs whose proxy is at `proxy`.
    pub(super) fn proxy_variables(
        &self,
        proxy: &str,
        current: &BTreeMap<String, String>,
    ) -> Vec<(String, String)> {
        self.files.paths().proxy_variables(proxy, current)
    }
}

/// Returns the variables of a run, except for those in `skip`: those that lead CMD's `https`
/// connections to the guard, and with interception those that have programs trust its authority.
pub(super) fn run_variables(
    guard: &RunGuard,
    interception: Option<&RunInterception>,
    current: &BTreeMap<String, String>,
    skip: &[String],
) -> Vec<(String, String)> {
    let mut variables = match (interception, guard.url()) {
        (Some(interception), Some(url)) => interception.proxy_variables(url, current),
        _ => guard.proxy_variables(),
    };
    variables.retain(|(name, _)| !skip.contains(name));
    variables
}

/// Returns the variables that a server with `--intercept` prints for programs: its listener, at
/// `proxy`, is their proxy.
///
/// # Errors
/// A user without a folder for the files.
pub(super) fn printed_variables(
    args: &ServeArgs,
    (proxy, port): (&str, u16),
    current: &BTreeMap<String, String>,
) -> Result<Vec<(String, String)>, CommandFailure> {
    if !args.intercept.intercept {
        return Ok(Vec::new());
    }
    let mut variables = AuthorityPaths::of_server(port)?.proxy_variables(proxy, current);
    variables.retain(|(name, _)| !args.no_env.contains(name));
    Ok(variables)
}

/// Reads the hosts of `--pass`.
///
/// # Errors
/// A value that is no host, or a host whose calls a replay answers.
fn passed_hosts(args: &ServeArgs, routes: &RouteTable) -> Result<Vec<String>, CommandFailure> {
    let given = args.intercept.pass.iter().filter(|text| !text.is_empty());
    let read = |text: &String| {
        let refused = |why: &str| CommandFailure::usage(format!("--pass {text}: {why}"));
        if !args.intercept.intercept {
            return Err(refused("it is for runs with --intercept"));
        }
        let host = text.to_ascii_lowercase();
        let (name, port) = host.split_once(':').unwrap_or((&host, "443"));
        let name = name.strip_suffix('.').unwrap_or(name);
        let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        let is_label = |label: &str| !label.is_empty() && label.bytes().all(is_of_name);
        let target = format!("{name}:{port}").parse::<Authority>().ok();
        let target = target.filter(|_| name.split('.').all(is_label));
        let Some((target, port)) = target.and_then(|to| Some((to.clone(), to.port_u16()?))) else {
            return Err(refused("give the name of a host, with a port if it is not 443"));
        };
        if is_this_machine(name) {
            return Err(refused("no tunnel leads to this machine; add the host to NO_PROXY"));
        }
        let is_upstream = routes.has_upstream_at(&target)
            || routes.recorded_upstream_at_host(&target).is_some()
            || ProviderHosts::upstream_at(name).is_some();
        if is_upstream {
            return Err(refused("this is a provider's or an upstream's host"));
        }
        Ok(if port == 443 { name.to_owned() } else { format!("{name}:{port}") })
    };
    given.map(read).collect()
}
