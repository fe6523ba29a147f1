//! The addresses of upstreams at which recorded calls were made. Answers name them for further
//! requests.

use loomrec_recording::Entry;

/// How many addresses are kept. A run has a few upstreams, and an upstream a few addresses.
const MOST: usize = 64;

/// Names of upstreams, each with an address (scheme, host and port) that is not its public one.
#[derive(Debug, Default)]
pub struct RecordedAddresses(Vec<(String, String)>);

impl RecordedAddresses {
    /// Adds the address of the upstream of an entry.
    pub(super) fn note_entry(&mut self, entry: &Entry) {
        let (Some(upstream), Some(origin)) = (&entry.upstream, &entry.upstream_origin) else {
            return;
        };
        let is_it = |known: &(String, String)| known.0 == *upstream && known.1 == *origin;
        if self.0.len() < MOST && !self.0.iter().any(is_it) {
            self.0.push((upstream.clone(), origin.clone()));
        }
    }

    /// Returns each upstream with one of its addresses.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(upstream, origin)| (upstream.as_str(), origin.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_address_is_kept_once_and_only_so_many() {
        let entry = |upstream: Option<&str>, origin: Option<String>| Entry {
            upstream: upstream.map(str::to_owned),
            upstream_origin: origin,
            ..Entry::default()
        };
        let mut origins = RecordedAddresses::default();
        origins.note_entry(&entry(Some("a"), None));
        origins.note_entry(&entry(None, Some("http://x".to_owned())));
        for number in 0..200 {
            let entry = entry(Some("a"), Some(format!("http://h{}", number / 2)));
            origins.note_entry(&entry);
        }
        assert_eq!(origins.iter().count(), MOST);
        assert_eq!(
            origins.iter().take(2).collect::<Vec<_>>(),
            [("a", "http://h0"), ("a", "http://h1")]
        );
    }
}
