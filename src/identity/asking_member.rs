//! The members of a request that hold what is asked.

/// The top-level members that hold the question, for all providers.
pub(super) const ASKING: [&str; 25] = [
    "chat_history",
    "contents",
    "content",
    "documents",
    "images",
    "input",
    "inputText",
    "inputs",
    "instances",
    "instructions",
    "message",
    "messages",
    "parts",
    "preamble",
    "prompt",
    "queries",
    "query",
    "requests",
    "suffix",
    "system",
    "systemInstruction",
    "system_instruction",
    "text",
    "texts",
    "tool_results",
];

/// Whether a top-level member holds people's words.
pub(super) fn is_asking(name: &str) -> bool {
    ASKING.contains(&name)
}
