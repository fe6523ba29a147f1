//! Checks of the environment and the machine: the SDKs' base URL variables, keys, proxies,
//! certificates, the port.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::Path;

use url::Url;

use super::finding::DoctorFinding;
use loomrec_provider::directory::UPSTREAMS;

type VariableMap = BTreeMap<String, String>;

/// Reports where the SDKs' base URL variables point.
pub(super) fn report_base_urls(current: &VariableMap, findings: &mut Vec<DoctorFinding>) {
    let mut seen = false;
    for upstream in UPSTREAMS {
        for variable in upstream.variables {
            let Some(value) = nonempty_value(current, variable.name) else { continue };
            seen = true;
            findings.push(variable_found(variable.name, value, upstream.name));
        }
    }
    if !seen {
        let text = "no base URL is set: SDKs call their providers; record and replay point them \
                    at loomrec";
        findings.push(DoctorFinding::fine("SDKs", text));
    }
    if nonempty_value(current, "MISTRAL_API_KEY").is_some() {
        findings.push(DoctorFinding::warning(
            "mistralai",
            "its SDK reads no variable for its address",
            "give it server_url=os.environ[\"LOOMREC_URL\"] + \"/mistral\"",
        ));
    }
}

fn variable_found(name: &str, value: &str, upstream: &str) -> DoctorFinding {
    // OLLAMA_HOST may have no scheme.
    let address = if value.contains("://") { value.to_owned() } else { format!("http://{value}") };
    let Ok(url) = Url::parse(&address) else {
        let remedy = format!("unset {name}, or give it an http:// or https:// address");
        return DoctorFinding::wrong(name, "its value is not an address", remedy);
    };
    if is_ours(&url) {
        let text = format!(
            "points at a loomrec server on this machine, {}",
            address_without_secrets(value)
        );
        return DoctorFinding::fine(name, text);
    }
    let to = format!("points at {}", address_without_secrets(url.as_str()));
    if name == "ANTHROPIC_BASE_URL" && url.path().trim_end_matches('/').ends_with("/v1") {
        return DoctorFinding::warning(
            name,
            format!(
                "{to}, as the AI SDK for Node wants it; Anthropic's own SDKs add /v1 themselves"
            ),
            "nothing to do for loomrec, which understands both; other servers may not",
        );
    }
    DoctorFinding::fine(name, format!("{to}: calls recorded as {upstream} are forwarded there"))
}

/// Reports which keys are set, but never their values.
pub(super) fn report_keys(current: &VariableMap, findings: &mut Vec<DoctorFinding>) {
    let mut found = Vec::new();
    for key in UPSTREAMS.iter().flat_map(|upstream| upstream.keys) {
        let Some(value) = nonempty_value(current, key) else { continue };
        if value.trim() != value || value.contains(['"', '\'']) {
            findings.push(DoctorFinding::wrong(
                *key,
                "the key has blanks, a line break or quotes around it: no provider takes it",
                format!("set {key} again, without them"),
            ));
        }
        found.push(*key);
    }
    let aws = ["AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_BEARER_TOKEN_BEDROCK"];
    found.extend(aws.into_iter().filter(|name| nonempty_value(current, name).is_some()));
    match found.is_empty() {
        true => findings.push(DoctorFinding::fine(
            "keys",
            "none is set: replay needs none, record needs that of your provider",
        )),
        false => findings.push(DoctorFinding::fine("keys", format!("set: {}", found.join(", ")))),
    }
}

/// Reports proxies that would keep calls away from loomrec.
pub(super) fn report_proxies(current: &VariableMap, findings: &mut Vec<DoctorFinding>) {
    let either = |name: &str| {
        nonempty_value(current, name).or_else(|| nonempty_value(current, &name.to_lowercase()))
    };
    let spared = either("NO_PROXY").unwrap_or_default();
    let local = spared.split(',').map(str::trim).any(|host| matches!(host, "127.0.0.1" | "*"));
    for name in ["HTTP_PROXY", "ALL_PROXY"] {
        if let Some(proxy) = either(name)
            && !local
        {
            let text =
                format!("{} would take calls to 127.0.0.1, too", address_without_secrets(proxy));
            let remedy = "add 127.0.0.1,localhost to NO_PROXY; record and replay -- CMD do so";
            findings.push(DoctorFinding::warning(name, text, remedy));
        }
    }
    if let Some(proxy) = either("HTTPS_PROXY") {
        findings.push(DoctorFinding::fine(
            "HTTPS_PROXY",
            format!("upstreams are called through {}", address_without_secrets(proxy)),
        ));
    }
}

/// Checks the certificates, and whether the default port is free.
pub(super) fn check_machine(current: &VariableMap, findings: &mut Vec<DoctorFinding>) {
    for name in ["SSL_CERT_FILE", "AWS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE"] {
        if let Some(path) = nonempty_value(current, name)
            && !Path::new(path).exists()
        {
            let remedy = format!("unset {name}, or name a file of certificates");
            findings.push(DoctorFinding::wrong(name, format!("there is no {path}"), remedy));
        }
    }
    let port = loomrec_cli::serve_setup::PORT;
    match TcpListener::bind(("127.0.0.1", port)) {
        Ok(_) => findings.push(DoctorFinding::fine("listener", format!("127.0.0.1:{port} is free"))),
        Err(error) => findings.push(DoctorFinding::warning(
            "listener",
            format!("127.0.0.1:{port} is not available: {error}"),
            "a server without CMD needs another: --listen 127.0.0.1:PORT; with CMD a free one is taken",
        )),
    }
}

pub(super) fn nonempty_value<'a>(current: &'a VariableMap, name: &str) -> Option<&'a str> {
    current.get(name).map(String::as_str).filter(|value| !value.trim().is_empty())
}

/// Whether this is the address of a loomrec server on this machine.
pub(super) fn is_ours(url: &Url) -> bool {
    let local = matches!(url.host_str(), Some("127.0.0.1" | "localhost" | "[::1]"));
    local && url.port() == Some(loomrec_cli::serve_setup::PORT)
}

/// Returns an address without its credentials and its query.
fn address_without_secrets(address: &str) -> String {
    // Without a scheme, the text before the first colon would be taken for one.
    let bare = !address.contains("://");
    let whole = if bare { format!("http://{address}") } else { address.to_owned() };
    let Ok(mut url) = Url::parse(&whole) else { return "its value".to_owned() };
    // These calls fail only for addresses that cannot contain credentials.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.to_string()
}
