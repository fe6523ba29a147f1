//! The request headers that change an answer and are therefore part of a request's key.
//!
//! The table below is the only list of them. It decides what is stored of a request and what its
//! key is made of. A value that names an account or may hold a credential is stored and hashed as a
//! digest, so that the key can be computed again from the stored request.

use std::borrow::Cow;

use super::accept::{self, BEDROCK_ACCEPT};
use super::digest::{self, sha256_hex};
use super::request_parts::{KeyForm, RequestParts};
use super::rules::IdentityRules;
use super::subprotocol::{self, SUBPROTOCOLS};
use super::version_header::selects_version;

/// How the value of a header is stored and hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HeaderForm {
    /// As it was sent.
    Clear,
    /// As it was sent if it is an address without user and parameters, else as a digest.
    Address,
    /// As it was sent if it is the name of a saved configuration, else as a digest, because a
    /// configuration in full may hold keys.
    Saved,
    /// As a digest: it names an account, or may hold a credential.
    Digest,
}

use HeaderForm::{Address, Clear, Digest, Saved};

/// Each header, sorted by name: how its value is stored, and what it changes.
const TABLE: [(&str, HeaderForm, &str); 56] = [
    ("anthropic-beta", Clear, "switches features of the API on"),
    ("anthropic-version", Clear, "the version of the API, and so the answer's shape"),
    ("azureml-model-deployment", Clear, "Azure ML: which deployment answers"),
    ("cf-aig-cache-key", Clear, "Cloudflare's gateway: which cached answer"),
    ("cf-aig-cache-ttl", Clear, "Cloudflare's gateway: whether a cached answer"),
    ("cf-aig-skip-cache", Clear, "Cloudflare's gateway: whether a cached answer"),
    ("extra-parameters", Clear, "Azure AI: how unknown members are handled"),
    ("groq-model-version", Clear, "Groq: which version of a system answers"),
    ("helicone-cache-bucket-max-size", Clear, "Helicone: how many answers to choose from"),
    ("helicone-cache-enabled", Clear, "Helicone: whether a cached answer"),
    ("helicone-cache-seed", Clear, "Helicone: which cached answer"),
    ("helicone-fallbacks", Digest, "Helicone: who answers; it holds keys"),
    ("helicone-llm-security-advanced", Clear, "Helicone: whether a call is blocked"),
    ("helicone-llm-security-enabled", Clear, "Helicone: whether a call is blocked"),
    ("helicone-moderations-enabled", Clear, "Helicone: whether a call is blocked"),
    ("helicone-openai-api-base", Address, "Helicone: who answers"),
    ("helicone-prompt-format", Clear, "Helicone: how the prompt is filled in"),
    ("helicone-prompt-id", Clear, "Helicone: which prompt is filled in"),
    ("helicone-prompt-mode", Clear, "Helicone: how the prompt is filled in"),
    ("helicone-prompt-security-enabled", Clear, "Helicone: whether a call is blocked"),
    ("helicone-ratelimit-policy", Clear, "Helicone: when a call is refused"),
    ("helicone-stream-force-format", Clear, "Helicone: how a stream is framed"),
    ("helicone-stream-usage", Clear, "Helicone: whether a stream reports its usage"),
    ("helicone-target-provider", Clear, "Helicone: who answers"),
    ("helicone-target-url", Address, "Helicone: who answers"),
    ("helicone-token-limit-exception-handler", Clear, "Helicone: how a long prompt is cut"),
    ("openai-beta", Clear, "switches features of the API on"),
    ("openai-organization", Digest, "OpenAI: whose limits, models and data"),
    ("openai-project", Digest, "OpenAI: whose limits, models and data"),
    ("prefer", Clear, "whether the answer waits for its result"),
    ("range", Clear, "which part of a file"),
    ("x-amz-target", Clear, "AWS: which operation is asked for"),
    ("x-amzn-bedrock-guardrailidentifier", Clear, "Bedrock: which guardrail"),
    ("x-amzn-bedrock-guardrailversion", Clear, "Bedrock: which guardrail"),
    ("x-amzn-bedrock-performanceconfig-latency", Clear, "Bedrock: how the model is run"),
    ("x-amzn-bedrock-service-tier", Clear, "Bedrock: how the model is run"),
    ("x-amzn-bedrock-trace", Clear, "Bedrock: whether the answer holds a trace"),
    ("x-anthropic-beta", Clear, "OpenRouter: switches features of Anthropic's API on"),
    ("x-goog-fieldmask", Clear, "Google: which members the answer has"),
    ("x-goog-user-project", Digest, "Google: whose quota and models"),
    ("x-hf-bill-to", Digest, "Hugging Face: whose account"),
    ("x-http-method-override", Clear, "which method is meant"),
    ("x-litellm-tags", Clear, "LiteLLM: which deployments may answer"),
    ("x-policy-id", Clear, "Azure OpenAI: which content filter"),
    ("x-portkey-aws-region", Clear, "Portkey: who answers"),
    ("x-portkey-azure-api-version", Clear, "Portkey: who answers"),
    ("x-portkey-azure-deployment-id", Clear, "Portkey: who answers"),
    ("x-portkey-cache-force-refresh", Clear, "Portkey: whether a cached answer"),
    ("x-portkey-cache-namespace", Clear, "Portkey: which cached answer"),
    ("x-portkey-config", Saved, "Portkey: who answers, with which fallbacks and guardrails"),
    ("x-portkey-custom-host", Address, "Portkey: who answers"),
    ("x-portkey-provider", Clear, "Portkey: who answers"),
    ("x-portkey-strict-open-ai-compliance", Clear, "Portkey: the answer's shape"),
    ("x-portkey-vertex-region", Clear, "Portkey: who answers"),
    ("x-vertex-ai-llm-request-type", Clear, "Vertex: how the model is run"),
    ("x-vertex-ai-llm-shared-request-type", Clear, "Vertex: how the model is run"),
];

