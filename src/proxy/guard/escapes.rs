//! The count of connections to providers.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use loomrec_engine::route::UNNAMED;
use loomrec_provider::directory::KnownUpstream;

/// The most hosts that are counted one by one.
const MOST_HOSTS: usize = 1000;

/// The connections to a provider's host that did not go to loomrec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Escape {
    /// The host, with its port if that is not 443.
    pub host: String,
    /// How many connections were asked for.
    pub count: u64,
    /// The base URL that leads to loomrec instead, in terms of a variable: `$OPENAI_BASE_URL`.
    pub base_url: String,
}

/// The escapes of a run, by host.
#[derive(Debug, Default)]
pub(super) struct EscapeCounts(Mutex<BTreeMap<String, Escape>>);

impl EscapeCounts {
    /// Counts a connection to `host`, an address of the upstream of this name.
    pub(super) fn add(&self, host: &str, upstream: &str) {
        let mut hosts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let host = if hosts.len() < MOST_HOSTS { host } else { "other hosts" };
        let escape = hosts.entry(host.to_owned()).or_insert_with(|| Escape {
            host: host.to_owned(),
            count: 0,
            base_url: base_url(upstream),
        });
        escape.count += 1;
    }

    /// Returns the escapes, sorted by host.
    pub(super) fn list(&self) -> Vec<Escape> {
        let hosts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        hosts.values().cloned().collect()
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
        let counts = EscapeCounts::default();
        for host in ["b.example", "a.example", "b.example"] {
            counts.add(host, UNNAMED);
        }
        let list: Vec<_> = counts.list().into_iter().map(|it| (it.host, it.count)).collect();
        assert_eq!(list, [("a.example".to_owned(), 1), ("b.example".to_owned(), 2)]);
    }

    #[test]
    fn number_of_hosts_is_bounded() {
        let counts = EscapeCounts::default();
        (0..MOST_HOSTS + 5).for_each(|number| counts.add(&format!("{number}.example"), "gateway"));
        let list = counts.list();
        assert_eq!(list.len(), MOST_HOSTS + 1);
        let rest = list.iter().find(|escape| escape.host == "other hosts").unwrap();
        assert_eq!((rest.count, rest.base_url.as_str()), (5, "$LOOMREC_URL/gateway"));
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
    }
}
