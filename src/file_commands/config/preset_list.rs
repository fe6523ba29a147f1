//! `loomrec config --preset`: the presets for coding agents.

use serde_json::{Value, json};

use loomrec_cli::exit::CommandFailure;
use loomrec_cli::output::print;
use loomrec_cli::preset::{PRESETS, Preset, no_such_preset};
use loomrec_cli::preset_file::PresetFile;
use loomrec_identity::ClientPreset;

/// Prints all presets, or the one of this name. Those of the project come first.
///
/// # Errors
/// A name that no preset has.
pub(super) fn print_presets(
    name: Option<&str>,
    as_json: bool,
    of_project: &[Preset],
) -> Result<u8, CommandFailure> {
    let all: Vec<Preset> = of_project.iter().copied().chain(PRESETS).collect();
    let Some(name) = name else {
        let text = match as_json {
            true => format!("{:#}\n", all.iter().map(to_json).collect::<Value>()),
            false => all.iter().map(preset_line).collect(),
        };
        return print(&text);
    };
    let Some(preset) = all.iter().find(|preset| preset.name == name) else {
        return Err(unknown_preset(name, &all));
    };
    print(&match as_json {
        true => format!("{:#}\n", to_json(preset)),
        false => preset_page(preset),
    })
}

fn unknown_preset(name: &str, all: &[Preset]) -> CommandFailure {
    let names: Vec<&str> = all.iter().map(|preset| preset.name).collect();
    CommandFailure::usage(no_such_preset(name, &names))
}

/// Returns the line of a preset in the list.
fn preset_line(preset: &Preset) -> String {
    let Preset { name, programs, .. } = preset;
    let version = preset.version_text();
    format!(
        "{name:12}  {version}  for {:9}  rules: {}\n",
        programs.join(", "),
        preset.normalize_rules().len()
    )
}

/// Returns everything that a preset does, for people.
fn preset_page(preset: &Preset) -> String {
    let Preset { name, programs, .. } = preset;
    let mut text = format!("{name} {}, for {}\n", preset.version_text(), programs.join(", "));
    let mut list = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            text.push_str(&format!("\n{title}\n"));
            lines.iter().for_each(|line| text.push_str(&format!("  {line}\n")));
        }
    };
    let client = ClientPreset::find_by_name(name).filter(|_| !preset.is_of_project);
    list("Tested with:", client.map(|it| it.tested_with().join(", ")).into_iter().collect());
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    let rules = preset.normalize_rules();
    list("Rules, as --normalize takes them:", rules.iter().map(ToString::to_string).collect());
    let variables = preset.variables.iter();
    list("Variables:", variables.map(|(name, value)| format!("{name}={value}")).collect());
    list("Arguments, before the program's own:", owned(preset.arguments));
    let file = preset.file.into_iter();
    let line = |file: PresetFile| format!("{}: {}", file.variable_name(), file.shown_content());
    list("A file:", file.map(line).collect());
    list("By hand:", preset.note.into_iter().map(str::to_owned).collect());
    text
}

fn to_json(preset: &Preset) -> Value {
    let client = ClientPreset::find_by_name(preset.name).filter(|_| !preset.is_of_project);
    let variables = preset.variables.iter().map(|(name, value)| json!([name, value]));
    json!({
        "name": preset.name,
        "version": client.map(|client| client.version),
        "user_agents": client.map(|client| client.user_agents),
        "openings": client.map(|client| client.openings),
        "tested_with": client.map(|client| client.tested_with()),
        "programs": preset.programs,
        "rules": preset.normalize_rules().iter().map(ToString::to_string).collect::<Value>(),
        "variables": variables.collect::<Value>(),
        "arguments": preset.arguments,
        "file": preset.file.map(|file| json!({ "variable": file.variable_name(), "text": file.shown_content() })),
        "note": preset.note,
    })
}
