//! Setup of traces from `--otel` and the standard `OTEL_…` variables.
//!
//! A setting that makes sending impossible is an error before the server listens. A setting that
//! can be ignored causes a warning. Variables that the exporters read themselves (headers,
//! compression, the sampler, limits, the service) are only checked for mistakes here.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use percent_encoding::percent_decode_str;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use url::Url;

use super::args::ServeArgs;
use loomrec_cli::exit::CommandFailure;
use loomrec_cli::serve_setup::{parse_url, without_secrets};
use loomrec_engine::route::{RouteTable, UNNAMED};
use loomrec_proxy::server::{OnNotice, UserNotice};
use loomrec_telemetry::metric::Metrics;
use loomrec_telemetry::span::{SpanConfig, SpanDetails, SpanProtocol, Spans, TlsIdentity};

/// The path for traces over HTTP, below the endpoint for all signals.
const PATH: &str = "v1/traces";
/// The most bytes of a certificate or a key.
const LARGEST_PEM: u64 = 1 << 20;
/// How long the end of a run waits, unless `OTEL_BSP_EXPORT_TIMEOUT` is set.
const PATIENCE: Duration = Duration::from_secs(2);

const SAMPLERS: [&str; 6] = [
    "always_on",
    "always_off",
    "traceidratio",
    "parentbased_always_on",
    "parentbased_always_off",
    "parentbased_traceidratio",
];

/// The environment. An empty variable counts as unset.
type TraceVariables = BTreeMap<String, String>;

/// The configuration of traces, and the warnings about it.
struct TracedRequest {
    config: SpanConfig,
    warnings: Vec<String>,
}

/// Starts the traces, if they are enabled.
///
/// # Errors
/// Settings with which spans cannot be sent; an endpoint that is this server's own listener, at
/// `own`.
pub(super) fn start(
    args: &ServeArgs,
    variables: &TraceVariables,
    (routes, metrics): (&RouteTable, &Metrics),
    own: Option<SocketAddr>,
    notify: OnNotice,
) -> Result<Spans, CommandFailure> {
    if !args.otel {
        return Ok(Spans::none());
    }
    let about = SpanDetails { compat: args.metrics_compat, addresses: upstream_addresses(routes) };
    let Some(TracedRequest { config, warnings }) = read_variables(variables, about)? else {
        return Ok(Spans::none());
    };
    if own.is_some_and(|own| is_at(&config.endpoint, own)) {
        return Err(CommandFailure::usage(format!(
            "--otel: {} is where loomrec itself listens; name the collector's address in \
             OTEL_EXPORTER_OTLP_ENDPOINT",
            without_secrets(config.endpoint.as_str())
        )));
    }
    warnings.iter().for_each(|text| notify(UserNotice::Warning(text)));
    let told = move |why: &str| {
        notify(UserNotice::Warning(&format!("traces: spans are lost, and traffic goes on: {why}")));
    };
    Spans::start(config, Arc::clone(&metrics.spans), Box::new(told))
        .map_err(|error| CommandFailure::usage(format!("--otel: failed to {error}")))
}

/// Returns the addresses of upstreams, as far as they are known.
fn upstream_addresses(routes: &RouteTable) -> BTreeMap<String, (String, u16)> {
    let single = routes.single.as_ref();
    let unnamed = single.map(|base| (UNNAMED.to_owned(), base));
    // With a single upstream for everything, a name does not tell where a call goes: a call that is
    // routed by its shape goes there, one that is routed by its mount goes to its own address.
    let named = routes.named.iter().filter(|_| single.is_none());
    let named = named.filter_map(|upstream| Some((upstream.name.clone(), upstream.base.as_ref()?)));
    let address = |(name, base): (String, &Url)| {
        Some((name, (base.host_str()?.to_owned(), base.port_or_known_default()?)))
    };
    named.chain(unnamed).filter_map(address).collect()
}

/// Whether an endpoint is the listener at `own`.
fn is_at(endpoint: &Url, own: SocketAddr) -> bool {
    let host = endpoint.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let ip = host.parse::<IpAddr>().ok();
    let here = host.eq_ignore_ascii_case("localhost")
        || ip.is_some_and(|ip| ip.to_canonical().is_loopback() || ip == own.ip());
    here && endpoint.port_or_known_default() == Some(own.port())
}

