//! The `loomrec config` command: the settings in force, and where each value comes from; presets,
//! shell completions and manual pages.

mod generated_file;
mod preset_list;

use std::fmt::Write as _;

use clap::{Arg, Command};
use serde_json::{Value, json};

use super::args::{ConfigArgs, GeneratedText};
use loomrec_cli::exit::CommandFailure;
use loomrec_cli::output::print;
use loomrec_cli::settings::{Settings, SettingsTrust, adds_up, is_settable, outward_settings};
use loomrec_cli::{serve_setup, terminal};

/// The source of a value that neither the environment nor the settings file sets.
const DEFAULT: &str = "default";

/// One setting of one command.
struct SettingRow {
    name: String,
    value: Vec<String>,
    /// Where it comes from, in words for people: one place for all values, or one for each.
    from: Vec<String>,
    source: &'static str,
}

impl SettingRow {
    /// Returns the row of values that come from these places. Equal places are combined.
    fn from_places(
        name: String,
        value: Vec<String>,
        mut from: Vec<String>,
        source: &'static str,
    ) -> Self {
        if from.windows(2).all(|places| places[0] == places[1]) {
            from.truncate(1);
        }
        Self { name, value, from, source }
    }

    /// Returns its lines in the table, as name, values and place. Values of one place share a line.
    fn table_lines(&self) -> Vec<(&str, String, &str)> {
        let shown = |value: &str| terminal::printable_line(value).into_owned();
        match self.from.as_slice() {
            [from] if self.value.is_empty() => vec![(&self.name, "–".to_owned(), from)],
            [from] => vec![(&self.name, shown(&self.value.join(" ")), from)],
            places => {
                let names = std::iter::once(self.name.as_str()).chain(std::iter::repeat(""));
                let values = self.value.iter().zip(places).zip(names);
                values.map(|((value, from), name)| (name, shown(value), from.as_str())).collect()
            }
        }
    }

    /// Whether the environment or the settings file sets it.
    fn is_set(&self) -> bool {
        self.source != DEFAULT
    }
}

/// Runs the command.
///
/// # Errors
/// A name that no preset has (2); a stdout, or a folder for manual pages, that cannot be written (3).
pub fn run(
    args: &ConfigArgs,
    settings: &Settings,
    command: &Command,
) -> Result<u8, CommandFailure> {
    if let Some(name) = &args.preset {
        return preset_list::print_presets(name.as_deref(), args.json, &settings.presets);
    }
    match (args.generate, &args.output) {
        (None, _) => print_settings(args, settings, command),
        (Some(GeneratedText::Completions(shell)), None) => {
            print(&generated_file::completions(shell, command))
        }
        (Some(GeneratedText::Completions(_)), Some(_)) => {
            Err(CommandFailure::usage("-o: it takes the folder for manual pages: --generate man"))
        }
        (Some(GeneratedText::Manual), None) => print(&generated_file::manual_page(command)?),
        (Some(GeneratedText::Manual), Some(folder)) => {
            generated_file::write_manual_pages(folder, command).map(|()| 0)
        }
    }
}

/// Prints the settings in force.
fn print_settings(
    args: &ConfigArgs,
    settings: &Settings,
    command: &Command,
) -> Result<u8, CommandFailure> {
    let mut document = serde_json::Map::new();
    let mut text = match &settings.path {
        Some(path) => format!("settings  {}\n", path.display()),
        None => "settings  no loomrec.toml here or above\n".to_owned(),
    };
    let trust = (!outward_settings(settings, command).is_empty())
        .then(|| SettingsTrust::from_settings(settings).word());
    if let Some(word) = trust {
        text.push_str(&format!("trust     {word}: loomrec trust shows what the file asks for\n"));
    }
    let mut is_any_set = false;
    for sub in command.get_subcommands().filter(|sub| args.includes_command(sub.get_name())) {
        let name = sub.get_name();
        let rows: Vec<SettingRow> = sub
            .get_arguments()
            .filter(|arg| arg.get_env().is_some())
            .map(|arg| without_secrets(flag_row(settings, name, arg)))
            .collect();
        let told = rows.iter().map(|row| {
            let value =
                json!({ "value": row.value, "source": row.source, "from": row.from.join(", ") });
            (row.name.clone(), value)
        });
        document.insert(name.to_owned(), Value::Object(told.collect()));
        let shown: Vec<&SettingRow> = rows.iter().filter(|row| args.all || row.is_set()).collect();
        is_any_set |= rows.iter().any(SettingRow::is_set);
        if !shown.is_empty() {
            write_table(&mut text, name, &shown);
        }
    }
    text.push_str(match (args.all, is_any_set) {
        (true, _) => "",
        (false, true) => "\nall other flags have their defaults: loomrec config --all lists them\n",
        (false, false) => {
            "nothing is set: all flags have their defaults; loomrec config --all lists them\n"
        }
    });
    if args.json {
        let path = settings.path.as_ref().map(|path| path.display().to_string());
        let whole = json!({ "file": path, "trust": trust, "commands": document });
        text = terminal::printable_json(&format!("{whole:#}\n")).into_owned();
    }
    print(&text)
}

/// Returns a row without the passwords that an upstream's address may contain.
fn without_secrets(mut row: SettingRow) -> SettingRow {
    if row.name == "upstream" {
        row.value = row.value.iter().map(|value| serve_setup::without_secrets(value)).collect();
    }
    row
}

/// Returns the value that a flag has when it is not given on the command line.
fn flag_row(settings: &Settings, command: &str, arg: &Arg) -> SettingRow {
    let name = arg.get_long().unwrap_or_default().to_owned();
    let variable = arg.get_env().map(|name| name.to_string_lossy().into_owned());
    let variable = variable.unwrap_or_default();
    let entry = settings.find_setting(command, &name).filter(|_| is_settable(arg));
    let given = std::env::var(&variable).ok().filter(|value| !value.is_empty());
    let told =
        given.map(|value| if arg.is_hide_env_values_set() { "set".to_owned() } else { value });
    match (told, entry) {
        (Some(value), Some(entry)) if adds_up(&name) => {
            let values = std::iter::once(value).chain(entry.values.iter().cloned()).collect();
            let places = std::iter::once(variable).chain(settings.value_places(entry)).collect();
            SettingRow::from_places(name, values, places, "environment and file")
        }
        (Some(value), _) => {
            SettingRow { name, value: vec![value], from: vec![variable], source: "environment" }
        }
        (None, Some(entry)) => {
            let places = settings.value_places(entry).collect();
            SettingRow::from_places(name, entry.values.clone(), places, "file")
        }
        (None, None) => {
            let value = arg.get_default_values();
            let value = value.iter().map(|value| value.to_string_lossy().into_owned()).collect();
            SettingRow { name, value, from: vec![DEFAULT.to_owned()], source: DEFAULT }
        }
    }
}

fn write_table(text: &mut String, command: &str, rows: &[&SettingRow]) {
    // Writing to a string never fails.
    let _ = writeln!(text, "\n{command}");
    let lines: Vec<(&str, String, &str)> = rows.iter().flat_map(|row| row.table_lines()).collect();
    let widest = |widths: &mut dyn Iterator<Item = usize>| widths.max().unwrap_or(0);
    let width = widest(&mut lines.iter().map(|(name, _, _)| name.len()));
    let value =
        widest(&mut lines.iter().map(|(_, value, _)| terminal::column_count(value))).min(48);
    for (name, shown, from) in &lines {
        let padding = terminal::padding(shown, value);
        let _ =
            writeln!(text, "  {name:width$}  {shown}{padding}  {}", terminal::printable_line(from));
    }
}
