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
const fn reads(path: &'static str, query: &'static str) -> ControlEndpoint {
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
const fn weakens(method: &'static str, path: &'static str, query: &'static str) -> ControlEndpoint {
    ControlEndpoint { method, path, query, effect: ClientEffect::Weakens }
}

/// loomrec's own endpoints.
pub const CONTROL_ENDPOINTS: [ControlEndpoint; 22] = [
    reads("/__loomrec/live", ""),
    reads("/__loomrec/ready", ""),
    reads("/__loomrec/health", ""),
    reads("/__loomrec/journal", "[?since=SEQ|TIME][&follow=1]"),
    reads("/__loomrec/", ""),
    reads("/__loomrec/run", ""),
    reads("/__loomrec/call", "?seq=SEQ"),
    reads("/__loomrec/questions", "?seq=SEQ,SEQ"),
    reads("/__loomrec/metrics", ""),
    reads("/metrics", ""),
    reads("/__loomrec/mismatches", ""),
    weakens("POST", "/__loomrec/reset", "[?session=NAME]"),
    // The program's word is what a budget of recovery asks for, and changes no answer.
    ControlEndpoint {
        method: "POST",
        path: "/__loomrec/recovered",
        query: "[?session=NAME][&step_id=STEP]",
        effect: ClientEffect::Harmless,
    },
    reads("/__loomrec/chaos", "[?session=NAME]"),
    weakens("POST", "/__loomrec/chaos", "[?session=NAME]"),
    weakens("DELETE", "/__loomrec/chaos", "[?session=NAME]"),
    endpoint("POST", "/__loomrec/session", ClientEffect::ByMembers),
    endpoint("POST", "/__loomrec/session/vars", ClientEffect::ByMembers),
    endpoint("POST", "/__loomrec/session/end", ClientEffect::Harmless),
    reads("/__loomrec/session", "?prefix=PREFIX"),
    reads("/__loomrec/sessions", ""),
    reads("/__loomrec/environment", "[?prefix=PREFIX]"),
];

/// The endpoints of another tool, in runs that speak its words.
pub const COMPAT_ENDPOINTS: [ControlEndpoint; ENDPOINTS.len()] = {
    let mut endpoints = [reads("", ""); ENDPOINTS.len()];
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
pub(super) fn admit(
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
        None => proxy.strictness.check("a control call that is not known"),
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
