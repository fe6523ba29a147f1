//! The versions of the agents that the presets were tested with.

use super::client_preset::ClientPreset;

/// The versions, by preset: those of `tests/agents/programs.txt`.
const TESTED: [(&str, &[&str]); 18] = [
    ("aider", &["0.86.2"]),
    ("cecli", &["1.10.0"]),
    ("claude-code", &["2.1.332", "2.1.197"]),
    ("cline", &["3.0.65"]),
    ("codex", &["0.171.0", "0.169.0"]),
    ("continue", &["1.5.47"]),
    ("copilot", &["1.0.102"]),
    ("gemini-cli", &["0.61.0"]),
    ("gptme", &["0.35.1"]),
    ("grok-cli", &["0.0.34"]),
    ("kilo", &["7.7.7"]),
    ("mini-swe-agent", &["2.4.6"]),
    ("mistral-vibe", &["3.0.2"]),
    ("open-interpreter", &["0.4.3"]),
    ("opencode", &["1.18.33"]),
    ("openhands", &["1.16.0"]),
    ("pi", &["0.73.1"]),
    ("qwen-code", &["0.24.4"]),
];

impl ClientPreset {
    /// Returns the versions of the agent that the preset was tested with.
    pub fn tested_with(&self) -> &'static [&'static str] {
        let known = TESTED.iter().find(|(name, _)| *name == self.name);
        known.map_or(&[], |(_, versions)| versions)
    }
}
