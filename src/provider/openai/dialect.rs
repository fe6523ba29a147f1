//! What tells the upstreams apart that speak OpenAI's dialect.

/// Where a stream tells its usage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UsagePlace {
    /// In a chunk of its own at the end, where the caller asked for it.
    Asked,
    /// In a chunk of its own at the end, always.
    OwnChunk,
    /// In the last chunk that has choices, always.
    LastChoice,
    /// In the `x_groq` of the last chunk that has choices, always; and in a chunk of
    /// its own where the caller asked for it.
    Groq,
}

/// Where the streams of the upstream of this name tell their usage.
pub(super) fn usage_place(upstream: &str) -> UsagePlace {
    match upstream {
        "groq" => UsagePlace::Groq,
        "mistral" | "deepseek" | "together" | "fireworks" => UsagePlace::LastChoice,
        "openrouter" | "xai" => UsagePlace::OwnChunk,
        _ => UsagePlace::Asked,
    }
}

/// Whether the streams of the upstream of this name send tool calls whole, in the
/// chunk that ends the choice.
pub(super) fn calls_whole(upstream: &str) -> bool {
    upstream == "mistral"
}

#[cfg(test)]
#[path = "dialect_tests.rs"]
mod tests;
