//! Presets: what a coding agent needs to be recorded and replayed, as data.
//!
//! A preset has the variables and arguments without which a program cannot be recorded or calls other
//! hosts. Its variables are set for every CMD, because a script may start the program; its arguments
//! and its file apply if CMD is the program. The rules for its requests are those of the
//! [`ClientPreset`] of the same name. A preset never touches the user's files.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::args::ServeArgs;
use super::exit::{CommandFailure, UNEXPECTED};
use super::preset_file::{IgnoreList, PresetFile};
use loomrec_identity::{ClientPreset, NormalizeRule, spelling};
use loomrec_store::RecordingLocation;

/// What a program needs, as data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// Whether it is one of `loomrec.toml`.
    pub is_of_project: bool,
    /// The names of its programs.
    pub programs: &'static [&'static str],
    /// The rules of a preset of `loomrec.toml`.
    pub rules: &'static [&'static str],
    /// Variables for CMD, whatever it starts, unless the user has set them.
    pub variables: &'static [(&'static str, &'static str)],
    /// Arguments for CMD, before its own. `{openai}` is the value of `OPENAI_BASE_URL`.
    pub arguments: &'static [&'static str],
    /// A file that a variable names.
    pub file: Option<PresetFile>,
    /// What the user has to do.
    pub note: Option<&'static str>,
}

/// A preset without anything in it.
const PLAIN: Preset = Preset {
    name: "",
    is_of_project: false,
    programs: &[],
    rules: &[],
    variables: &[],
    arguments: &[],
    file: None,
    note: None,
};

/// All presets, by name.
pub const PRESETS: [Preset; 18] = [
    Preset {
        name: "aider",
        programs: &["aider"],
        variables: &[("AIDER_ANALYTICS_DISABLE", "true"), ("AIDER_CHECK_UPDATE", "false")],
        // It lists the files that git tracks.
        file: Some(PresetFile::IgnoreList(IgnoreList {
            variable: "AIDER_AIDERIGNORE",
            own: ".aiderignore",
            settings: &[".aider.conf.yml"],
            option: "aiderignore",
        })),
        ..PLAIN
    },
    Preset {
        name: "cecli",
        programs: &["cecli"],
        note: Some(
            "cecli lists the files that git tracks: list the recording in .cecli.ignore before it \
             is committed, with all that .gitignore has, which cecli then does not read",
        ),
        ..PLAIN
    },
    Preset {
        name: "claude-code",
        programs: &["claude"],
        // Otherwise it calls its provider for other things than the model, and not through loomrec.
        // The variable changes its prompts, too.
        variables: &[("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")],
        ..PLAIN
    },
    Preset {
        name: "cline",
        programs: &["cline"],
        note: Some(
            "cline reads the address from its own settings: run cline auth -p openai -k \
             \"$OPENAI_API_KEY\" -m MODEL -b \"$OPENAI_BASE_URL\" behind loomrec first",
        ),
        ..PLAIN
    },
    Preset {
        name: "codex",
        programs: &["codex"],
        // It reads no address from the environment.
        arguments: &[
            "-c",
            "model_provider=loomrec",
            "-c",
            "model_providers.loomrec.name=OpenAI",
            "-c",
            "model_providers.loomrec.base_url={openai}",
            "-c",
            "model_providers.loomrec.env_key=OPENAI_API_KEY",
            "-c",
            "model_providers.loomrec.wire_api=responses",
            "-c",
            "model_providers.loomrec.supports_websockets=false",
            // With plugins, it asks GitHub for new ones at each start, and chatgpt.com if it cannot
            // reach GitHub.
            "-c",
            "features.plugins=false",
        ],
        ..PLAIN
    },
    Preset { name: "continue", programs: &["cn"], ..PLAIN },
    Preset { name: "copilot", programs: &["copilot"], ..PLAIN },
    Preset {
        name: "gemini-cli",
        programs: &["gemini"],
        // With a base URL alone it chooses a way to authenticate that ends the program. Its skills
        // are in the prompt in the order in which a search finds them.
        file: Some(PresetFile::Settings {
            variable: "GEMINI_CLI_SYSTEM_SETTINGS_PATH",
            content: "{\"security\": {\"auth\": {\"selectedType\": \"gemini-api-key\"}}, \
                      \"skills\": {\"enabled\": false}, \
                      \"privacy\": {\"usageStatisticsEnabled\": false}, \
                      \"general\": {\"enableAutoUpdate\": false}}\n",
        }),
        ..PLAIN
    },
    Preset { name: "gptme", programs: &["gptme"], ..PLAIN },
    Preset { name: "grok-cli", programs: &["grok"], ..PLAIN },
    Preset { name: "kilo", programs: &["kilo"], ..PLAIN },
    Preset { name: "mini-swe-agent", programs: &["mini", "mini-swe-agent"], ..PLAIN },
    Preset { name: "mistral-vibe", programs: &["vibe"], ..PLAIN },
    Preset { name: "open-interpreter", programs: &["interpreter"], ..PLAIN },
    Preset {
        name: "opencode",
        programs: &["opencode"],
        variables: &[("OPENCODE_DISABLE_AUTOUPDATE", "1"), ("OPENCODE_DISABLE_MODELS_FETCH", "1")],
        ..PLAIN
    },
    Preset { name: "openhands", programs: &["openhands"], ..PLAIN },
    Preset { name: "pi", programs: &["pi"], ..PLAIN },
    Preset { name: "qwen-code", programs: &["qwen"], ..PLAIN },
];