/// Reads the variables. Returns `None` if they turn traces off.
fn read_variables(
    variables: &TraceVariables,
    about: SpanDetails,
) -> Result<Option<TracedRequest>, CommandFailure> {
    let get = |name: &str| variables.get(name).map(String::as_str).filter(|text| !text.is_empty());
    if get("OTEL_SDK_DISABLED").is_some_and(|text| text.eq_ignore_ascii_case("true")) {
        return Ok(None);
    }
    match get("OTEL_TRACES_EXPORTER") {
        None | Some("otlp") => {}
        Some("none") => return Ok(None),
        Some(other) => {
            return Err(CommandFailure::usage(format!(
                "OTEL_TRACES_EXPORTER={other}: with --otel it takes otlp, or none"
            )));
        }
    }
    let of_traces = |name: &str| {
        let own = format!("OTEL_EXPORTER_OTLP_TRACES_{name}");
        let shared = format!("OTEL_EXPORTER_OTLP_{name}");
        get(&own).map(|text| (own, text)).or_else(|| get(&shared).map(|text| (shared, text)))
    };
    let protocol = read_protocol(of_traces("PROTOCOL"))?;
    let mut warnings = Vec::new();
    let mut number = |name: &str, default: u64| match get(name).map(str::parse::<u64>) {
        None => default,
        Some(Ok(number)) if number > 0 || name.ends_with("_DELAY") => number,
        Some(_) => {
            warnings.push(format!("{name}: it takes a whole number; {default} is used"));
            default
        }
    };
    let millis = |number: u64| Duration::from_millis(number.min(u64::from(u32::MAX)));
    let timeout =
        of_traces("TIMEOUT").map_or_else(|| "OTEL_EXPORTER_OTLP_TIMEOUT".into(), |(name, _)| name);
    let timeout = millis(number(&timeout, 10_000));
    let delay = millis(number("OTEL_BSP_SCHEDULE_DELAY", 5_000));
    let limit = millis(number("OTEL_BSP_EXPORT_TIMEOUT", 30_000));
    let queue = limit_spans(number("OTEL_BSP_MAX_QUEUE_SIZE", 2_048));
    let batch = limit_spans(number("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 512)).min(queue);
    warnings.extend(sampler_warning(get("OTEL_TRACES_SAMPLER"), get("OTEL_TRACES_SAMPLER_ARG")));
    warnings.extend(of_traces("HEADERS").and_then(header_warning));
    warnings.extend(of_traces("COMPRESSION").and_then(compression_warning));
    let given = get("OTEL_BSP_EXPORT_TIMEOUT").is_some();
    let config = SpanConfig {
        endpoint: span_endpoint(&get, protocol)?,
        protocol,
        timeout,
        limit,
        patience: if given { limit } else { PATIENCE },
        delay,
        queue,
        batch,
        roots: of_traces("CERTIFICATE").map(|file| read_certificates(&file)).transpose()?,
        identity: client_identity(of_traces("CLIENT_CERTIFICATE"), of_traces("CLIENT_KEY"))?,
        about,
    };
    Ok(Some(TracedRequest { config, warnings }))
}

/// Limits a number of spans. The queue allocates memory as it fills.
fn limit_spans(number: u64) -> usize {
    usize::try_from(number.min(1 << 20)).unwrap_or(1 << 20)
}

fn read_protocol(given: Option<GivenVariable<'_>>) -> Result<SpanProtocol, CommandFailure> {
    match given {
        None | Some((_, "http/protobuf")) => Ok(SpanProtocol::Protobuf),
        Some((_, "grpc")) => Ok(SpanProtocol::Grpc),
        Some((_, "http/json")) => Ok(SpanProtocol::Json),
        Some((name, other)) => Err(CommandFailure::usage(format!(
            "{name}={other}: it takes grpc, http/protobuf (the default) or http/json"
        ))),
    }
}

/// Returns the address to which spans are sent.
fn span_endpoint<'v>(
    get: &impl Fn(&str) -> Option<&'v str>,
    protocol: SpanProtocol,
) -> Result<Url, CommandFailure> {
    let grpc = protocol == SpanProtocol::Grpc;
    let (own, shared) = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT");
    let (name, text) = match (get(own), get(shared)) {
        (Some(text), _) => (own, text.to_owned()),
        (None, Some(text)) if grpc => (shared, text.to_owned()),
        (None, Some(text)) => (shared, format!("{}/{PATH}", text.trim_end_matches('/'))),
        (None, None) if grpc => (shared, "http://localhost:4317".to_owned()),
        (None, None) => (shared, format!("http://localhost:4318/{PATH}")),
    };
    let insecure = ["OTEL_EXPORTER_OTLP_TRACES_INSECURE", "OTEL_EXPORTER_OTLP_INSECURE"];
    let insecure = insecure.iter().find_map(|name| get(name));
    let text = match text.contains("://") {
        false if grpc && insecure.is_some_and(|text| text.eq_ignore_ascii_case("true")) => {
            format!("http://{text}")
        }
        false if grpc => format!("https://{text}"),
        _ => text,
    };
    let wrong = |why: &str| {
        let shown = without_secrets(&text);
        CommandFailure::usage(format!(
            "{name}: {shown}: {why}; give an address such as http://localhost:4318"
        ))
    };
    let url = parse_url(&text).map_err(|why| wrong(&why))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(wrong("it is neither http:// nor https://"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("credentials go into OTEL_EXPORTER_OTLP_HEADERS"));
    }
    Ok(url)
}

/// Returns what is wrong with the configured sampler.
fn sampler_warning(name: Option<&str>, argument: Option<&str>) -> Option<String> {
    let name = name?;
    if !SAMPLERS.contains(&name) {
        return Some(format!(
            "OTEL_TRACES_SAMPLER: loomrec has no such sampler; parentbased_always_on is used; it \
             takes {}",
            SAMPLERS.join(", ")
        ));
    }
    let ratio = argument.and_then(|text| text.parse::<f64>().ok());
    let fits = ratio.is_some_and(|ratio| (0.0..=1.0).contains(&ratio));
    (name.ends_with("traceidratio") && !fits).then(|| {
        "OTEL_TRACES_SAMPLER_ARG: it takes a number from 0 to 1; 1 is used without one".to_owned()
    })
}

/// A variable's name and value.
type GivenVariable<'v> = (String, &'v str);

