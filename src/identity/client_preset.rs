//! What known clients put into their requests that differs from run to run, as data.
//!
//! A client is known by its own header, so that it has its rules whatever started it.

use std::sync::LazyLock;

use super::normalize::NormalizeRule;

/// The rules for the requests of a known client.
#[derive(Debug)]
pub struct ClientPreset {
    /// Its name.
    pub name: &'static str,
    /// Its version, which grows when the rules change.
    pub version: u32,
    /// How the `user-agent` of its requests begins.
    pub user_agents: &'static [&'static str],
    /// The rules.
    pub rules: Vec<NormalizeRule>,
}

/// The presets as they are written: name, version, user agents, rules.
type PresetText = (&'static str, u32, &'static [&'static str], &'static [&'static str]);

/// All presets, by name.
const TEXTS: [PresetText; 7] = [
    (
        "aider",
        2,
        &[],
        &[
            r#"system: Act as an expert software developer.{{any}}\n- Platform: Linux-{{os_release}}-"#,
            r#"system: Act as an expert software developer.{{any}}\n- Current date: {{day}}\n"#,
        ],
    ),
    (
        "claude-code",
        2,
        &["claude-cli/"],
        &[
            r#"/metadata/user_id: {"device_id":"{{hex64}}",{{any}}"session_id":"{{uuid}}"}"#,
            r#"/metadata/user_id: user_{{hex64}}_account_{{any}}_session_{{uuid}}"#,
            r#"user: <system-reminder>\nAs you answer the user's questions,{{any}}\nToday's date is {{day}}.\n"#,
            r#"user: <system-reminder>\nAs you answer the user's questions,{{any}}\n\nStatus:\n{{git_status}}\n\nRecent commits:\n{{git_commits}}\n\nClaude Code attached"#,
            r#"system: # Environment\nYou have been invoked in the following environment:{{any}}\n - OS Version: Linux {{os_release}}\n"#,
            r#"system: # Environment\nYou have been invoked in the following environment:{{any}}\nToday's date is {{day}}."#,
            r#"system: \nYou are an interactive agent that helps users{{any}}\n - OS Version: Linux {{os_release}}\n"#,
            r#"system: \nYou are an interactive agent that helps users{{any}}\n\nStatus:\n{{git_status}}\n\nRecent commits:\n{{git_commits}}"#,
        ],
    ),
    ("cline", 2, &[], &[r#"system: You are Cline{{any}}\n2. Date: {{day}}\n3. IDE: "#]),
    (
        "codex",
        2,
        &["codex_exec/", "codex_cli_rs/", "codex-tui/", "codex_sdk_ts/"],
        &[
            r#"/client_metadata/root_turn_id: uuid"#,
            r#"/client_metadata/session_id: uuid"#,
            r#"/client_metadata/thread_id: uuid"#,
            r#"/client_metadata/turn_id: uuid"#,
            r#"/client_metadata/x-codex-installation-id: uuid"#,
            r#"/client_metadata/x-codex-window-id: {{uuid}}:"#,
            r#"/client_metadata/x-codex-turn-metadata: {{any}}"installation_id":"{{uuid}}""#,
            r#"/client_metadata/x-codex-turn-metadata: {{any}}"session_id":"{{uuid}}""#,
            r#"/client_metadata/x-codex-turn-metadata: {{any}}"thread_id":"{{uuid}}""#,
            r#"/client_metadata/x-codex-turn-metadata: {{any}}"turn_id":"{{uuid}}""#,
            r#"/client_metadata/x-codex-turn-metadata: {{any}}"window_id":"{{uuid}}""#,
            r#"/client_metadata/x-codex-turn-metadata: {{any}}"context_window_id":"{{uuid}}""#,
            r#"/client_metadata/x-codex-turn-metadata: {{any}}"root_turn_id":"{{uuid}}""#,
            r#"/client_metadata/x-codex-turn-metadata: {{any}}"workspaces":{"{{cwd}}":{{git_state}}}"#,
            r#"/client_metadata/x-codex-turn-metadata: {{any}}"turn_started_at_unix_ms":{{epoch}}"#,
            r#"/input/*/id: at_{{uuid}}"#,
            r#"/input/*/id: ctco_{{uuid}}"#,
            r#"/input/*/id: fco_{{uuid}}"#,
            r#"/input/*/id: msg_{{uuid}}"#,
            r#"/input/*/internal_chat_message_metadata_passthrough/create_time: epoch"#,
            r#"/input/*/internal_chat_message_metadata_passthrough/turn_id: uuid"#,
            r#"/prompt_cache_key: uuid"#,
            r#"tool: Chunk ID: {{hex6}}\nWall time: {{duration}} seconds\n"#,
            r#"tool: Script completed\nWall time {{duration}} seconds\nOutput:\n"#,
            r#"user: <environment_context>\n{{any}}<current_date>{{day}}</current_date>"#,
            r#"user: <environment_context>\n{{any}}<timezone>{{timezone}}</timezone>"#,
        ],
    ),
    (
        "gemini-cli",
        2,
        &["GeminiCLI"],
        &[
            r#"system: You are a{{any}}**Private Project Memory** (`{{home}}/.gemini/tmp/{{folder}}/memory/"#,
            r#"tool: <untrusted_context>\nOutput: {{any}}\nProcess Group PGID: {{pid}}\n"#,
            r#"user: <session_context>\nThis is the Gemini CLI.{{any}}\nToday's date is {{day}} (formatted"#,
            r#"user: <session_context>\nThis is the Gemini CLI.{{any}}/.gemini/tmp/{{folder}}\n"#,
        ],
    ),
    (
        "opencode",
        2,
        &["opencode/"],
        &[r#"system: You are {{any}}\n  Today's date: {{day}}\n</env>"#],
    ),
    (
        "qwen-code",
        2,
        &["QwenCode/"],
        &[
            r#"system: You are Qwen Code{{any}}\n--- Context from: {{home}}/.qwen/output-language.md ---"#,
            r#"system: You are Qwen Code{{any}}\n--- End of Context from: {{home}}/.qwen/output-language.md ---"#,
            r#"system: You are Qwen Code{{any}}\ngit: Status:\n{{git_status}}\ngit: Recent commits:\n{{git_commits}}\n```"#,
            r#"tool: Command: {{any}}\nProcess Group PGID: {{pid}}"#,
            r#"user: <system-reminder>\nThis is the Qwen Code.{{any}}\nToday's date is {{day}}.\n"#,
            r#"user: <system-reminder>\nThe current date is: {{day}}. Note"#,
        ],
    ),
];

static PRESETS: LazyLock<Vec<ClientPreset>> = LazyLock::new(|| {
    let read = |(name, version, user_agents, rules): PresetText| ClientPreset {
        name,
        version,
        user_agents,
        rules: rules.iter().filter_map(|rule| NormalizeRule::parse(rule).ok()).collect(),
    };
    TEXTS.into_iter().map(read).collect()
});

impl ClientPreset {
    /// Returns all presets, by name.
    pub fn all() -> &'static [Self] {
        &PRESETS
    }

    /// Returns the preset of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::all().iter().find(|preset| preset.name == name)
    }

    /// Returns the preset of the client with this `user-agent`.
    pub fn of_user_agent(user_agent: &str) -> Option<&'static Self> {
        let begins =
            |preset: &&Self| preset.user_agents.iter().any(|it| user_agent.starts_with(it));
        Self::all().iter().find(begins)
    }

    /// Returns the preset that an entry was recorded with. Its version does not matter: the newest
    /// rules hold.
    pub fn of_entry(text: &str) -> Option<&'static Self> {
        Self::named(text.split(' ').next()?)
    }

    /// Returns its name and its version, as an entry has them.
    pub fn text(&self) -> String {
        format!("{} {}", self.name, self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_of_all_presets_can_be_read() {
        for (name, _, _, rules) in TEXTS {
            for rule in rules {
                let read = NormalizeRule::parse(rule);
                assert_eq!(read.map(|it| it.to_string()).as_deref(), Ok(*rule), "{name}");
            }
        }
        assert!(ClientPreset::all().is_sorted_by_key(|preset| preset.name));
    }

    #[test]
    fn clients_are_known_by_their_header() {
        let name = |agent: &str| ClientPreset::of_user_agent(agent).map(|preset| preset.name);
        assert_eq!(name("claude-cli/2.1.332 (external, cli)"), Some("claude-code"));
        assert_eq!(name("my claude-cli/2"), None);
        assert_eq!(name(""), None);
        let of_entry = |text| ClientPreset::of_entry(text).map(|preset| preset.name);
        assert_eq!(
            (of_entry("codex 1"), of_entry("codex"), of_entry("x 1")),
            (Some("codex"), Some("codex"), None)
        );
    }
}
