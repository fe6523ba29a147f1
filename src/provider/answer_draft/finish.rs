//! Puts the word for why an answer ended from one provider's vocabulary into
//! another's.

/// Whose words they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::provider) enum Dialect {
    /// Chat Completions and Completions.
    OpenAi,
    /// Responses: a status, or why it is incomplete.
    Responses,
    /// Messages.
    Anthropic,
    /// Gemini.
    Gemini,
    /// Cohere's chat, both versions.
    Cohere,
    /// Bedrock's Converse.
    Bedrock,
    /// Ollama.
    Ollama,
}

/// Why an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    /// It said all it had to say.
    Stop,
    /// It ran out of tokens.
    Length,
    /// It asks for tools to be called.
    Tools,
    /// It was refused or filtered.
    Filter,
}

/// The words of one dialect for one meaning, the usual one first.
type Row = (Meaning, Dialect, &'static [&'static str]);

/// A word that stands in two rows means the first of them: Gemini, Responses and
/// Ollama end a turn with tool calls as they end any other.
const WORDS: &[Row] = &[
    (Meaning::Stop, Dialect::OpenAi, &["stop", "eos"]),
    (Meaning::Stop, Dialect::Responses, &["completed"]),
    (Meaning::Stop, Dialect::Anthropic, &["end_turn", "stop_sequence"]),
    (Meaning::Stop, Dialect::Gemini, &["STOP"]),
    (Meaning::Stop, Dialect::Bedrock, &["end_turn", "stop_sequence"]),
    (Meaning::Stop, Dialect::Ollama, &["stop"]),
    (Meaning::Length, Dialect::OpenAi, &["length", "model_length"]),
    (Meaning::Length, Dialect::Responses, &["max_output_tokens"]),
    (Meaning::Length, Dialect::Anthropic, &["max_tokens", "model_context_window_exceeded"]),
    (Meaning::Length, Dialect::Gemini, &["MAX_TOKENS"]),
    (Meaning::Length, Dialect::Bedrock, &["max_tokens", "model_context_window_exceeded"]),
    (Meaning::Length, Dialect::Ollama, &["length"]),
    (Meaning::Tools, Dialect::OpenAi, &["tool_calls"]),
    (Meaning::Tools, Dialect::Responses, &["completed"]),
    (Meaning::Tools, Dialect::Anthropic, &["tool_use"]),
    (Meaning::Tools, Dialect::Gemini, &["STOP"]),
    (Meaning::Tools, Dialect::Bedrock, &["tool_use"]),
    (Meaning::Tools, Dialect::Ollama, &["stop"]),
    (Meaning::Filter, Dialect::OpenAi, &["content_filter"]),
    (Meaning::Filter, Dialect::Responses, &["content_filter"]),
    (Meaning::Filter, Dialect::Anthropic, &["refusal"]),
    (Meaning::Filter, Dialect::Bedrock, &["content_filtered", "guardrail_intervened"]),
    (
        Meaning::Filter,
        Dialect::Gemini,
        &["SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY"],
    ),
    (Meaning::Stop, Dialect::Cohere, &["COMPLETE", "STOP_SEQUENCE"]),
    (Meaning::Length, Dialect::Cohere, &["MAX_TOKENS", "ERROR_LIMIT"]),
    (Meaning::Tools, Dialect::Cohere, &["TOOL_CALL"]),
    (Meaning::Filter, Dialect::Cohere, &["ERROR_TOXIC"]),
];

/// The word of `dialect` for what `found` means: `found` itself where it is one of
/// the dialect's own or of nobody we know, and a normal end where there is none.
pub(super) fn finish_word(dialect: Dialect, found: Option<&str>, has_calls: bool) -> &str {
    let found = found.filter(|found| !found.is_empty());
    let ended = if has_calls { Meaning::Tools } else { Meaning::Stop };
    let meaning = match found {
        None => ended,
        Some(found) => {
            if WORDS.iter().any(|(_, whose, words)| *whose == dialect && words.contains(&found)) {
                return found;
            }
            match meaning(found) {
                None => return found,
                // Another provider's normal end hides the calls that this one names.
                Some(Meaning::Stop) => ended,
                Some(meaning) => meaning,
            }
        }
    };
    let row = WORDS.iter().find(|(means, whose, _)| *means == meaning && *whose == dialect);
    row.and_then(|(_, _, words)| words.first().copied()).or(found).unwrap_or_default()
}

fn meaning(found: &str) -> Option<Meaning> {
    // The word of OpenAI's calls before there were tools; what is built has tools.
    if found == "function_call" {
        return Some(Meaning::Tools);
    }
    WORDS.iter().find(|(_, _, words)| words.contains(&found)).map(|(meaning, ..)| *meaning)
}
