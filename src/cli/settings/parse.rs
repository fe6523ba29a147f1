//! The parser of settings files.

use std::any::TypeId;
use std::path::{Path, PathBuf};

use clap::Arg;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::preset_table;
use super::setting::Setting;
use super::setting_type::{SettingType, flag_type, is_settable};
use super::settings_text::{Key, SettingsText, line_of, name_hint};
use crate::exit::CommandFailure;
use crate::preset::Preset;
use loomrec_store::RecordingLocation;

/// The commands whose settings may be at the top of the file.
const SERVING: [&str; 2] = ["record", "replay"];

/// Returns the settings in `text`, and its presets.
///
/// # Errors
/// Text that is not TOML; a setting that does not exist or is of the wrong type.
pub(super) fn parse(
    path: &Path,
    text: &str,
    command: &clap::Command,
) -> Result<(Vec<Setting>, Vec<Preset>), CommandFailure> {
    let table = DeTable::parse(text).map_err(|error| {
        let line = error.span().map_or(1, |span| line_of(text, &span));
        CommandFailure::usage(format!(
            "{}:{line}: this is not TOML: {}",
            path.display(),
            error.message()
        ))
    })?;
    let file = SettingsText { path, text, command };
    let (mut entries, mut presets) = (Vec::new(), Vec::new());
    for (key, value) in table.get_ref() {
        match value.get_ref() {
            DeValue::Table(table) if key.get_ref() == "upstreams" => {
                add_setting(&mut entries, file.read_upstreams(key, table)?);
            }
            DeValue::Table(table) if key.get_ref() == "presets" => {
                presets = preset_table::read_presets(&file, table)?;
            }
            DeValue::Table(table) => file.read_command(key, table, &mut entries)?,
            _ => add_setting(&mut entries, file.read_setting(None, key, value)?),
        }
    }
    Ok((entries, presets))
}

/// Adds a setting. Upstreams can be given in two ways, whose values are combined.
fn add_setting(entries: &mut Vec<Setting>, new: Setting) {
    let same = |known: &&mut Setting| known.name == new.name && known.command == new.command;
    match entries.iter_mut().find(same) {
        Some(known) => {
            known.values.extend(new.values);
            known.lines.extend(new.lines);
        }
        None => entries.push(new),
    }
}

impl SettingsText<'_> {
    /// Reads the table of one command.
    fn read_command(
        &self,
        key: &Key<'_>,
        table: &DeTable<'_>,
        entries: &mut Vec<Setting>,
    ) -> Result<(), CommandFailure> {
        let name = key.get_ref();
        let known: Vec<&str> = self
            .command
            .get_subcommands()
            .filter(|command| command.get_arguments().any(is_settable))
            .map(clap::Command::get_name)
            .chain(["upstreams", "presets"])
            .collect();
        if name == "upstreams" || !known.contains(&name.as_ref()) {
            let why = format!("there is no table [{name}]; {}", name_hint(name, &known));
            return Err(self.error_at(&key.span(), &why));
        }
        for (inner, value) in table {
            if let (DeValue::Table(table), "upstreams") =
                (value.get_ref(), inner.get_ref().as_ref())
            {
                let mut entry = self.read_upstreams(inner, table)?;
                entry.command = Some(name.to_string());
                add_setting(entries, entry);
                continue;
            }
            add_setting(entries, self.read_setting(Some(name), inner, value)?);
        }
        Ok(())
    }

    /// Reads `[upstreams]`: an address for each name.
    fn read_upstreams(
        &self,
        key: &Key<'_>,
        table: &DeTable<'_>,
    ) -> Result<Setting, CommandFailure> {
        let mut found = Vec::new();
        for (name, value) in table {
            let DeValue::String(address) = value.get_ref() else {
                let why = format!("upstreams.{}: expected an address as text", name.get_ref());
                return Err(self.error_at(&value.span(), &why));
            };
            let line = line_of(self.text, &name.span());
            found.push((line, format!("{}={address}", name.get_ref())));
        }
        // A table is read in the order of its names.
        found.sort_unstable();
        let (mut lines, values): (Vec<_>, Vec<_>) = found.into_iter().unzip();
        if lines.is_empty() {
            lines.push(line_of(self.text, &key.span()));
        }
        Ok(Setting { command: None, name: "upstream".to_owned(), values, lines })
    }

    /// Returns the arguments of a command, or those of the commands that serve.
    fn known_arguments(&self, command: Option<&str>) -> impl Iterator<Item = &Arg> {
        let commands = self.command.get_subcommands().filter(move |known| match command {
            Some(command) => known.get_name() == command,
            None => SERVING.contains(&known.get_name()),
        });
        commands.flat_map(clap::Command::get_arguments)
    }

    /// Returns why a flag cannot be a setting; `None` if there is no such flag.
    fn flag_only(&self, command: Option<&str>, name: &str) -> Option<String> {
        let arg = self.known_arguments(command).find(|arg| arg.get_long() == Some(name))?;
        let variable = arg.get_env().map(|name| name.to_string_lossy());
        Some(match (name, variable) {
            ("strict", _) => {
                "strict is a flag only: nothing but the command line decides whether a \
                              replay is strict, so that no file can change it; run loomrec replay \
                              --strict"
                    .to_owned()
            }
            (_, Some(variable)) if arg.is_hide_env_values_set() => {
                format!("{name} is a secret, and belongs in no file: set {variable}")
            }
            _ => format!("{name} is a flag only: give --{name} on the command line"),
        })
    }

    /// Reads one setting.
    fn read_setting(
        &self,
        command: Option<&str>,
        key: &Key<'_>,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<Setting, CommandFailure> {
        let name = key.get_ref();
        let args: Vec<&Arg> =
            self.known_arguments(command).filter(|arg| is_settable(arg)).collect();
        let Some(arg) = args.iter().find(|arg| arg.get_long() == Some(name)) else {
            let mut known: Vec<&str> = args.iter().filter_map(|arg| arg.get_long()).collect();
            known.sort_unstable();
            known.dedup();
            if command.is_none() {
                known.extend(SERVING.iter().copied().chain(["upstreams", "presets"]));
            }
            let why = match self.flag_only(command, name) {
                Some(why) => why,
                None => format!("there is no setting {name:?}; {}", name_hint(name, &known)),
            };
            return Err(self.error_at(&key.span(), &why));
        };
        let values = setting_values(value.get_ref(), flag_type(arg))
            .filter(|_| !(is_number(value.get_ref()) && takes_text(arg)))
            .ok_or_else(|| self.error_at(&value.span(), &expected_value(name, arg)))?;
        if let Some(why) = values.iter().find_map(|value| refusal_reason(arg, value)) {
            return Err(self.error_at(&value.span(), &format!("{name}: {why}")));
        }
        let files = arg.get_value_names().is_some_and(|names| names.iter().any(|n| n == "FILE"));
        let folder = self.path.parent().unwrap_or(Path::new(""));
        let values: Vec<String> = match files {
            true => values.iter().map(|file| from_folder(folder, file)).collect(),
            false => values,
        };
        let lines = vec![line_of(self.text, &key.span()); values.len().max(1)];
        Ok(Setting { command: command.map(str::to_owned), name: name.to_string(), values, lines })
    }
}

