//! How a key is shown to each upstream, and which environment variables hold it.
//!
//! The variables are those that the upstream's own SDKs and tools read.

use super::Provider;
use super::directory::KnownUpstream;

/// How an upstream is shown a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyCarrier {
    /// `authorization: Bearer KEY`.
    Bearer,
    /// The key alone, in the header of this name.
    Header(&'static str),
}

/// One way to show a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyPlacement {
    /// How.
    pub carrier: KeyCarrier,
    /// The variables that may hold the key; the first that is set does.
    pub variables: &'static [&'static str],
}

/// What an upstream wants to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpstreamCredential {
    /// The ways, the usual one first.
    pub ways: &'static [KeyPlacement],
    /// Whether nothing is sent without one.
    pub needed: bool,
    /// What else there is to say where no variable is set.
    pub hint: &'static str,
}

impl UpstreamCredential {
    /// All variables, the usual one first.
    pub fn variables(&self) -> impl Iterator<Item = &'static str> {
        self.ways.iter().flat_map(|way| way.variables.iter().copied())
    }
}

const fn bearer(variables: &'static [&'static str]) -> KeyPlacement {
    KeyPlacement { carrier: KeyCarrier::Bearer, variables }
}

const fn header(name: &'static str, variables: &'static [&'static str]) -> KeyPlacement {
    KeyPlacement { carrier: KeyCarrier::Header(name), variables }
}

const fn needed(ways: &'static [KeyPlacement], hint: &'static str) -> UpstreamCredential {
    UpstreamCredential { ways, needed: true, hint }
}

/// Google's own tools print a token that lasts for an hour.
const GOOGLE: &[KeyPlacement] =
    &[bearer(&["GOOGLE_OAUTH_ACCESS_TOKEN", "CLOUDSDK_AUTH_ACCESS_TOKEN", "GOOGLE_ACCESS_TOKEN"])];
const GOOGLE_HINT: &str = "set it with GOOGLE_OAUTH_ACCESS_TOKEN=$(gcloud auth print-access-token)";

const GEMINI: &[&str] = &["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"];

const GEMINI_AS_OPENAI: &[KeyPlacement] = &[bearer(GEMINI)];

const SIGNED: &str = "requests that are signed with AWS keys (SigV4) cannot be sent again this \
                      way; a Bedrock API key in AWS_BEARER_TOKEN_BEDROCK can";

/// Those that want something else than their first key as a bearer token.
const OTHERS: &[(&str, UpstreamCredential)] = &[
    (
        "anthropic",
        needed(
            &[header("x-api-key", &["ANTHROPIC_API_KEY"]), bearer(&["ANTHROPIC_AUTH_TOKEN"])],
            "",
        ),
    ),
    ("gemini", needed(&[header("x-goog-api-key", GEMINI)], "")),
    ("vertex", needed(GOOGLE, GOOGLE_HINT)),
    ("anthropic-google-cloud", needed(GOOGLE, GOOGLE_HINT)),
    (
        "azure",
        needed(
            &[
                header("api-key", &["AZURE_OPENAI_API_KEY", "AZURE_API_KEY"]),
                bearer(&["AZURE_OPENAI_AD_TOKEN", "AZURE_AD_TOKEN"]),
            ],
            "",
        ),
    ),
    ("anthropic-foundry", needed(&[header("x-api-key", &["ANTHROPIC_FOUNDRY_API_KEY"])], "")),
    ("bedrock", needed(&[bearer(&["AWS_BEARER_TOKEN_BEDROCK"])], SIGNED)),
    ("anthropic-mantle", needed(&[bearer(&["AWS_BEARER_TOKEN_BEDROCK"])], SIGNED)),
    (
        "anthropic-aws",
        needed(
            &[header("x-api-key", &["ANTHROPIC_AWS_API_KEY"])],
            "requests that are signed with AWS keys (SigV4) cannot be sent again this way",
        ),
    ),
    (
        "ollama",
        UpstreamCredential { ways: &[bearer(&["OLLAMA_API_KEY"])], needed: false, hint: "" },
    ),
];

/// What the upstream of this name wants to see for a request with this path; `None`
/// for one that is not known by name.
pub fn of(upstream: &str, path: &str) -> Option<UpstreamCredential> {
    // Google's paths in OpenAI's shape want what OpenAI's SDK sends.
    if upstream == "gemini" && path.split('/').any(|part| part == "openai") {
        return Some(needed(GEMINI_AS_OPENAI, ""));
    }
    if let Some((_, found)) = OTHERS.iter().find(|(name, _)| *name == upstream) {
        return Some(*found);
    }
    let known = KnownUpstream::find(upstream)?;
    PLAIN.iter().find(|(name, _)| *name == known.name).map(|(_, ways)| needed(ways, ""))
}

/// The others: their keys, as a bearer token.
const PLAIN: &[(&str, &[KeyPlacement])] = &[
    ("openai", &[bearer(&["OPENAI_API_KEY"])]),
    ("mistral", &[bearer(&["MISTRAL_API_KEY"])]),
    ("cohere", &[bearer(&["CO_API_KEY", "COHERE_API_KEY"])]),
    ("groq", &[bearer(&["GROQ_API_KEY"])]),
    ("openrouter", &[bearer(&["OPENROUTER_API_KEY"])]),
    ("deepseek", &[bearer(&["DEEPSEEK_API_KEY"])]),
    ("xai", &[bearer(&["XAI_API_KEY"])]),
    ("together", &[bearer(&["TOGETHER_API_KEY", "TOGETHERAI_API_KEY"])]),
    ("fireworks", &[bearer(&["FIREWORKS_API_KEY", "FIREWORKS_AI_API_KEY"])]),
];

/// How an upstream that is not known by name is shown a key, by the shape of what it
/// is asked.
pub fn carrier(shape: Provider) -> KeyCarrier {
    match shape {
        Provider::Anthropic => KeyCarrier::Header("x-api-key"),
        Provider::Gemini => KeyCarrier::Header("x-goog-api-key"),
        _ => KeyCarrier::Bearer,
    }
}

/// The variable that holds the key of an upstream that is not known by name:
/// `NAME_API_KEY`.
pub fn variable(upstream: &str) -> String {
    let upper = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    format!("{}_API_KEY", upstream.chars().map(upper).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::directory::UPSTREAMS;

    #[test]
    fn every_upstream_known_by_name_says_where_its_key_is() {
        for upstream in UPSTREAMS {
            let found = of(upstream.name, "/v1/x").unwrap_or_else(|| panic!("{}", upstream.name));
            assert!(found.variables().next().is_some(), "{}", upstream.name);
            // The keys that its SDKs insist on are among them.
            for key in upstream.keys {
                assert!(found.variables().any(|known| known == *key), "{key}");
            }
        }
        assert_eq!(of("mine", "/v1/x"), None);
    }

    #[test]
    fn path_in_another_shape_gets_the_key_as_that_shape_has_it() {
        let carrier = |path: &str| of("gemini", path).unwrap().ways[0].carrier;
        assert_eq!(carrier("/v1beta/openai/chat/completions"), KeyCarrier::Bearer);
        assert_eq!(
            carrier("/v1beta/models/m:generateContent"),
            KeyCarrier::Header("x-goog-api-key")
        );
        assert_eq!(variable("my-gate.way2"), "MY_GATE_WAY2_API_KEY");
    }
}