/// Headers that are part of keys since their third version, sorted. They select a part of what is
/// asked for, or make the answer depend on what the client has already: an answer without a body.
/// Headers that [select a version](selects_version) belong to them.
const CONDITIONS: [&str; 6] = [
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "last-event-id",
];

/// Headers of the handshake of a WebSocket, sorted. They are part of its key since the third version;
/// before, no handshake was recorded.
const HANDSHAKE: [&str; 2] = [SUBPROTOCOLS, "upgrade"];

/// The prefix of Portkey's headers. Any that is neither in the table nor below is stored as a
/// digest, because it may decide who answers, and many name an account.
const PORTKEY: &str = "x-portkey-";

/// Portkey's headers, without the prefix, that do not change an answer (they name the call, or set
/// a timeout) or that are credentials.
const PORTKEY_OTHERS: [&str; 13] = [
    "anthropic-api-key",
    "api-key",
    "aws-access-key-id",
    "aws-secret-access-key",
    "aws-session-token",
    "azure-ad-token",
    "azure-entra-client-secret",
    "debug",
    "metadata",
    "parent-span-id",
    "request-timeout",
    "span-id",
    "trace-id",
];

/// Portkey's headers, without the prefix, in which its SDKs report themselves. They were part of
/// keys in the second version.
const PORTKEY_REPORTS: [&str; 4] = ["lang", "package-version", "runtime", "runtime-version"];

/// The prefix of a digest.
pub const DIGEST: &str = "sha256:";
/// How many hex digits a digest has.
const DIGITS: usize = 16;

/// How the value of a header of this name, in lower case, is stored; `None` if the header changes
/// no answer.
fn value_of(name: &str) -> Option<HeaderForm> {
    if is_new_in_third(name) {
        return Some(Clear);
    }
    let is_report = |rest: &str| PORTKEY_REPORTS.contains(&rest);
    value_in_second(name).filter(|_| !name.strip_prefix(PORTKEY).is_some_and(is_report))
}

/// Whether a header of this name is part of keys since their third version.
fn is_new_in_third(name: &str) -> bool {
    CONDITIONS.binary_search(&name).is_ok()
        || HANDSHAKE.contains(&name)
        || selects_version(name) && value_in_second(name).is_none()
}

/// As [`value_of`], in the second version of keys.
fn value_in_second(name: &str) -> Option<HeaderForm> {
    // The first letters exclude most headers of most requests.
    let begins =
        matches!(name.as_bytes().first()?, b'a' | b'c' | b'e' | b'g' | b'h' | b'o' | b'p' | b'r')
            || name.starts_with("x-") && !name.starts_with("x-stainless-");
    if !begins {
        return None;
    }
    if let Ok(at) = TABLE.binary_search_by(|(known, ..)| (*known).cmp(name)) {
        return TABLE.get(at).map(|(_, value, _)| *value);
    }
    let rest = name.strip_prefix(PORTKEY)?;
    (!PORTKEY_OTHERS.contains(&rest)).then_some(Digest)
}

