//! The differences between upstreams that use OpenAI's dialect.

/// Where a stream carries its usage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UsagePlace {
    /// In a separate chunk at the end, if the caller asked for it.
    Asked,
    /// In a separate chunk at the end, always.
    OwnChunk,
    /// In the last chunk that has choices, always.
    LastChoice,
    /// In the `x_groq` of the last chunk that has choices, always; also in a separate chunk if the
    /// caller asked for it.
    Groq,
}

/// Where the streams of this upstream carry their usage.
pub(super) fn usage_place(upstream: &str) -> UsagePlace {
    match upstream {
        "groq" => UsagePlace::Groq,
        "mistral" | "deepseek" | "together" | "fireworks" => UsagePlace::LastChoice,
        "openrouter" | "xai" => UsagePlace::OwnChunk,
        _ => UsagePlace::Asked,
    }
}

/// Whether the streams of this upstream send tool calls whole, in the chunk that ends the choice.
pub(super) fn calls_whole(upstream: &str) -> bool {
    upstream == "mistral"
}

#[cfg(test)]
#[path = "dialect_tests.rs"]
mod tests;
