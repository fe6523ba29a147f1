//! The key variables that a program needs in a replay: those that the recorded programs had. A
//! recording that does not say which they had needs those of the upstreams that it has calls to.

use std::collections::BTreeSet;

use loomrec_provider::directory;
use loomrec_recording::{Entry, KeyVariables, RecordingMeta};

/// The key variables of the programs that recordings were made with.
#[derive(Debug, Default)]
pub struct RecordedKeys {
    variables: KeyVariables,
    /// Whether the recording that is being read does not say which there were.
    is_silent: bool,
    /// The known upstreams of calls whose variables are counted.
    upstreams: BTreeSet<String>,
    /// Whether the recordings show which variables the program had, even if it had none.
    is_known: bool,
}

impl RecordedKeys {
    /// Begins with a recording.
    pub fn begin_recording(&mut self, meta: &RecordingMeta) {
        self.is_silent = meta.key_variables().is_empty();
        self.is_known |= !self.is_silent;
        self.variables.add(meta.key_variables());
    }

    /// Counts an entry of the recording.
    pub fn note_entry(&mut self, entry: &Entry) {
        let is_counted = |name: &String| self.upstreams.contains(name);
        if !self.is_silent || entry.upstream.as_ref().is_some_and(is_counted) {
            return;
        }
        let head = entry.request_method().zip(entry.request_path());
        let Some(known) = directory::upstream_of_call(entry.upstream.as_deref(), head) else {
            return;
        };
        self.is_known = true;
        self.variables.add(&known.first_key_variables().collect());
        if entry.upstream.as_deref() == Some(known.name) {
            self.upstreams.insert(known.name.to_owned());
        }
    }

    /// Returns the variables. `None` if nothing tells which they are.
    pub fn variables(&self) -> Option<&KeyVariables> {
        self.is_known.then_some(&self.variables)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loomrec_identity::IdentityRules;
    use loomrec_recording::RecordedRequest;

    fn entry(upstream: Option<&str>, path: &str) -> Entry {
        let request = RecordedRequest {
            method: "POST".to_owned(),
            path: path.to_owned(),
            ..RecordedRequest::default()
        };
        let upstream = upstream.map(str::to_owned);
        Entry { upstream, request: Some(request), ..Entry::default() }
    }

    fn names(keys: &RecordedKeys) -> Option<Vec<&'static str>> {
        keys.variables().map(|variables| variables.iter().collect())
    }

    #[test]
    fn recording_that_says_nothing_needs_the_keys_of_its_upstreams() {
        for (upstream, path, expected) in [
            (Some("groq"), "/openai/v1/chat/completions", Some(vec!["GROQ_API_KEY"])),
            (
                Some("gemini"),
                "/v1beta/models/x:generateContent",
                Some(vec!["GEMINI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"]),
            ),
            // Behind a name that the user made up, the path tells.
            (Some("gateway"), "/v1/messages", Some(vec!["ANTHROPIC_API_KEY"])),
            (None, "/chat/completions", Some(vec!["CODEX_API_KEY", "OPENAI_API_KEY"])),
            (Some("vertex"), "/v1/x", Some(vec![])),
            (Some("gateway"), "/what/ever", None),
        ] {
            let mut keys = RecordedKeys::default();
            keys.begin_recording(&RecordingMeta::default());
            keys.note_entry(&entry(upstream, path));
            assert_eq!(names(&keys), expected, "{upstream:?} {path}");
        }
    }

    #[test]
    fn names_that_a_recording_states_are_all_that_it_needs() {
        let mut stated = RecordingMeta::new(&IdentityRules::default());
        stated.add_key_variables(&KeyVariables::known_among(["XAI_API_KEY"]));
        let mut keys = RecordedKeys::default();
        keys.begin_recording(&stated);
        keys.note_entry(&entry(Some("groq"), "/x"));
        assert_eq!(names(&keys), Some(vec!["XAI_API_KEY"]));
        keys.begin_recording(&RecordingMeta::default());
        keys.note_entry(&entry(Some("groq"), "/x"));
        assert_eq!(names(&keys), Some(vec!["GROQ_API_KEY", "XAI_API_KEY"]));
    }
}
