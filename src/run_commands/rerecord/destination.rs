//! Where calls are sent, and where the recording has them from.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use url::Url;

use loomrec_cli::{serve_setup, terminal};
use loomrec_engine::route::UNNAMED;
use loomrec_engine::upstream::recorded_origin;
use loomrec_provider::directory::KnownUpstream;
use loomrec_recording::Entry;

/// How many addresses are named for one upstream.
const NAMED: usize = 3;

/// The addresses at which the calls of each upstream were recorded.
#[derive(Clone, Debug, Default)]
pub(super) struct RecordedOrigins(BTreeMap<String, BTreeSet<String>>);

impl RecordedOrigins {
    /// Adds a recorded call. An entry without an origin was recorded at its upstream's public
    /// address, or by another program.
    pub(super) fn add(&mut self, entry: &Entry) {
        let upstream = entry.upstream.as_deref().unwrap_or(UNNAMED);
        let public = || KnownUpstream::find(upstream)?.base.map(str::to_owned);
        let Some(origin) = entry.upstream_origin.clone().or_else(public) else { return };
        if entry.has_request() {
            self.0.entry(upstream.to_owned()).or_default().insert(origin);
        }
    }
}

/// Where the calls of one upstream go.
#[derive(Clone, Debug)]
struct UpstreamDestination {
    base: Url,
    /// Whether `--upstream` gives the address.
    is_explicit: bool,
}

/// Where the calls of each upstream go.
#[derive(Clone, Debug, Default)]
pub(super) struct CallDestinations {
    recorded: RecordedOrigins,
    sent: BTreeMap<String, UpstreamDestination>,
}

impl CallDestinations {
    /// Adds a call that is to be sent to this address.
    pub(super) fn add(&mut self, upstream: &str, base: &Url, is_explicit: bool) {
        if !self.sent.contains_key(upstream) {
            let destination = UpstreamDestination { base: base.clone(), is_explicit };
            self.sent.insert(upstream.to_owned(), destination);
        }
    }

    /// Adds the destinations of another recording's calls.
    pub(super) fn add_all(&mut self, other: &Self) {
        for (upstream, origins) in &other.recorded.0 {
            self.recorded.0.entry(upstream.clone()).or_default().extend(origins.iter().cloned());
        }
        for (upstream, destination) in &other.sent {
            self.sent.entry(upstream.clone()).or_insert_with(|| destination.clone());
        }
    }

    /// Sets the addresses at which calls were recorded.
    pub(super) fn set_recorded(&mut self, recorded: RecordedOrigins) {
        self.recorded = recorded;
    }

    /// Returns the other addresses at which an upstream's calls were recorded.
    fn other_origins(&self, upstream: &str, destination: &UpstreamDestination) -> Vec<&str> {
        let own = recorded_origin(&destination.base);
        let recorded = self.recorded.0.get(upstream).into_iter().flatten();
        recorded.map(String::as_str).filter(|origin| *origin != own).collect()
    }

    /// Returns the upstreams whose calls go to an address at which they were not recorded, and
    /// which `--upstream` does not give.
    fn moved_upstreams(&self) -> impl Iterator<Item = (&str, &UpstreamDestination, Vec<&str>)> {
        let all = self.sent.iter().filter(|(_, destination)| !destination.is_explicit);
        let with = all.map(|(upstream, destination)| {
            (upstream.as_str(), destination, self.other_origins(upstream, destination))
        });
        with.filter(|(_, _, others)| !others.is_empty())
    }

