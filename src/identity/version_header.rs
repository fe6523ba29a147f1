//! Headers that select a version by their name, such as `x-github-api-version` or `api-revision`.
//!
//! Providers date their APIs, and such a header decides which members an answer has. SDKs report
//! the versions of their own software in headers that end the same way. Those change no answer.

/// The endings of names that select a version.
const ENDINGS: [&str; 2] = ["-version", "-revision"];

/// Words right before the ending that say what is asked for, whatever else the name says.
const ASKED: [&str; 4] = ["api", "model", "protocol", "schema"];

/// Words that name the caller's own software or machine.
const SOFTWARE: [&str; 27] = [
    "app",
    "application",
    "browser",
    "build",
    "cli",
    "client",
    "device",
    "editor",
    "extension",
    "framework",
    "go",
    "ide",
    "java",
    "lang",
    "language",
    "lib",
    "library",
    "node",
    "os",
    "package",
    "pkg",
    "platform",
    "plugin",
    "python",
    "runtime",
    "sdk",
    "vscode",
];

/// The first words of names whose headers only report: those of SDK generators (Stainless, Fern),
/// and those that browsers send by themselves.
const REPORTING: [&str; 3] = ["fern", "sec", "stainless"];

/// Whether a header of this name, in lower case, selects a version of what answers. One that
/// reports the version of the caller's software does not.
pub fn selects_version(name: &str) -> bool {
    let Some(stem) = ENDINGS.iter().find_map(|ending| name.strip_suffix(ending)) else {
        return false;
    };
    let stem = stem.strip_prefix("x-").unwrap_or(stem);
    let words = || stem.split(['-', '_', '.']);
    let is_in = |words: &[&str], word: Option<&str>| word.is_some_and(|it| words.contains(&it));
    !is_in(&REPORTING, words().next())
        && (is_in(&ASKED, words().next_back()) || !words().any(|word| SOFTWARE.contains(&word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_with_the_version_of_an_api_select_it() {
        for name in [
            "api-revision",
            "api-version",
            "accept-version",
            "mcp-protocol-version",
            "notion-version",
            "x-api-version",
            "x-client-api-version",
            "x-github-api-version",
            "x-goog-api-version",
            "x-model-revision",
            "x-ms-version",
            "x-new-thing-revision",
        ] {
            assert!(selects_version(name), "{name}");
        }
    }

    /// Names that openai, anthropic, cohere, google-genai, Portkey, editors and browsers send.
    #[test]
    fn headers_with_the_version_of_the_callers_software_do_not() {
        for name in [
            "copilot-language-server-version",
            "editor-plugin-version",
            "editor-version",
            "sec-ch-ua-full-version",
            "sec-websocket-version",
            "user-agent",
            "version",
            "x-app-version",
            "x-client-version",
            "x-fern-runtime-version",
            "x-fern-sdk-version",
            "x-goog-api-client",
            "x-goog-api-client-version",
            "x-portkey-package-version",
            "x-portkey-runtime-version",
            "x-stainless-package-version",
            "x-stainless-runtime-version",
            "x-version-of-something",
        ] {
            assert!(!selects_version(name), "{name}");
        }
    }

    #[test]
    fn words_are_sorted() {
        assert!(ASKED.is_sorted() && SOFTWARE.is_sorted() && REPORTING.is_sorted());
    }
}
