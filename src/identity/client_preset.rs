//! What known clients put into their requests that differs from run to run, as data.
//!
//! A client is known by its own header, or by the beginning of its instructions if its header is that
//! of an SDK, so that it has its rules whatever started it.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, Input};

use super::normalize::NormalizeRule;

/// The rules for the requests of a known client.
#[derive(Debug, PartialEq, Eq)]
pub struct ClientPreset {
    /// Its name.
    pub name: &'static str,
    /// Its version, which grows when the rules change.
    pub version: u32,
    /// How the `user-agent` of its requests begins.
    pub user_agents: &'static [&'static str],
    /// How its instructions begin, if its `user-agent` is that of an SDK.
    pub openings: &'static [&'static str],
    /// The rules.
    pub rules: Vec<NormalizeRule>,
}

/// A preset as it is written.
struct PresetText {
    name: &'static str,
    version: u32,
    user_agents: &'static [&'static str],
    openings: &'static [&'static str],
    rules: &'static [&'static str],
}

/// All presets, by name.
const TEXTS: [PresetText; 18] = [
    PresetText {
        name: "aider",
        version: 3,
        user_agents: &[],
        openings: &["Act as an expert software developer.\nAlways use best practices when coding."],
        rules: &[
            r#"system: Act as an expert software developer.{{any}}\n- Platform: Linux-{{os_release}}-"#,
            r#"system: Act as an expert software developer.{{any}}\n- Current date: {{day}}\n"#,
        ],
    },
    PresetText {
        name: "cecli",
        version: 1,
        user_agents: &["cecli/"],
        openings: &[],
        rules: &[
            r#"/prompt_cache_key: hex8"#,
            r#"user: <context name="environment_info" from="agent">\n{{any}}\n- Agent: primary ({{hex8}}) [self]\n- Primary agent: primary ({{hex8}})\n"#,
            r#"user: <context name="environment_info" from="agent">\n{{any}}\n- Current date: {{day}}\n"#,
            r#"user: <context name="environment_info" from="agent">\n{{any}}\n- Platform: Linux-{{os_release}}-"#,
        ],
    },
    PresetText {
        name: "claude-code",
        version: 5,
        user_agents: &["claude-cli/"],
        openings: &[],
        rules: &[
            r#"/metadata/user_id: {"device_id":"{{hex64}}",{{any}}"session_id":"{{uuid}}"}"#,
            r#"/metadata/user_id: user_{{hex64}}_account_{{any}}_session_{{uuid}}"#,
            r#"tool-results: any-order"#,
            r#"tool: Async agent launched successfully.{{any}}\nagentId: {{hex17}} (internal ID - do not mention to user. Use SendMessage with to: '{{hex17}}', summary: '"#,
            r#"tool: Async agent launched successfully.{{any}}\noutput_file: {{any}}/claude-{{count}}/{{any}}/{{uuid}}/tasks/{{hex17}}.output\n"#,
            r#"tool: agentId: {{hex17}} (use SendMessage with to: '{{hex17}}', summary: '{{any}}\n<usage>subagent_tokens: {{any}}\nduration_ms: {{duration}}</usage>"#,
            r#"user: <system-reminder>\n[SYSTEM NOTIFICATION - NOT USER INPUT]\n{{any}}\n<task-notification>\n<task-id>{{hex17}}</task-id>\n{{any}}<output-file>{{any}}/claude-{{count}}/{{any}}/{{uuid}}/tasks/{{hex17}}.output</output-file>\n"#,
            r#"user: <system-reminder>\n[SYSTEM NOTIFICATION - NOT USER INPUT]\n{{any}}<duration_ms>{{duration}}</duration_ms></usage>\n</task-notification>"#,
            r#"user: <system-reminder>\nAs you answer the user's questions,{{any}}\nToday's date is {{day}}.\n"#,
            r#"user: <system-reminder>\nAs you answer the user's questions,{{any}}\n\nStatus:\n{{git_status}}\n\nRecent commits:\n{{git_commits}}\n\nClaude Code attached"#,
            r#"system: x-anthropic-billing-header: {{any}} cch={{hex5}};"#,
            r#"system: x-anthropic-billing-header: {{any}} cc_prompt_id={{uuid}};"#,
            r#"system: # Environment\nYou have been invoked in the following environment:{{any}}\n - OS Version: Linux {{os_release}}\n"#,
            r#"system: # Environment\nYou have been invoked in the following environment:{{any}}\nToday's date is {{day}}."#,
            r#"system: Search the web.{{any}}\n- The current month is {{day}} — use this"#,
            r#"system: \n- Allows Claude to search the web{{any}}\n  - The current month is {{day}}. You MUST use this year"#,
            r#"system: The following deferred tools are now available via ToolSearch.{{any}}\n - OS Version: Linux {{os_release}}\n"#,
            r#"system: The following deferred tools are now available via ToolSearch.{{any}}\nToday's date is {{day}}."#,
            r#"system: \nYou are an interactive agent that helps users{{any}}\n - OS Version: Linux {{os_release}}\n"#,
            r#"system: \nYou are an interactive agent that helps users{{any}}\n\nStatus:\n{{git_status}}\n\nRecent commits:\n{{git_commits}}"#,
        ],
    },
    PresetText {
        name: "cline",
        version: 2,
        user_agents: &[],
        openings: &[
            "You are Cline, a careful and helpful coding agent that works in the background.",
        ],
        rules: &[r#"system: You are Cline{{any}}\n2. Date: {{day}}\n3. IDE: "#],
    },
    PresetText {
        name: "codex",
        version: 4,
        user_agents: &["codex_exec/", "codex_cli_rs/", "codex-tui/", "codex_sdk_ts/"],
        openings: &[],
        rules: &[
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
            r#"/client_metadata/x-codex-turn-metadata: {{any}}"window_id":"{{uuid}}:"#,
            r#"/client_metadata/x-codex-turn-metadata: {{any}}"context_window_id":"{{uuid}}""#,
            r#"/client_metadata/x-codex-turn-metadata: {{any}}"root_turn_id":"{{uuid}}""#,
            r#"/client_metadata/x-codex-turn-metadata: {{any}}"workspaces":{"{{cwd}}":{{git_state}}}"#,
            r#"/client_metadata/x-codex-turn-metadata: {{any}}"turn_started_at_unix_ms":{{epoch}}"#,
            r#"/client_metadata/x-codex-ws-stream-request-start-ms: epoch"#,
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
    },
    PresetText {
        name: "continue",
        version: 1,
        user_agents: &[],
        openings: &[
            "You are an agent in the Continue CLI. Given the user's prompt, you should use the tools",
        ],
        rules: &[
            r#"system: You are an agent in the Continue CLI.{{any}}\nToday's date: {{day}}\n</env>"#,
            r#"system: You are an agent in the Continue CLI.{{any}} and will not update during the conversation.\n\n{{git_status}}\n</context>"#,
        ],
    },
    PresetText {
        name: "copilot",
        version: 1,
        user_agents: &[],
        openings: &["You are the GitHub Copilot CLI, a terminal assistant built by GitHub."],
        rules: &[
            r#"system: You are the GitHub Copilot CLI,{{any}}\nSession folder: {{any}}/.copilot/session-state/{{uuid}}\n"#,
            r#"user: <current_datetime>{{time}}</current_datetime>\n"#,
        ],
    },
    PresetText {
        name: "gemini-cli",
        version: 3,
        user_agents: &["GeminiCLI"],
        openings: &[],
        rules: &[
            r#"system: You are a{{any}}**Private Project Memory** (`{{home}}/.gemini/tmp/{{folder}}/memory/"#,
            r#"tool: <untrusted_context>\nOutput: {{any}}\nProcess Group PGID: {{pid}}\n"#,
            r#"user: <session_context>\nThis is the Gemini CLI.{{any}}\nToday's date is {{day}} (formatted"#,
            r#"user: <session_context>\nThis is the Gemini CLI.{{any}}/.gemini/tmp/{{folder}}\n"#,
            r#"user: <session_context>\nThis is the Gemini CLI.{{any}}\n- **Directory Structure:**\n\nShowing up to {{any}}/\n{{folder_tree}}\n\n"#,
        ],
    },
    PresetText {
        name: "gptme",
        version: 2,
        user_agents: &[],
        openings: &["You are gptme v"],
        rules: &[
            r#"system: ## System Information\n{{any}}\n**Local date:** {{day}} UTC"#,
            r#"system: ## System Information\n{{any}}\n## Git Status\n\n**Branch:** {{git_overview}}\n\n<budget:"#,
            r#"system: You are gptme v{{any}}\n## Current Project: {{folder}}\n"#,
        ],
    },
    PresetText {
        name: "grok-cli",
        version: 1,
        user_agents: &[],
        openings: &["You are Grok CLI, an AI assistant that helps with file editing, coding tasks"],
        rules: &[],
    },
    PresetText {
        name: "kilo",
        version: 1,
        user_agents: &["kilo/"],
        openings: &[],
        rules: &[
            r#"system: You are Kilo,{{any}}\n  Today's date: {{day}}\n"#,
            r#"user: \n\n<environment_details>\nMessage time: {{time}}\nWorking directory:"#,
        ],
    },
    PresetText {
        name: "mini-swe-agent",
        version: 1,
        user_agents: &[],
        openings: &[],
        rules: &[
            r#"user: Please solve this issue: {{any}}\n<system_information>\nLinux {{os_version}} "#,
        ],
    },
    PresetText {
        name: "mistral-vibe",
        version: 1,
        user_agents: &[],
        openings: &[
            "You help users get complex tasks done. Act directly and proactively. Find relevant skills",
        ],
        rules: &[
            r#"system: You help users get complex tasks done.{{any}}\nToday's date is {{day}}"#,
            r#"system: You help users get complex tasks done.{{any}}\nRecent commits:\n{{git_commits}}\n"#,
        ],
    },
    PresetText {
        name: "open-interpreter",
        version: 1,
        user_agents: &[],
        openings: &["You are Open Interpreter, a world-class programmer"],
        rules: &[r#"system: You are Open Interpreter,{{any}}\n\nUser's Name: {{user}}\n"#],
    },
    PresetText {
        name: "opencode",
        version: 2,
        user_agents: &["opencode/"],
        openings: &[],
        rules: &[r#"system: You are {{any}}\n  Today's date: {{day}}\n</env>"#],
    },
    PresetText {
        name: "openhands",
        version: 1,
        user_agents: &[],
        openings: &[
            "You are OpenHands agent, a helpful AI assistant that can interact with a computer",
        ],
        rules: &[
            r#"/prompt_cache_key: uuid"#,
            r#"system: <CURRENT_DATETIME>\nThe current date and time is: {{time}}\n</CURRENT_DATETIME>"#,
            r#"system: <CURRENT_DATETIME>\n{{any}}\nUser operating system: Linux (kernel {{os_release}})"#,
        ],
    },
    PresetText {
        name: "pi",
        version: 1,
        user_agents: &[],
        openings: &[
            "You are an expert coding assistant operating inside pi, a coding agent harness.",
        ],
        rules: &[
            r#"system: You are an expert coding assistant operating inside pi,{{any}}\nCurrent date: {{day}}\n"#,
        ],
    },
    PresetText {
        name: "qwen-code",
        version: 3,
        user_agents: &["QwenCode/"],
        openings: &[],
        rules: &[
            r#"system: You are Qwen Code{{any}}\n--- Context from: {{home}}/.qwen/output-language.md ---"#,
            r#"system: You are Qwen Code{{any}}\n--- End of Context from: {{home}}/.qwen/output-language.md ---"#,
            r#"system: You are Qwen Code{{any}}\ngit: Status:\n{{git_status}}\ngit: Recent commits:\n{{git_commits}}\n```"#,
            r#"tool: Command: {{any}}\nProcess Group PGID: {{pid}}"#,
            r#"user: <system-reminder>\nThis is the Qwen Code.{{any}}\nToday's date is {{day}}.\n"#,
            r#"user: <system-reminder>\nThis is the Qwen Code.{{any}}\n\nShowing up to 20 items:\n\n{{any}}/\n{{short_folder_tree}}\n</system-reminder>"#,
            r#"user: <system-reminder>\nThe current date is: {{day}}. Note"#,
        ],
    },
];

static PRESETS: LazyLock<Vec<ClientPreset>> = LazyLock::new(|| {
    let read = |PresetText { name, version, user_agents, openings, rules }| {
        let rules = rules.iter().filter_map(|rule| NormalizeRule::parse(rule).ok()).collect();
        ClientPreset { name, version, user_agents, openings, rules }
    };
    TEXTS.into_iter().map(read).collect()
});

/// Finds the beginnings of instructions in a body of JSON. They are searched without the quotation
/// mark before them: their first letters are rarer in a body, which makes the search ten times as
/// fast.
static OPENINGS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let openings = ClientPreset::all().iter().flat_map(|preset| preset.openings);
    // Up to the first line break, which is escaped.
    AhoCorasick::new(openings.map(|text| text.lines().next().unwrap_or_default())).ok()
});

impl ClientPreset {
    /// Returns all presets, by name.
    pub fn all() -> &'static [Self] {
        &PRESETS
    }

    /// Returns the preset of this name.
    pub fn find_by_name(name: &str) -> Option<&'static Self> {
        Self::all().iter().find(|preset| preset.name == name)
    }

    /// Returns the preset of the client with this `user-agent`.
    pub fn of_user_agent(user_agent: &str) -> Option<&'static Self> {
        let begins =
            |preset: &&Self| preset.user_agents.iter().any(|it| user_agent.starts_with(it));
        Self::all().iter().find(begins)
    }

    /// Whether the instructions of a client may be in this body.
    pub fn may_open(body: &[u8]) -> bool {
        let Some(openings) = OPENINGS.as_ref() else { return false };
        let mut start = 0;
        while let Some(found) = openings.find(Input::new(body).range(start..)) {
            if body[..found.start()].ends_with(b"\"") {
                return true;
            }
            start = found.start() + 1;
        }
        false
    }

    /// Returns the preset of the client whose instructions are this text.
    pub fn of_instructions(text: &str) -> Option<&'static Self> {
        let begins = |preset: &&Self| preset.openings.iter().any(|it| text.starts_with(it));
        Self::all().iter().find(begins)
    }

    /// Returns the preset that an entry was recorded with. Its version does not matter: the newest
    /// rules hold.
    pub fn of_entry(text: &str) -> Option<&'static Self> {
        Self::find_by_name(text.split(' ').next()?)
    }

    /// Whether a rule finds a value of a repository.
    pub fn finds_repository(&self) -> bool {
        self.rules.iter().any(NormalizeRule::finds_repository)
    }

    /// Returns its name and its version, as an entry has them.
    pub fn name_and_version(&self) -> String {
        format!("{} {}", self.name, self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_of_all_presets_can_be_read() {
        for PresetText { name, rules, .. } in TEXTS {
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
        let pi =
            "You are an expert coding assistant operating inside pi, a coding agent harness. You";
        let of_text = |text: &str| ClientPreset::of_instructions(text).map(|preset| preset.name);
        assert_eq!(of_text(pi), Some("pi"));
        assert_eq!((of_text(&pi[1..]), of_text("You are")), (None, None));
        assert!(ClientPreset::may_open(format!("{{\"content\":\"{pi}\"}}").as_bytes()));
        assert!(!ClientPreset::may_open(format!("{{\"content\":\" {pi}\"}}").as_bytes()));
        assert!(ClientPreset::may_open(format!("[\" {pi}\", \"{pi}\"]").as_bytes()));
        let of_entry = |text| ClientPreset::of_entry(text).map(|preset| preset.name);
        assert_eq!(
            (of_entry("codex 1"), of_entry("codex"), of_entry("x 1")),
            (Some("codex"), Some("codex"), None)
        );
    }
}
