//! Upstreams from `--upstream` and from the environment.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use url::Url;

use super::check_names;
use super::upstream_address::{parse_address, without_secrets};
use crate::args::ServeArgs;
use crate::exit::{CommandFailure, UNEXPECTED};
use crate::wrapped_command;
use loomrec_engine::route::{
    MountedUpstream, RecordedOrigin, RouteTable, UNNAMED, is_upstream_name,
};
use loomrec_engine::upstream::UpstreamClient;
use loomrec_provider::Provider;
use loomrec_provider::directory::{KnownUpstream, ProviderHosts, UPSTREAMS};

/// The upstreams from the flags and the environment.
#[derive(Clone, Debug)]
pub struct UpstreamSettings {
    /// The routes of requests.
    pub routes: Arc<RouteTable>,
    /// The names of upstreams whose address the user gave.
    pub given: Vec<String>,
    /// Those of them that `--upstream` names.
    pub(super) declared: Vec<String>,
}

impl UpstreamSettings {
    /// Whether `--upstream` names this upstream.
    pub fn is_declared(&self, name: &str) -> bool {
        self.declared.iter().any(|declared| declared == name)
    }
}

/// Creates the client that sends calls to upstreams.
///
/// # Errors
/// The environment names certificates that cannot be read.
pub fn upstream_client() -> Result<UpstreamClient, CommandFailure> {
    let failed = |error| CommandFailure::new(UNEXPECTED, format!("failed to {error}"));
    UpstreamClient::new().map_err(failed)
}

/// Reads `--upstream`, and for a wrapped command or a test framework the addresses that the
/// environment already contains.
///
/// # Errors
/// An invalid address, two addresses without a name, or a misspelled name.
pub fn read_upstreams(
    args: &ServeArgs,
    current: &BTreeMap<String, String>,
) -> Result<UpstreamSettings, CommandFailure> {
    // A test framework starts the server in the environment of its tests.
    let is_of_program = !args.cmd.is_empty() || args.sessions.sessions_by_control;
    let custom = match is_of_program {
        true => wrapped_command::custom_upstreams(current, &args.no_env),
        false => Vec::new(),
    };
    check_names(&args.upstream)?;
    let mut upstreams = upstreams_at(&args.upstream, custom)?;
    if args.intercept.intercept {
        add_hosts(
            &mut upstreams,
            ProviderHosts::fixed_hosts().map(|(name, host)| (name, format!("https://{host}"))),
        );
    }
    Ok(upstreams)
}

/// Adds upstreams that intercepted connections name by their host. Their hosts are providers', as
/// whatever leads there is decrypted.
fn add_hosts<'a>(upstreams: &mut UpstreamSettings, hosts: impl Iterator<Item = (&'a str, String)>) {
    let routes = Arc::make_mut(&mut upstreams.routes);
    for (name, origin) in hosts {
        let base = Url::parse(&origin).ok().filter(|base| base.scheme() == "https");
        let Some(host) = base.as_ref().and_then(Url::host_str) else { continue };
        let of_provider = ProviderHosts::upstream_at(host).is_some();
        let mut known = routes.named.iter().chain(&routes.by_host);
        if of_provider && !known.any(|known| known.base == base) {
            let provider = KnownUpstream::find(name).map_or(Provider::UNKNOWN, |it| it.provider);
            routes.by_host.push(MountedUpstream::new(name, base, provider));
        }
    }
}

/// Adds the hosts of providers at which calls were recorded, for intercepted connections. A recording
/// may be a stranger's, so it has no other host decrypted.
pub fn add_recorded_hosts<'a>(
    upstreams: &mut UpstreamSettings,
    recorded: impl Iterator<Item = (&'a str, &'a str)>,
) {
    add_hosts(upstreams, recorded.map(|(name, origin)| (name, origin.to_owned())));
}

/// Adds the addresses at which calls were recorded, so that the guard knows connections to them.
pub fn add_recorded_addresses<'a>(
    upstreams: &mut UpstreamSettings,
    recorded: impl Iterator<Item = (&'a str, &'a str)>,
) {
    let of_address = |(name, origin): (&str, &str)| {
        Some(RecordedOrigin { upstream: name.to_owned(), base: Url::parse(origin).ok()? })
    };
    Arc::make_mut(&mut upstreams.routes).recorded.extend(recorded.filter_map(of_address));
}

/// Returns the upstreams, with the addresses of `--upstream`, or else of the environment.
///
/// # Errors
/// An invalid address, or two addresses without a name.
pub fn upstreams_at(
    addresses: &[String],
    custom: Vec<(&'static str, Url)>,
) -> Result<UpstreamSettings, CommandFailure> {
    let mut named: Vec<MountedUpstream> = UPSTREAMS
        .iter()
        .map(|known| {
            let base = known.base.and_then(|base| Url::parse(base).ok());
            MountedUpstream::new(known.name, base, known.provider)
        })
        .collect();
    let mut given = Vec::new();
    let mut set = |name: &str, base: Url| {
        given.push(name.to_owned());
        match named.iter_mut().find(|upstream| upstream.name == name) {
            Some(upstream) => upstream.base = Some(base),
            None => named.push(MountedUpstream::new(name, Some(base), Provider::UNKNOWN)),
        }
    };
    for (name, base) in custom {
        set(name, base);
    }
    let (mut single, mut declared) = (None, Vec::new());
    for text in addresses.iter().filter(|text| !text.is_empty()) {
        match text.split_once('=').filter(|(name, _)| is_upstream_name(name)) {
            Some((name, address)) => {
                set(name, parse_address(text, address)?);
                declared.push(name.to_owned());
            }
            None if single.is_none() => single = Some(parse_address(text, text)?),
            None => {
                return Err(CommandFailure::usage(format!(
                    "--upstream {text}: there can be only one upstream without a name; \
                     give each a name: --upstream NAME={text}",
                    text = without_secrets(text)
                )));
            }
        }
    }
    let routes = Arc::new(RouteTable { named, single, ..RouteTable::default() });
    Ok(UpstreamSettings { routes, given, declared })
}

/// Adds the upstreams that recordings name, so that their calls are routed without further flags.
pub fn add_recorded(upstreams: &mut UpstreamSettings, recorded: &BTreeSet<String>) {
    let routes = Arc::make_mut(&mut upstreams.routes);
    for name in recorded.iter().filter(|name| *name != UNNAMED) {
        if !routes.named.iter().any(|upstream| upstream.name == *name) {
            routes.named.push(MountedUpstream::new(name.clone(), None, Provider::UNKNOWN));
        }
        upstreams.given.push(name.clone());
    }
    routes.unnamed = recorded.contains(UNNAMED);
}
