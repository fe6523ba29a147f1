//! The formats: their names, and their detection from the beginning of a file.

use std::fmt;

use loomrec_identity::spelling;

/// The first line of a trace of Go's `httprr`.
pub(super) const HTTPRR_MARK: &str = "httprr trace v1";

/// The format of another tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForeignFormat {
    /// A cassette of VCR.py or pytest-recording.
    Vcr,
    /// The same in JSON.
    VcrJson,
    /// HAR 1.2, as browsers and proxies write it.
    Har,
    /// AgentLoom's own recording.
    AgentLoom,
    /// Fixtures of aimock.
    Aimock,
    /// Conversations for OpenAI's fine-tuning.
    OpenAiChat,
    /// A recording of Go's `httprr`; only imported.
    HttpRr,
    /// A recording of nock; only imported.
    Nock,
    /// Stub mappings of WireMock; only imported.
    WireMock,
}

/// A name that is not a format, or not one for this direction.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("use the format {written:?}{}; the formats are {known}", name_hint(*.meant))]
pub struct UnknownFormat {
    written: String,
    meant: Option<&'static str>,
    known: String,
}

fn name_hint(meant: Option<&str>) -> String {
    meant.map(|meant| format!(" (did you mean {meant}?)")).unwrap_or_default()
}

impl ForeignFormat {
    /// All formats.
    pub const ALL: [Self; 9] = [
        Self::Vcr,
        Self::VcrJson,
        Self::Har,
        Self::AgentLoom,
        Self::Aimock,
        Self::OpenAiChat,
        Self::HttpRr,
        Self::Nock,
        Self::WireMock,
    ];

    /// How many of [`Self::ALL`] can be written, too. They come first.
    const WRITTEN: usize = 6;

    /// Returns its name for `--from` and `--to`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Vcr => "vcr",
            Self::VcrJson => "vcr-json",
            Self::Har => "har",
            Self::AgentLoom => "agentloom",
            Self::Aimock => "aimock",
            Self::OpenAiChat => "openai-chat",
            Self::HttpRr => "httprr",
            Self::Nock => "nock",
            Self::WireMock => "wiremock",
        }
    }

    /// Whether its files are rules for requests, so that an import can be given the requests.
    pub fn has_rules(self) -> bool {
        self == Self::Aimock
    }

    /// Returns the description of a file in it.
    pub fn title(self) -> &'static str {
        match self {
            Self::Vcr => "a VCR cassette in YAML",
            Self::VcrJson => "a VCR cassette in JSON",
            Self::Har => "a HAR file",
            Self::AgentLoom => "an AgentLoom recording",
            Self::Aimock => "aimock's fixtures",
            Self::OpenAiChat => "chat JSONL",
            Self::HttpRr => "a trace of Go's httprr",
            Self::Nock => "a recording of nock",
            Self::WireMock => "mappings of WireMock",
        }
    }

    /// Returns the format with this name.
    ///
    /// # Errors
    /// [`UnknownFormat`], with a suggestion and all names.
    pub fn from_name(name: &str) -> Result<Self, UnknownFormat> {
        Self::named_among(name, &Self::ALL)
    }

    /// As [`Self::from_name`], for a file to be written.
    ///
    /// # Errors
    /// As for [`Self::from_name`].
    pub fn to_write(name: &str) -> Result<Self, UnknownFormat> {
        Self::named_among(name, &Self::ALL[..Self::WRITTEN])
    }

    fn named_among(name: &str, formats: &[Self]) -> Result<Self, UnknownFormat> {
        let found = formats.iter().find(|format| format.name().eq_ignore_ascii_case(name));
        found.copied().ok_or_else(|| {
            let names: Vec<&str> = formats.iter().map(|format| format.name()).collect();
            UnknownFormat {
                written: name.to_owned(),
                meant: spelling::nearest_name(name, &names),
                known: names.join(", "),
            }
        })
    }

    /// Returns the format of a file that begins with these bytes (some KiB of it), if they identify
    /// it.
    pub fn from_beginning(beginning: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(beginning);
        let text = text.trim_start_matches('\u{feff}').trim_start();
        if let Some(members) = text.strip_prefix('{') {
            let has = |key: &str| members.contains(&format!("\"{key}\""));
            let begins = |key: &str| members.trim_start().starts_with(&format!("\"{key}\""));
            return if begins("log") {
                Some(Self::Har)
            } else if begins("fixtures") {
                Some(Self::Aimock)
            } else if begins("messages") {
                Some(Self::OpenAiChat)
            } else if has("_loomrec") {
                // It is a loomrec recording, or a HAR file that mentions loomrec.
                (has("entries") && has("log")).then_some(Self::Har)
            } else if begins("_version") {
                Some(Self::AgentLoom)
            } else if has("interactions") || has("http_interactions") {
                Some(Self::VcrJson)
            } else if has("entries") && has("log") {
                Some(Self::Har)
            } else if begins("mappings") || is_mapping(&has) {
                Some(Self::WireMock)
            } else if has("fixtures") && has("match") {
                Some(Self::Aimock)
            } else if has("messages") && has("role") && has("content") {
                Some(Self::OpenAiChat)
            } else if has("_version") || has("cost_usd") {
                Some(Self::AgentLoom)
            } else {
                None
            };
        }
        if let Some(items) = text.strip_prefix('[') {
            let has = |key: &str| items.contains(&format!("\"{key}\""));
            if has("scope") && has("method") && has("response") {
                return Some(Self::Nock);
            }
            return is_mapping(&has).then_some(Self::WireMock);
        }
        if text.starts_with(HTTPRR_MARK) {
            return Some(Self::HttpRr);
        }
        let starts =
            |keys: &[&str]| text.lines().any(|line| keys.iter().any(|key| line.starts_with(key)));
        if starts(&["interactions:", "http_interactions:"]) {
            return Some(Self::Vcr);
        }
        // Polly writes HAR in YAML, too.
        (starts(&["log:"]) && text.contains("entries:")).then_some(Self::Har)
    }
}

