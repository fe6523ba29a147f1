//! Upstreams from `--upstream` and from the environment.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use url::Url;

use crate::cli::args::ServeArgs;
use crate::cli::exit::CommandFailure;
use crate::cli::wrapped_command;
use crate::engine::route::{MountedUpstream, RouteTable, UNNAMED};
use crate::provider::Provider;
use crate::provider::directory::UPSTREAMS;

/// The upstreams from the flags and the environment.
#[derive(Debug)]
pub struct UpstreamSettings {
    /// The routes of requests.
    pub routes: Arc<RouteTable>,
    /// The names of upstreams whose address the user gave.
    pub given: Vec<String>,
}

/// Reads `--upstream`, and for a wrapped command the addresses that the environment already
/// contains.
///
/// # Errors
/// An invalid address, or two addresses without a name.
pub fn upstreams(
    args: &ServeArgs,
    current: &BTreeMap<String, String>,
) -> Result<UpstreamSettings, CommandFailure> {
    let custom = match args.cmd.is_empty() {
        true => Vec::new(),
        false => wrapped_command::custom_upstreams(current, &args.no_env),
    };
    upstreams_at(&args.upstream, custom)
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
        .map(|known| MountedUpstream {
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
            None => named.push(MountedUpstream {
                name: name.to_owned(),
                base: Some(base),
                provider: Provider::UNKNOWN,
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
                return Err(CommandFailure::usage(format!(
                    "--upstream {text}: there can be only one upstream without a name; \
                     give each a name: --upstream NAME={text}",
                    text = without_secrets(text)
                )));
            }
        }
    }
    let routes = Arc::new(RouteTable { named, single, unnamed: false });
    Ok(UpstreamSettings { routes, given })
}

/// Whether a text can be the first segment of a path.
fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with("__")
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

/// Removes the secret parts from an address, or from a text that contains one: the user and
/// password before the host, and the query.
pub fn without_secrets(text: &str) -> String {
    let (scheme, rest) = match text.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), text),
    };
    let (rest, query) = match rest.split_once('?') {
        Some((rest, _)) => (rest, "?…"),
        None => (rest, ""),
    };
    // A password may contain a slash, although the URL standard would end the host there.
    let host = rest.rsplit_once('@').map_or(rest.to_owned(), |(_, host)| format!("…@{host}"));
    format!("{scheme}{host}{query}")
}

/// Reads only `--upstream`: names, or `None` for everything else, with addresses.
///
/// # Errors
/// An invalid address.
pub fn addresses(flags: &[String]) -> Result<Vec<(Option<String>, Url)>, CommandFailure> {
    let read = |text: &String| match text.split_once('=').filter(|(name, _)| is_name(name)) {
        Some((name, address)) => Ok((Some(name.to_owned()), parse_address(text, address)?)),
        None => Ok((None, parse_address(text, text)?)),
    };
    flags.iter().filter(|text| !text.is_empty()).map(read).collect()
}

/// Parses the address of an upstream.
fn parse_address(flag: &str, address: &str) -> Result<Url, CommandFailure> {
    let wrong = |why: &str| {
        CommandFailure::usage(format!(
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

/// Adds the upstreams that recordings name, so that their calls are routed without further flags.
pub fn add_recorded(upstreams: &mut UpstreamSettings, recorded: &BTreeSet<String>) {
    let routes = Arc::make_mut(&mut upstreams.routes);
    for name in recorded.iter().filter(|name| *name != UNNAMED) {
        if !routes.named.iter().any(|upstream| upstream.name == *name) {
            let provider = Provider::UNKNOWN;
            routes.named.push(MountedUpstream { name: name.clone(), base: None, provider });
        }
        upstreams.given.push(name.clone());
    }
    routes.unnamed = recorded.contains(UNNAMED);
}
