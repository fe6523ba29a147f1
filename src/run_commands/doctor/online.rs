//! Online checks: whether upstreams can be reached, and whether they accept the user's keys.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use url::Url;

use super::environment::{is_ours, nonempty_value};
use super::finding::DoctorFinding;
use loomrec_cli::settings::Settings;
use loomrec_cli::wrapped_command;
use loomrec_engine::upstream::{UpstreamClient, UpstreamRequest};
use loomrec_provider::credential::KeyCarrier;
use loomrec_provider::directory::{KnownUpstream, UPSTREAMS};

/// How long an upstream has to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Calls every upstream that has a key, or an address from the user.
pub(super) async fn call_upstreams(
    settings: &Settings,
    current: &BTreeMap<String, String>,
    findings: &mut Vec<DoctorFinding>,
) {
    let client = match UpstreamClient::new() {
        Ok(client) => client,
        Err(error) => {
            let remedy = "check SSL_CERT_FILE and the proxies";
            return findings.push(DoctorFinding::wrong(
                "online",
                format!("failed to {error}"),
                remedy,
            ));
        }
    };
    let given = configured_addresses(settings, current);
    let mut asked = false;
    for upstream in UPSTREAMS {
        let key = upstream.keys.iter().find(|key| nonempty_value(current, key).is_some());
        let address = given.get(upstream.name).cloned();
        if key.is_none() && address.is_none() {
            continue;
        }
        let Some(base) = address.or_else(|| upstream.base.and_then(|base| Url::parse(base).ok()))
        else {
            continue;
        };
        asked = true;
        let key = key.and_then(|name| Some((*name, nonempty_value(current, name)?)));
        findings.push(call_upstream(&client, upstream, base, key).await);
    }
    if !asked {
        let remedy = "set a key, or name an upstream in loomrec.toml";
        findings.push(DoctorFinding::warning("online", "there is no upstream to check", remedy));
    }
}

/// Returns the addresses that the user configured, by upstream: those to which `record` would
/// forward calls. A key belongs to the address that its SDK is pointed at, and is sent to no other.
fn configured_addresses(
    settings: &Settings,
    current: &BTreeMap<String, String>,
) -> BTreeMap<String, Url> {
    let variables = wrapped_command::custom_upstreams(current, &[]).into_iter();
    let mut all: BTreeMap<_, _> = variables.map(|(name, base)| (name.to_owned(), base)).collect();
    // A loomrec server does not have an upstream's models, and it counts every request.
    all.retain(|_, base| !is_ours(base));
    let entries =
        ["replay", "record"].into_iter().filter_map(|name| settings.find_setting(name, "upstream"));
    let in_file = entries.flat_map(|entry| entry.values.iter().map(String::as_str));
    let in_environment =
        nonempty_value(current, "LOOMREC_UPSTREAM").into_iter().flat_map(str::split_whitespace);
    for (name, address) in in_file.chain(in_environment).filter_map(|text| text.split_once('=')) {
        if let Ok(address) = Url::parse(address) {
            all.insert(name.to_owned(), address);
        }
    }
    all
}

async fn call_upstream(
    client: &UpstreamClient,
    upstream: &KnownUpstream,
    base: Url,
    key: Option<(&'static str, &str)>,
) -> DoctorFinding {
    let about = format!("online: {}", upstream.name);
    let at = loomrec_engine::upstream::origin_words(&base);
    // If no path shows whether a key is valid, the key is not sent and not judged.
    let key = key.filter(|_| upstream.free_path.is_some());
    let sent = client.send_request(probe_request(upstream, base, key));
    let status = match tokio::time::timeout(PATIENCE, sent).await {
        Ok(Ok(response)) => response.status().as_u16(),
        Ok(Err(error)) => {
            let remedy = "check the network, the proxies and the address";
            return DoctorFinding::wrong(about, format!("failed to {error}"), remedy);
        }
        Err(_) => {
            let text = format!("{at} gave no answer within {} s", PATIENCE.as_secs());
            return DoctorFinding::wrong(
                about,
                text,
                "check the network, the proxies and the address",
            );
        }
    };
    match (status, key) {
        (200..=299, Some((name, _))) => {
            DoctorFinding::fine(about, format!("{at} answers, and takes the key in {name}"))
        }
        // Some upstreams answer an invalid key with 400. Nothing else is wrong with a probe.
        (400 | 401 | 403, Some((name, _))) => DoctorFinding::wrong(
            about,
            format!("{at} answers with {status}: it does not take the key in {name}"),
            format!("set {name} to a key that is valid for it"),
        ),
        (500..=599, _) => DoctorFinding::warning(
            about,
            format!("{at} answers with {status}"),
            "the provider has trouble; try later",
        ),
        _ => DoctorFinding::fine(about, format!("{at} can be reached (status {status})")),
    }
}

fn probe_request(
    upstream: &KnownUpstream,
    base: Url,
    key: Option<(&str, &str)>,
) -> UpstreamRequest {
    let path = upstream.free_path.unwrap_or("/");
    // The address of an SDK that expects the version in it already has it.
    let path = match path.strip_prefix("/v1") {
        Some(rest) if base.path().trim_end_matches('/').ends_with("/v1") => rest,
        _ => path,
    };
    let mut headers = HeaderMap::new();
    if let Some((_, key)) = key {
        let (name, before) = match upstream.credential.usual_carrier() {
            KeyCarrier::Bearer => ("authorization", "Bearer "),
            KeyCarrier::Header(name) => (name, ""),
        };
        if let Ok(mut value) = HeaderValue::from_str(&format!("{before}{key}")) {
            value.set_sensitive(true);
            headers.insert(HeaderName::from_static(name), value);
        }
        if upstream.name == "anthropic" {
            let version = HeaderValue::from_static("2023-06-01");
            headers.insert(HeaderName::from_static("anthropic-version"), version);
        }
    }
    UpstreamRequest {
        upstream: upstream.name.to_owned(),
        base,
        method: Method::GET,
        path: path.to_owned(),
        query: String::new(),
        headers,
        body: Bytes::new(),
        aws: None,
        turn: None,
    }
}
