//! The count of connections to providers, and to other hosts.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use loomrec_engine::route::UNNAMED;
use loomrec_provider::directory::KnownUpstream;

/// The most hosts that are counted one by one.
const MOST_HOSTS: usize = 1000;
/// The name under which further hosts are counted.
const OTHER_HOSTS: &str = "other hosts";

/// The connections to a provider's host that did not go to loomrec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Escape {
    /// The host, with its port if that is not 443.
    pub host: String,
    /// How many connections were asked for.
    pub count: u64,
    /// What makes them calls to loomrec.
    pub remedy: EscapeRemedy,
}

/// What makes a connection past loomrec one to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EscapeRemedy {
    /// The base URL that leads to loomrec instead.
    BaseUrl {
        /// In terms of a variable: `$OPENAI_BASE_URL`.
        url: String,
        /// Whether the run could have `--intercept`, and has not.
        can_intercept: bool,
    },
    /// The value of `--upstream` with which an intercepting run answers its host.
    Upstream(String),
}

impl EscapeRemedy {
    /// Returns the one for tunnels to a host that an intercepting run does not answer.
    pub(super) fn upstream_flag(upstream: &str, host: &str) -> Self {
        Self::Upstream(match upstream {
            UNNAMED => format!("https://{host}"),
            _ => format!("{upstream}=https://{host}"),
        })
    }

    /// Returns it in the few words that a status line has room for.
    pub(super) fn for_status(&self) -> String {
        match self {
            Self::BaseUrl { url, .. } => format!("use the base URL {url}"),
            Self::Upstream(flag) => format!("--upstream {flag} has it answered"),
        }
    }
}

impl fmt::Display for EscapeRemedy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BaseUrl { url, can_intercept } => {
                let other = if *can_intercept { ", or give --intercept" } else { "" };
                write!(formatter, "have the program use {url} as its base URL{other}")
            }
            Self::Upstream(flag) => write!(formatter, "give --upstream {flag}"),
        }
    }
}

/// The connections to a host, by what became of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostCount {
    /// The host, with its port if that is not 443.
    pub host: String,
    /// How many connections were asked for.
    pub count: u64,
}

/// The hosts that went through a guard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GuardReport {
    /// The hosts of providers.
    pub escapes: Vec<Escape>,
    /// Other hosts, to which connections were passed on.
    pub passed: Vec<HostCount>,
    /// Other hosts, to which connections were refused.
    pub refused: Vec<HostCount>,
    /// Hosts whose tunnels ended before their first request.
    pub failed: Vec<FailedTunnel>,
}

/// The tunnels to a host whose end loomrec is, and that ended before their first request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedTunnel {
    /// The host.
    pub host: String,
    /// How many tunnels they are.
    pub count: u64,
    /// The reason of the first one that lost calls, or else of the first one, after "its client".
    pub reason: String,
    /// Whether a client was kept from its calls. Otherwise each has left of itself.
    pub has_lost_calls: bool,
}

/// How a tunnel failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TunnelFailure {
    /// Its client left of itself.
    Left,
    /// Its client did not accept the certificate.
    Distrusted,
    /// There was no valid handshake for its host.
    NoHandshake,
}

/// The connections of a run, by host.
#[derive(Debug, Default)]
pub(super) struct HostCounts {
    escapes: Mutex<BTreeMap<String, Escape>>,
    passed: Mutex<BTreeMap<String, u64>>,
    refused: Mutex<BTreeMap<String, u64>>,
    failed: Mutex<BTreeMap<String, FailedTunnel>>,
}

impl HostCounts {
    /// Counts a connection to `host`, which this would have made one to loomrec.
    pub(super) fn add_escape(&self, host: &str, remedy: &EscapeRemedy) {
        let mut hosts = self.escapes.lock().unwrap_or_else(PoisonError::into_inner);
        let host = counted_name(&hosts, host);
        let escape = hosts.entry(host.to_owned()).or_insert_with(|| Escape {
            host: host.to_owned(),
            count: 0,
            remedy: remedy.clone(),
        });
        escape.count += 1;
    }

    /// Counts a connection to a host that is no known provider's, and was passed on.
    pub(super) fn add_passed(&self, host: &str) {
        count_host(&self.passed, host);
    }

    /// Counts a connection to a host that was refused. Returns whether it is the first one.
    pub(super) fn add_refused(&self, host: &str) -> bool {
        count_host(&self.refused, host)
    }

    /// Counts a tunnel that ended before its first request. Returns whether it is the first one.
    pub(super) fn add_failed(&self, host: &str, reason: &str, failure: TunnelFailure) -> bool {
        let mut hosts = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        let host = counted_name(&hosts, host);
        let failed = hosts.entry(host.to_owned()).or_insert_with(|| FailedTunnel {
            host: host.to_owned(),
            count: 0,
            reason: reason.to_owned(),
            has_lost_calls: false,
        });
        failed.count += 1;
        if failure != TunnelFailure::Left && !failed.has_lost_calls {
            failed.has_lost_calls = true;
            reason.clone_into(&mut failed.reason);
        }
        failed.count == 1
    }