/// Whether a header of this name, in lower case, is part of a key by itself.
pub fn changes_answers(name: &str) -> bool {
    value_of(name).is_some()
}

/// Whether a header of this name, in lower case, is part of keys, and was neither part of them nor
/// stored in earlier versions.
pub fn is_of_later_keys(name: &str) -> bool {
    is_new_in_third(name)
}

/// Whether a header of this name, in lower case, is stored because it changes the answer.
pub fn is_stored(name: &str) -> bool {
    name == BEDROCK_ACCEPT || changes_answers(name)
}

/// The value of a header as it is stored and hashed.
pub fn kept_value<'v>(name: &str, value: &'v str) -> Cow<'v, str> {
    if name == SUBPROTOCOLS {
        return Cow::Owned(subprotocol::without_keys(value));
    }
    let clear = match value_of(name) {
        None | Some(Clear) => true,
        Some(Address) => !value.contains(['@', '?', '#']),
        Some(Saved) => {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
            value.len() <= 64 && value.starts_with("pc-") && value.bytes().all(plain)
        }
        Some(Digest) => false,
    };
    if clear || is_digest(value) {
        return Cow::Borrowed(value);
    }
    let hash = sha256_hex(value.trim().as_bytes());
    let digits = digest::as_text(&hash).get(..DIGITS).unwrap_or_default();
    Cow::Owned(format!("{DIGEST}{digits}"))
}

/// The environment variable from which SDKs take the value of a header. It may not be set on
/// another machine.
pub fn environment_variable(name: &str) -> Option<&'static str> {
    match name {
        "openai-organization" => Some("OPENAI_ORG_ID"),
        "openai-project" => Some("OPENAI_PROJECT_ID"),
        "x-goog-user-project" => Some("GOOGLE_CLOUD_QUOTA_PROJECT"),
        _ => None,
    }
}