/// Whether a file with these members is a mapping of WireMock.
fn is_mapping(has: &dyn Fn(&str) -> bool) -> bool {
    let address = ["url", "urlPath", "urlPattern", "urlPathPattern", "urlPathTemplate"];
    has("request") && has("response") && address.iter().any(|name| has(name))
}

impl fmt::Display for ForeignFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn format_is_told_by_what_a_file_begins_with() {
        let of = |text: &str| ForeignFormat::from_beginning(text.as_bytes());
        assert_eq!(of("interactions:\n- request:\n"), Some(ForeignFormat::Vcr));
        assert_eq!(of("---\nversion: 1\nhttp_interactions:\n"), Some(ForeignFormat::Vcr));
        assert_eq!(of("{\"version\": 1, \"interactions\": ["), Some(ForeignFormat::VcrJson));
        assert_eq!(of("\u{feff} { \"log\": {\"version\": \"1.2\""), Some(ForeignFormat::Har));
        assert_eq!(of("{\"_version\": 2}"), Some(ForeignFormat::AgentLoom));
        assert_eq!(of("{\"_version\": 2, \"_loomrec\": {}}"), None);
        assert_eq!(of("{\n  \"fixtures\": ["), Some(ForeignFormat::Aimock));
        assert_eq!(of("{\"messages\": [{\"role\""), Some(ForeignFormat::OpenAiChat));
        assert_eq!(of("httprr trace v1\n1 2\n"), Some(ForeignFormat::HttpRr));
        let nock = "[{\"scope\": \"\", \"method\": \"\", \"response\": {}}]";
        assert_eq!(of(nock), Some(ForeignFormat::Nock));
        let mapping = "{\"id\": 1, \"request\": {\"url\": \"\"}, \"response\": {}}";
        assert_eq!(of(mapping), Some(ForeignFormat::WireMock));
        assert_eq!(of("{\"mappings\": [{"), Some(ForeignFormat::WireMock));
        assert_eq!(of("---\nlog:\n  entries:\n"), Some(ForeignFormat::Har));
        assert_eq!(of(""), None);
        assert_eq!(of("a: interactions:"), None);
    }

    #[test]
    fn unknown_name_is_told_with_the_one_that_was_meant() {
        assert_eq!(ForeignFormat::from_name("HAR"), Ok(ForeignFormat::Har));
        assert_eq!(
            ForeignFormat::from_name("harr").unwrap_err().to_string(),
            "use the format \"harr\" (did you mean har?); the formats are vcr, vcr-json, \
             har, agentloom, aimock, openai-chat, httprr, nock, wiremock"
        );
        assert!(!ForeignFormat::to_write("nock").unwrap_err().to_string().contains("wiremock"));
    }
}
