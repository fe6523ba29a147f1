//! The control endpoints as a table, each with what it can do to a strict replay, and the check that
//! lets a request through.

use http::Method;

use super::Proxy;
use loomrec_dialect::compat::control::{CompatEndpoint, ENDPOINTS};
use loomrec_engine::{ClientEffect, StrictAdmission, StrictRefusal};

/// A control endpoint.
#[derive(Clone, Copy, Debug)]
pub struct ControlEndpoint {
    /// The method.
    pub method: &'static str,
    /// The path.
    pub path: &'static str,
    /// The parameters of the query, for people.
    pub query: &'static str,
    /// What it can do to a strict replay.
    pub effect: ClientEffect,
}

/// Returns an endpoint that changes nothing.
const fn reading_endpoint(path: &'static str, query: &'static str) -> ControlEndpoint {
    ControlEndpoint { method: "GET", path, query, effect: ClientEffect::Harmless }
}

/// Returns an endpoint without a query.
const fn endpoint(
    method: &'static str,
    path: &'static str,
    effect: ClientEffect,
) -> ControlEndpoint {
    ControlEndpoint { method, path, query: "", effect }
}

/// Returns an endpoint that weakens a strict replay.
const fn weakening_endpoint(
    method: &'static str,
    path: &'static str,
    query: &'static str,
) -> ControlEndpoint {
    ControlEndpoint { method, path, query, effect: ClientEffect::Weakens }
}

/// loomrec's own endpoints.
pub const CONTROL_ENDPOINTS: [ControlEndpoint; 22] = [
    reading_endpoint("/__loomrec/live", ""),
    reading_endpoint("/__loomrec/ready", ""),
    reading_endpoint("/__loomrec/health", ""),
    reading_endpoint("/__loomrec/journal", "[?since=SEQ|TIME][&follow=1]"),
    reading_endpoint("/__loomrec/", ""),
    reading_endpoint("/__loomrec/run", ""),
    reading_endpoint("/__loomrec/call", "?seq=SEQ"),
    reading_endpoint("/__loomrec/questions", "?seq=SEQ,SEQ"),
    reading_endpoint("/__loomrec/metrics", ""),
    reading_endpoint("/metrics", ""),
    reading_endpoint("/__loomrec/mismatches", ""),
    weakening_endpoint("POST", "/__loomrec/reset", "[?session=NAME]"),
    // The program's word is what a budget of recovery asks for, and changes no answer.
    ControlEndpoint {
        method: "POST",
        path: "/__loomrec/recovered",
        query: "[?session=NAME][&step_id=STEP]",
        effect: ClientEffect::Harmless,
    },
    reading_endpoint("/__loomrec/chaos", "[?session=NAME]"),
    weakening_endpoint("POST", "/__loomrec/chaos", "[?session=NAME]"),
    weakening_endpoint("DELETE", "/__loomrec/chaos", "[?session=NAME]"),
    endpoint("POST", "/__loomrec/session", ClientEffect::ByMembers),
    endpoint("POST", "/__loomrec/session/vars", ClientEffect::ByMembers),
    endpoint("POST", "/__loomrec/session/end", ClientEffect::Harmless),
    reading_endpoint("/__loomrec/session", "?prefix=PREFIX"),
    reading_endpoint("/__loomrec/sessions", ""),
    reading_endpoint("/__loomrec/environment", "[?prefix=PREFIX]"),
];

/// The endpoints of another tool, in runs that speak its words.
pub const COMPAT_ENDPOINTS: [ControlEndpoint; ENDPOINTS.len()] = {
    let mut endpoints = [reading_endpoint("", ""); ENDPOINTS.len()];
    let mut at = 0;
    while at < endpoints.len() {
        let CompatEndpoint { method, path, weakens } = ENDPOINTS[at];
        let effect = if weakens { ClientEffect::Weakens } else { ClientEffect::Harmless };
        endpoints[at] = endpoint(method, path, effect);
        at += 1;
    }
    endpoints
};

/// Asks the strictness of the run about a control request. One that no table has weakens.
///
/// # Errors
/// The replay is strict, and the request would weaken it.
pub(super) fn admit_request(
    proxy: &Proxy,
    method: &Method,
    path: &str,
) -> Result<StrictAdmission, StrictRefusal> {
    let is_read = matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS);
    let is_it =
        |endpoint: &&ControlEndpoint| endpoint.path == path && endpoint.method == method.as_str();
    let found = CONTROL_ENDPOINTS.iter().chain(&COMPAT_ENDPOINTS).find(is_it);
    let effect = found.map(|endpoint| endpoint.effect);
    match effect {
        Some(ClientEffect::Harmless | ClientEffect::ByMembers) => {
            Ok(proxy.strictness.admit_harmless())
        }
        None if is_read => Ok(proxy.strictness.admit_harmless()),
        Some(ClientEffect::Weakens) => proxy.strictness.admit(&format!("{method} {path}")),
        None => proxy.strictness.admit_uncounted("a control call that is not known"),
    }
}

/// Returns loomrec's own endpoints as people read them: one line for each path and query.
pub(super) fn endpoint_texts() -> Vec<String> {
    let mut texts: Vec<(Vec<&str>, String)> = Vec::new();
    for ControlEndpoint { method, path, query, .. } in CONTROL_ENDPOINTS {
        let target = format!("{path}{query}");
        match texts.iter_mut().find(|(_, known)| *known == target) {
            Some((methods, _)) => methods.push(method),
            None => texts.push((vec![method], target)),
        }
    }
    texts.into_iter().map(|(methods, target)| format!("{} {target}", methods.join(", "))).collect()
}