    /// Returns the hosts, sorted by name.
    pub(super) fn host_report(&self) -> GuardReport {
        let escapes = self.escapes.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        GuardReport {
            escapes: escapes.values().cloned().collect(),
            passed: host_counts(&self.passed),
            refused: host_counts(&self.refused),
            failed: failed.values().cloned().collect(),
        }
    }
}

/// Counts a host. Returns whether it is the first time.
fn count_host(counts: &Mutex<BTreeMap<String, u64>>, host: &str) -> bool {
    let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
    let host = counted_name(&counts, host);
    let count = counts.entry(host.to_owned()).or_default();
    *count += 1;
    *count == 1
}

fn host_counts(counts: &Mutex<BTreeMap<String, u64>>) -> Vec<HostCount> {
    let counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
    counts.iter().map(|(host, count)| HostCount { host: host.clone(), count: *count }).collect()
}

/// Returns the name under which a host is counted.
fn counted_name<'a, T>(hosts: &BTreeMap<String, T>, host: &'a str) -> &'a str {
    if hosts.len() < MOST_HOSTS || hosts.contains_key(host) { host } else { OTHER_HOSTS }
}

/// Returns the base URL for a host of a provider that is no upstream of the run, and the flag that
/// makes it one.
pub(super) fn base_url_with_flag(upstream: &str, host: &str) -> String {
    match KnownUpstream::find(upstream) {
        Some(_) => base_url(upstream),
        None => format!("$LOOMREC_URL/{upstream} (with --upstream {upstream}=https://{host})"),
    }
}

/// Returns the variable with loomrec's base URL for an upstream, or that URL in terms of loomrec's
/// own.
pub(super) fn base_url(upstream: &str) -> String {
    let known = KnownUpstream::find(upstream).filter(|known| known.base.is_some());
    let variable = known.and_then(|known| known.variables.first());
    match variable {
        Some(variable) => format!("${}", variable.name),
        None if upstream == UNNAMED => "$LOOMREC_URL".to_owned(),
        None => format!("$LOOMREC_URL/{upstream}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_counted_by_host() {
        let counts = HostCounts::default();
        for host in ["b.example", "a.example", "b.example"] {
            counts.add_escape(host, &EscapeRemedy::upstream_flag("gateway", host));
            counts.add_passed(host);
        }
        let GuardReport { escapes, passed, .. } = counts.host_report();
        let escapes: Vec<_> = escapes.into_iter().map(|it| (it.host, it.count)).collect();
        let passed: Vec<_> = passed.into_iter().map(|it| (it.host, it.count)).collect();
        assert_eq!(escapes, [("a.example".to_owned(), 1), ("b.example".to_owned(), 2)]);
        assert_eq!(passed, escapes);
    }

    #[test]
    fn number_of_hosts_is_bounded() {
        let counts = HostCounts::default();
        for number in (0..MOST_HOSTS + 5).chain([0]) {
            let remedy = EscapeRemedy::BaseUrl { url: base_url("gateway"), can_intercept: true };
            counts.add_escape(&format!("{number}.example"), &remedy);
            counts.add_passed(&format!("{number}.example"));
        }
        let GuardReport { escapes, passed, .. } = counts.host_report();
        assert_eq!((escapes.len(), passed.len()), (MOST_HOSTS + 1, MOST_HOSTS + 1));
        let rest = escapes.iter().find(|escape| escape.host == OTHER_HOSTS).unwrap();
        let remedy =
            "have the program use $LOOMREC_URL/gateway as its base URL, or give --intercept";
        assert_eq!((rest.count, rest.remedy.to_string().as_str()), (5, remedy));
        let rest = passed.iter().find(|passed| passed.host == OTHER_HOSTS).unwrap();
        let first = passed.iter().find(|passed| passed.host == "0.example").unwrap();
        assert_eq!((rest.count, first.count), (5, 2));
    }

    #[test]
    fn base_url_is_a_variable_that_is_always_set() {
        let all = loomrec_provider::directory::UPSTREAMS.iter();
        let set: Vec<_> = all.filter(|known| known.base.is_some()).collect();
        for known in set.iter().filter(|known| !known.variables.is_empty()) {
            assert_eq!(base_url(known.name), format!("${}", known.variables[0].name));
        }
        assert_eq!(base_url("azure"), "$LOOMREC_URL/azure");
        assert_eq!(base_url(UNNAMED), "$LOOMREC_URL");
        let groq = base_url_with_flag("groq", "api.groq.com");
        let other = base_url_with_flag("github-models", "models.github.ai");
        let expected =
            "$LOOMREC_URL/github-models (with --upstream github-models=https://models.github.ai)";
        assert_eq!((groq, other.as_str()), (base_url("groq"), expected));
    }
}