/// Returns a folder that no other user can write to, nor the folders above it: Gemini CLI reads no
/// settings from any other.
fn private_folder() -> std::io::Result<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(folder) = variable("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|it| it.is_dir()) {
        return Ok(folder);
    }
    let home = variable("HOME").map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = home.join(".cache/loomrec");
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// Returns what is wrong with a name that none of these presets has.
pub fn no_such_preset(name: &str, names: &[&str]) -> String {
    let meant = spelling::nearest_name(name, names);
    let meant = meant.map(|meant| format!("did you mean {meant}? ")).unwrap_or_default();
    format!("there is no preset {name}: {meant}the presets are {}", names.join(", "))
}

/// A preset that is applied in a run.
#[derive(Debug)]
pub struct AppliedPreset {
    /// The preset.
    pub preset: Preset,
    /// The folder of its file, which is removed at the end.
    folder: Option<TempDir>,
}

impl Preset {
    /// Returns an empty preset of `loomrec.toml` for the program of this name.
    pub fn of_project(name: &'static str) -> Self {
        Self { name, is_of_project: true, programs: vec![name].leak(), ..PLAIN }
    }

    /// Returns the preset of CMD, unless `--preset none` is given. Those of the project count before
    /// those that loomrec has.
    pub fn find_for_command(args: &ServeArgs, of_project: &[Self]) -> Option<Self> {
        let program = args.cmd.first().filter(|_| !args.run_values.has_no_preset())?;
        let name = Path::new(program).file_name()?.to_str()?;
        let all = of_project.iter().copied().chain(PRESETS);
        all.into_iter().find(|preset| preset.programs.contains(&name))
    }

    /// Returns the version, or where the preset is from.
    pub fn version_text(&self) -> String {
        match ClientPreset::find_by_name(self.name).filter(|_| !self.is_of_project) {
            Some(client) => client.version.to_string(),
            None => "of loomrec.toml".to_owned(),
        }
    }

    /// Returns the rules for what the program makes anew.
    pub fn normalize_rules(&self) -> Vec<NormalizeRule> {
        if self.is_of_project {
            return self.rules.iter().filter_map(|rule| NormalizeRule::parse(rule).ok()).collect();
        }
        ClientPreset::find_by_name(self.name).map(|client| client.rules.clone()).unwrap_or_default()
    }
}

impl AppliedPreset {
    /// Applies a preset in a run with these recordings: writes its file, if it has one.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn new(
        preset: Option<Preset>,
        recordings: &[RecordingLocation],
    ) -> Result<Option<Self>, CommandFailure> {
        let Some(preset) = preset else { return Ok(None) };
        let file = preset.file.and_then(|file| Some((file, file.run_content(recordings)?)));
        let Some((file, content)) = file else { return Ok(Some(Self { preset, folder: None })) };
        let write = || {
            let parent = private_folder()?;
            let folder = tempfile::Builder::new().prefix("loomrec-preset-").tempdir_in(parent)?;
            std::fs::write(folder.path().join(file.file_name()), content)?;
            Ok::<_, std::io::Error>(folder)
        };
        let folder = write().map_err(|error| {
            let text = format!("failed to write the file of the preset: {error}");
            CommandFailure::new(UNEXPECTED, text)
        })?;
        Ok(Some(Self { preset, folder: Some(folder) }))
    }

    /// Returns the variable that names the preset's file.
    pub fn file_variable(&self) -> Option<(String, String)> {
        let (folder, file) = self.folder.as_ref().zip(self.preset.file)?;
        Some((
            file.variable_name().to_owned(),
            folder.path().join(file.file_name()).display().to_string(),
        ))
    }

    /// Returns the arguments for CMD, with the address that OpenAI's SDK gets.
    pub fn command_arguments(&self, openai: &str) -> Vec<OsString> {
        let argument = |text: &&str| text.replace("{openai}", openai).into();
        self.preset.arguments.iter().map(argument).collect()
    }

    /// Returns the line that says what is applied.
    pub fn summary_line(&self) -> String {
        let Preset { name, variables, arguments, note, .. } = self.preset;
        let mut parts = Vec::new();
        match self.preset.normalize_rules().len() {
            0 => {}
            1 => parts.push("1 rule".to_owned()),
            count => parts.push(format!("{count} rules")),
        }
        let named = variables.iter().copied().map(|(name, value)| format!("{name}={value}"));
        parts.extend(named.chain(self.file_variable().map(|(name, _)| name)));
        if !arguments.is_empty() {
            parts.push(format!("arguments {}", arguments.join(" ")));
        }
        let parts =
            if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) };
        let note = note.map(|note| format!("; {note}")).unwrap_or_default();
        let version = self.preset.version_text();
        format!("loomrec: preset {name} {version}{parts} (--preset none){note}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_preset_has_rules_for_its_requests() {
        let names = |all: &[&'static str]| all.to_vec();
        let clients: Vec<&str> = ClientPreset::all().iter().map(|client| client.name).collect();
        let presets: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
        assert_eq!(names(&presets), clients);
        assert!(PRESETS.is_sorted_by_key(|preset| preset.name));
    }
}