/// Returns the client certificate for the collector.
fn client_identity(
    certificate: Option<GivenVariable<'_>>,
    key: Option<GivenVariable<'_>>,
) -> Result<Option<TlsIdentity>, CommandFailure> {
    match (certificate, key) {
        (Some(certificate), Some(key)) => Ok(Some(TlsIdentity {
            certificate: read_certificates(&certificate)?,
            key: self::read_key(&key)?,
        })),
        (None, None) => Ok(None),
        _ => Err(CommandFailure::usage(
            "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and OTEL_EXPORTER_OTLP_CLIENT_KEY: give both, \
             or neither",
        )),
    }
}

/// Returns what is wrong with the headers. The message contains no value, as it may be a
/// credential.
fn header_warning((name, text): GivenVariable<'_>) -> Option<String> {
    let is_one = |pair: &str| {
        let (key, value) = pair.split_once('=')?;
        let value = percent_decode_str(value.trim()).decode_utf8().ok()?;
        let fits =
            HeaderName::try_from(key.trim()).is_ok() && HeaderValue::try_from(&*value).is_ok();
        (fits && !value.is_empty()).then_some(())
    };
    let mut pairs = text.split(',').map(str::trim).filter(|pair| !pair.is_empty());
    let wrong = pairs.any(|pair| is_one(pair).is_none());
    wrong.then(|| {
        format!(
            "{name}: it takes key=value,key=value, with special characters escaped as %20; what is \
             not a header is not sent"
        )
    })
}

/// Returns what is wrong with the compression.
fn compression_warning((name, text): GivenVariable<'_>) -> Option<String> {
    let known = ["gzip", "none"].iter().any(|known| text.eq_ignore_ascii_case(known));
    (!known).then(|| format!("{name}={text}: it takes gzip, or none; none is used"))
}

/// Reads certificates from the file that a variable names.
fn read_certificates(given: &GivenVariable<'_>) -> Result<Vec<u8>, CommandFailure> {
    let pem = read(given)?;
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    match all.is_ok_and(|all| !all.is_empty()) {
        true => Ok(pem),
        false => Err(no_pem(given, "certificates")),
    }
}

/// Reads a key from the file that a variable names.
fn read_key(given: &GivenVariable<'_>) -> Result<Vec<u8>, CommandFailure> {
    let pem = read(given)?;
    match PrivateKeyDer::from_pem_slice(&pem) {
        Ok(_) => Ok(pem),
        Err(_) => Err(no_pem(given, "a key")),
    }
}

fn no_pem((name, path): &GivenVariable<'_>, what: &str) -> CommandFailure {
    CommandFailure::usage(format!("{name}: {path} holds no PEM of {what}"))
}

/// Reads the file that a variable names.
fn read((name, path): &GivenVariable<'_>) -> Result<Vec<u8>, CommandFailure> {
    loomrec_os::read_input(Path::new(path), LARGEST_PEM)
        .map_err(|error| CommandFailure::usage(format!("{name}: failed to read {path}: {error}")))
}

#[cfg(test)]
#[path = "trace/tests.rs"]
mod tests;
