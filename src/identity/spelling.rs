//! Suggestions of a known name for a misspelled one.

/// How similar two names must at least be for a suggestion.
const ALIKE: f64 = 0.7;

/// Suggests the name in `known` that is most similar to `written`, if any is similar enough. Of
/// equally similar names it returns the last. The result is only a hint in a message and never
/// decides anything.
pub fn nearest_name<'a>(written: &str, known: &[&'a str]) -> Option<&'a str> {
    let alike = |known: &&'a str| (strsim::jaro(written, known), *known);
    let near = known.iter().map(alike).filter(|(likeness, _)| *likeness > ALIKE);
    near.max_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, known)| known)
}

/// Returns the name in `known` that `written` probably misspells: apart from upper and lower case,
/// one letter is missing, extra or another one, or two neighbours are swapped. Returns `None` if
/// `written` itself is known.
pub fn misspelled_name<'a>(written: &str, known: &[&'a str]) -> Option<&'a str> {
    if known.contains(&written) {
        return None;
    }
    let lower = written.to_lowercase();
    known.iter().copied().find(|known| strsim::osa_distance(&lower, known) <= 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_most_like_what_was_written_is_the_nearest() {
        assert_eq!(nearest_name("recordng", &["record", "recording", "replay"]), Some("recording"));
        assert_eq!(nearest_name("txt", &["text", "tool_call"]), Some("text"));
        assert_eq!(nearest_name("zzz", &["text", "tool_call"]), None);
        assert_eq!(nearest_name("", &["text"]), None);
        assert_eq!(nearest_name("text", &[]), None);
    }

    #[test]
    fn a_name_one_edit_from_a_known_one_is_misspelled() {
        let known = ["openai", "azure", "xai"];
        for written in ["opnai", "openaii", "openal", "opneai", "OpenAI", "open-ai", "Opnai"] {
            assert_eq!(misspelled_name(written, &known), Some("openai"), "{written}");
        }
        for written in ["openai", "xai", "gateway", "openrouter", "my-openai", ""] {
            assert_eq!(misspelled_name(written, &known), None, "{written}");
        }
    }
}