    /// Describes the calls that go to another address than they were recorded at, unless
    /// `--upstream` gives that address. Returns `None` if all calls go where they were recorded.
    pub(super) fn describe_moved_calls(&self) -> Option<String> {
        let part = |(upstream, destination, others): (&str, &UpstreamDestination, Vec<&str>)| {
            let (upstream, others) = (terminal::printable_line(upstream), list_origins(&others));
            format!(
                "{upstream} goes to {}, but was recorded at {others}",
                address_without_secrets(&destination.base)
            )
        };
        let parts: Vec<String> = self.moved_upstreams().map(part).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// Returns the flags that would send calls where they were recorded.
    pub(super) fn upstream_flags(&self) -> String {
        let flag = |(upstream, _, others): (&str, &UpstreamDestination, Vec<&str>)| {
            let upstream = terminal::printable_line(upstream);
            format!(
                "--upstream {upstream}={}",
                terminal::printable_line(others.first().unwrap_or(&"URL"))
            )
        };
        self.moved_upstreams().map(flag).collect::<Vec<_>>().join(" ")
    }

    /// Formats a line for each upstream.
    pub(super) fn to_text(&self) -> String {
        let line = |(upstream, destination): (&String, &UpstreamDestination)| {
            let others = self.other_origins(upstream, destination);
            let known = self.recorded.0.contains_key(upstream);
            let recorded = match (known, others.is_empty()) {
                (false, _) => "where it was recorded is not known".to_owned(),
                (true, true) => "where it was recorded".to_owned(),
                (true, false) => format!("it was recorded at {}", list_origins(&others)),
            };
            format!(
                "{} → {}, {recorded}\n",
                terminal::printable_line(upstream),
                address_without_secrets(&destination.base)
            )
        };
        self.sent.iter().map(line).collect()
    }

    /// Returns the destinations as JSON.
    pub(super) fn to_json(&self) -> Value {
        let row = |(upstream, destination): (&String, &UpstreamDestination)| {
            json!({
                "upstream": upstream,
                "url": address_without_secrets(&destination.base),
                "recorded_at": self.recorded.0.get(upstream),
                "differs": !self.other_origins(upstream, destination).is_empty(),
            })
        };
        self.sent.iter().map(row).collect()
    }
}

/// Returns the first of some addresses.
fn list_origins(origins: &[&str]) -> String {
    let named: Vec<_> =
        origins.iter().take(NAMED).map(|origin| terminal::printable_line(origin)).collect();
    match origins.len().saturating_sub(NAMED) {
        0 => named.join(" and "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// Returns an address without its secret parts.
fn address_without_secrets(base: &Url) -> String {
    let text = serve_setup::without_secrets(base.as_str());
    terminal::printable_line(text.trim_end_matches('/')).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    fn entry(upstream: &str, origin: Option<&str>) -> Entry {
        let request = serde_json::json!({"method": "POST", "path": "/v1/x", "headers": {}});
        let mut value = serde_json::json!({"upstream": upstream, "request": request});
        if let Some(origin) = origin {
            value["upstream_origin"] = origin.into();
        }
        Entry::parse(&value).unwrap()
    }

    fn destinations(sent: &[(&str, &str, bool)]) -> CallDestinations {
        let mut recorded = RecordedOrigins::default();
        recorded.add(&entry("openai", Some("http://127.0.0.1:9")));
        recorded.add(&entry("openai", Some("http://gate")));
        recorded.add(&entry("anthropic", None));
        recorded.add(&entry("mine", None));
        recorded.add(&Entry { upstream: Some("groq".to_owned()), ..Entry::default() });
        let mut destinations = CallDestinations::default();
        destinations.set_recorded(recorded);
        for (upstream, base, is_explicit) in sent {
            destinations.add(upstream, &url(base), *is_explicit);
        }
        destinations
    }

    #[test]
    fn upstreams_that_go_elsewhere_are_named_with_both_addresses() {
        let public = destinations(&[
            ("openai", "https://api.openai.com", false),
            ("anthropic", "https://api.anthropic.com", false),
            ("mine", "http://u:p@mine/x", true),
            ("groq", "https://api.groq.com", false),
        ]);
        assert_eq!(
            public.to_text(),
            "anthropic → https://api.anthropic.com, where it was recorded\n\
             groq → https://api.groq.com, where it was recorded is not known\n\
             mine → http://…@mine/x, where it was recorded is not known\n\
             openai → https://api.openai.com, it was recorded at http://127.0.0.1:9 and \
             http://gate\n"
        );
        assert_eq!(
            public.describe_moved_calls().unwrap(),
            "openai goes to https://api.openai.com, but was recorded at http://127.0.0.1:9 and \
             http://gate"
        );
        assert_eq!(public.upstream_flags(), "--upstream openai=http://127.0.0.1:9");
        let rows = public.to_json();
        assert_eq!(rows[3]["recorded_at"], json!(["http://127.0.0.1:9", "http://gate"]));
        assert_eq!((&rows[0]["differs"], &rows[3]["differs"]), (&json!(false), &json!(true)));
        assert_eq!(rows[1]["recorded_at"], Value::Null);
    }

    #[test]
    fn address_that_was_given_is_no_surprise() {
        let given = destinations(&[("openai", "http://other/v1", true)]);
        assert_eq!(given.describe_moved_calls(), None);
        assert!(given.to_text().contains("it was recorded at"), "{}", given.to_text());
    }
}