/// Returns the path of a file that a settings file in `folder` names. A URL stays as it is.
fn from_folder(folder: &Path, file: &str) -> String {
    match RecordingLocation::from(Path::new(file)).is_url() {
        true => file.to_owned(),
        false => folder.join(file).display().to_string(),
    }
}

/// Returns the values of a setting, or `None` if it is of the wrong type.
fn setting_values(value: &DeValue<'_>, kind: SettingType) -> Option<Vec<String>> {
    match (value, kind) {
        (DeValue::Boolean(value), SettingType::Switch) => Some(vec![value.to_string()]),
        (DeValue::String(text), SettingType::One | SettingType::Many) => {
            Some(vec![text.to_string()])
        }
        (DeValue::Integer(number), SettingType::One) => Some(vec![number.as_str().to_owned()]),
        (DeValue::Float(number), SettingType::One) => Some(vec![number.as_str().to_owned()]),
        (DeValue::Array(items), SettingType::Many) => items
            .iter()
            .map(|item| match item.get_ref() {
                DeValue::String(text) => Some(text.to_string()),
                _ => None,
            })
            .collect(),
        _ => None,
    }
}

fn is_number(value: &DeValue<'_>) -> bool {
    matches!(value, DeValue::Integer(_) | DeValue::Float(_))
}

/// Whether a flag takes any text, so that a number is probably a mistake.
fn takes_text(arg: &Arg) -> bool {
    let kind = arg.get_value_parser().type_id();
    kind == TypeId::of::<String>()
        || kind == TypeId::of::<PathBuf>()
        || kind == TypeId::of::<RecordingLocation>()
}

/// Returns why a flag does not accept a value, as the command line checks it: an unknown word, or
/// an invalid number.
fn refusal_reason(arg: &Arg, value: &str) -> Option<String> {
    if flag_type(arg) == SettingType::Switch {
        return None;
    }
    let alone = Arg::new("value").value_parser(arg.get_value_parser().clone());
    let alone = alone.allow_hyphen_values(true);
    let line = clap::Command::new("value").no_binary_name(true).arg(alone);
    let error = line.try_get_matches_from([value]).err()?;
    let words: Vec<_> =
        arg.get_possible_values().iter().map(|word| word.get_name().to_owned()).collect();
    if !words.is_empty() {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        return Some(format!("{value:?} is not one of its values; {}", name_hint(value, &words)));
    }
    let why = std::error::Error::source(&error).map_or_else(String::new, |why| format!(": {why}"));
    Some(format!("it does not take {value:?}{why}"))
}

fn expected_value(name: &str, arg: &Arg) -> String {
    let what = match flag_type(arg) {
        SettingType::Switch => "true or false",
        SettingType::One if takes_text(arg) => "a text",
        SettingType::One => "one text or number",
        SettingType::Many => "a text, or a list of texts",
    };
    format!("{name}: expected {what}")
}
