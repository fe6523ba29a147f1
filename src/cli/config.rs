//! The `loomrec config` command: the settings in force, and where each value comes from.

use std::fmt::Write as _;

use clap::{Arg, Command};
use serde_json::{Value, json};

use super::args::ConfigArgs;
use super::exit::CommandFailure;
use super::ls::print;
use super::settings::{Settings, adds_up, settable};
use super::{serve_setup, terminal};

/// The source of a value that neither the environment nor the settings file sets.
const DEFAULT: &str = "default";

/// One setting of one command.
struct Row {
    name: String,
    value: Vec<String>,
    /// Where it comes from, in words for people.
    from: String,
    source: &'static str,
}

impl Row {
    /// Whether the environment or the settings file sets it.
    fn is_set(&self) -> bool {
        self.source != DEFAULT
    }
}

/// Runs the command.
///
/// # Errors
/// A stdout that cannot be written.
pub fn run(
    args: &ConfigArgs,
    settings: &Settings,
    command: &Command,
) -> Result<u8, CommandFailure> {
    let mut document = serde_json::Map::new();
    let mut text = match &settings.path {
        Some(path) => format!("settings  {}\n", path.display()),
        None => "settings  no loomrec.toml here or above\n".to_owned(),
    };
    let mut is_any_set = false;
    for sub in command.get_subcommands().filter(|sub| args.wants(sub.get_name())) {
        let name = sub.get_name();
        let rows: Vec<Row> = sub
            .get_arguments()
            .filter(|arg| arg.get_env().is_some())
            .map(|arg| without_secrets(row(settings, name, arg)))
            .collect();
        let told = rows.iter().map(|row| {
            let value = json!({ "value": row.value, "source": row.source, "from": row.from });
            (row.name.clone(), value)
        });
        document.insert(name.to_owned(), Value::Object(told.collect()));
        let shown: Vec<&Row> = rows.iter().filter(|row| args.all || row.is_set()).collect();
        is_any_set |= rows.iter().any(Row::is_set);
        if !shown.is_empty() {
            table(&mut text, name, &shown);
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
        let whole = json!({ "file": path, "commands": document });
        text = terminal::json(&format!("{whole:#}\n")).into_owned();
    }
    print(&text)
}

/// Returns a row without the passwords that an upstream's address may contain.
fn without_secrets(mut row: Row) -> Row {
    if row.name == "upstream" {
        row.value = row.value.iter().map(|value| serve_setup::without_secrets(value)).collect();
    }
    row
}

/// Returns the value that a flag has when it is not given on the command line.
fn row(settings: &Settings, command: &str, arg: &Arg) -> Row {
    let name = arg.get_long().unwrap_or_default().to_owned();
    let variable = arg.get_env().map(|name| name.to_string_lossy().into_owned());
    let variable = variable.unwrap_or_default();
    let entry = settings.of(command, &name).filter(|_| settable(arg));
    let given = std::env::var(&variable).ok().filter(|value| !value.is_empty());
    let told =
        given.map(|value| if arg.is_hide_env_values_set() { "set".to_owned() } else { value });
    match (told, entry) {
        (Some(value), Some(entry)) if adds_up(&name) => {
            let from = format!("{variable} and {}", settings.place(entry));
            let value = std::iter::once(value).chain(entry.values.iter().cloned()).collect();
            Row { name, value, from, source: "environment and file" }
        }
        (Some(value), _) => Row { name, value: vec![value], from: variable, source: "environment" },
        (None, Some(entry)) => {
            let from = settings.place(entry);
            Row { name, value: entry.values.clone(), from, source: "file" }
        }
        (None, None) => {
            let value = arg.get_default_values();
            let value = value.iter().map(|value| value.to_string_lossy().into_owned()).collect();
            Row { name, value, from: DEFAULT.to_owned(), source: DEFAULT }
        }
    }
}

fn table(text: &mut String, command: &str, rows: &[&Row]) {
    // Writing to a string never fails.
    let _ = writeln!(text, "\n{command}");
    let shown = |row: &Row| match row.value.as_slice() {
        [] => "–".to_owned(),
        values => terminal::line(&values.join(" ")).into_owned(),
    };
    let widest = |widths: &mut dyn Iterator<Item = usize>| widths.max().unwrap_or(0);
    let name = widest(&mut rows.iter().map(|row| row.name.len()));
    let value = widest(&mut rows.iter().map(|row| terminal::columns(&shown(row)))).min(48);
    for row in rows {
        let shown = shown(row);
        let padding = terminal::padding(&shown, value);
        let _ =
            writeln!(text, "  {:name$}  {shown}{padding}  {}", row.name, terminal::line(&row.from));
    }
}