/// Whether a stored value is a digest.
pub fn is_digest(value: &str) -> bool {
    value.strip_prefix(DIGEST).is_some_and(|digits| {
        digits.len() == DIGITS && digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// What keys are made of, from version to version: which headers, and how the target is spelt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum KeyGeneration {
    /// The set before the table existed: three headers, and none for chat completions.
    First,
    /// The headers of the table and of the rules, and `accept` of two operations.
    Second,
    /// These, conditions, headers that select a version, and `accept` with a single media type.
    Third,
    /// The same. Percent-encodings of paths and queries that are equal have one spelling.
    Fourth,
}

impl KeyGeneration {
    /// That of this version of loomrec.
    pub(super) const CURRENT: Self = Self::Fourth;
    /// Those of earlier versions.
    pub(super) const EARLIER: [Self; 3] = [Self::First, Self::Second, Self::Third];

    /// Whether a header of this name is part of the key, whatever the request.
    fn is_in_key(self, name: &str, rules: &IdentityRules) -> bool {
        let changes_answers = match self {
            Self::First => {
                return matches!(name, "anthropic-beta" | "anthropic-version" | "openai-beta");
            }
            Self::Second => value_in_second(name).is_some(),
            Self::Third | Self::Fourth => changes_answers(name),
        };
        !matches!(name, "content-type" | "accept")
            && (changes_answers && !rules.ignores_header(name) || rules.names_header(name))
            || name == "accept" && rules.names_header(name)
    }

    /// Whether a header of this name is part of the key of this request.
    fn counts_in(self, parts: &RequestParts<'_>, name: &str, rules: &IdentityRules) -> bool {
        let is_reduced = parts
            .key_reduction()
            .is_some_and(|reduction| name.starts_with(reduction.header_prefix));
        if is_reduced { rules.names_header(name) } else { self.is_in_key(name, rules) }
    }

    /// Whether a chat completion has only headers that its plain text does not need to hold.
    pub(super) fn is_plain(self, parts: &RequestParts<'_>, rules: &IdentityRules) -> bool {
        // Anthropic's version does not affect chat completions, not even Anthropic's own.
        let counts = |name: &str| name != "anthropic-version" && self.is_in_key(name, rules);
        self == Self::First
            || !parts.headers.iter().any(|(name, _)| counts(name))
                && self.answer_format(parts, rules).is_none()
    }

    /// The headers that enter the key, sorted by name, each once.
    pub(super) fn key_headers<'a>(
        self,
        parts: &RequestParts<'a>,
        rules: &IdentityRules,
    ) -> Vec<(&'a str, String)> {
        let mut kept: Vec<(&str, String)> = Vec::new();
        for (name, value) in parts.headers {
            if !self.counts_in(parts, name, rules) {
                continue;
            }
            match kept.iter_mut().find(|(known, _)| known == name) {
                Some((_, all)) => {
                    all.push(',');
                    all.push_str(value.trim());
                }
                None => kept.push((name, value.trim().to_owned())),
            }
        }
        kept.extend(parts.media_type().map(|media| ("content-type", media)));
        kept.extend(self.answer_format(parts, rules).map(|format| ("accept", format)));
        kept.sort_unstable();
        kept
    }

    /// The format of the answer that a request selects. `None` if it selects none, or if the rules
    /// name `accept`.
    fn answer_format(self, parts: &RequestParts<'_>, rules: &IdentityRules) -> Option<String> {
        if rules.names_header("accept") || rules.ignores_header("accept") {
            return None;
        }
        match self {
            Self::First => None,
            Self::Second => accept::chosen_format(parts),
            Self::Third | Self::Fourth => {
                accept::chosen_format(parts).or_else(|| accept::only_type(parts))
            }
        }
    }
}

/// The names of the headers that are stored with a request and are not part of its key under
/// `rules`. If a chat completion has its plain key, these are all of them. Headers that every
/// client sends (`content-type`, `accept`) are not listed.
pub fn stored_outside_key<'a>(parts: &RequestParts<'a>, rules: &IdentityRules) -> Vec<&'a str> {
    let now = KeyGeneration::CURRENT;
    let is_plain = matches!(parts.form, KeyForm::Chat) && now.is_plain(parts, rules);
    let names = parts.headers.iter().map(|(name, _)| name.as_str());
    let listed = |name: &&str| {
        !matches!(*name, "content-type" | "accept" | BEDROCK_ACCEPT)
            && (is_plain || !now.counts_in(parts, name, rules))
    };
    names.filter(listed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_is_sorted_and_its_names_are_in_lower_case() {
        assert!(TABLE.is_sorted_by(|a, b| a.0 < b.0) && CONDITIONS.is_sorted());
        for (name, _, why) in TABLE {
            assert!(changes_answers(name), "{name}");
            assert!(!why.is_empty() && name == name.to_ascii_lowercase());
        }
    }

    #[test]
    fn headers_that_change_no_answer_are_no_part_of_a_key() {
        for name in [
            "",
            "user-agent",
            "host",
            "accept-encoding",
            "authorization",
            "x-api-key",
            "helicone-auth",
            "helicone-property-team",
            "x-stainless-os",
            "x-portkey-trace-id",
            "x-portkey-api-key",
            "x-portkey-runtime-version",
            "x-fern-sdk-version",
            "x-amzn-bedrock-request-metadata",
            "http-referer",
            "x-title",
            "cookie",
            "x-other",
        ] {
            assert!(!changes_answers(name), "{name}");
        }
    }

    #[test]
    fn values_that_name_an_account_or_may_hold_a_key_are_kept_as_digests() {
        let org = kept_value("openai-organization", " org-canary ");
        assert!(is_digest(&org) && !org.contains("canary"), "{org}");
        assert_eq!(org, kept_value("openai-organization", "org-canary"));
        // A stored value stays the same when it is stored again, for example after an import.
        assert_eq!(kept_value("openai-organization", &org), org);
        for (name, value, clear) in [
            ("x-portkey-config", "pc-prod-1234", true),
            ("x-portkey-config", r#"{"api_key":"sk-1"}"#, false),
            ("x-portkey-virtual-key", "openai-1234", false),
            ("x-portkey-anything-new", "x", false),
            ("helicone-target-url", "https://api.openai.com", true),
            ("helicone-target-url", "https://user:secret@host", false),
            ("helicone-fallbacks", "[]", false),
            ("openai-beta", "assistants=v2", true),
        ] {
            assert_eq!(kept_value(name, value) == value, clear, "{name}: {value}");
        }
    }
}
