//! The presets in a settings file: `[presets.NAME]`, for programs that loomrec does not know.
//!
//! They have rules, and neither variables nor arguments: with those, a file in a folder that
//! somebody else wrote could have CMD run other code.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::settings_text::{Key, SettingsText, name_hint};
use crate::exit::CommandFailure;
use crate::preset::Preset;
use loomrec_identity::NormalizeRule;

/// The members of a preset.
const MEMBERS: [&str; 3] = ["programs", "rules", "note"];

/// Reads `[presets]`: a table for each name.
pub(super) fn read_presets(
    file: &SettingsText<'_>,
    table: &DeTable<'_>,
) -> Result<Vec<Preset>, CommandFailure> {
    let read = |(name, value): (&Key<'_>, &Spanned<DeValue<'_>>)| match value.get_ref() {
        DeValue::Table(members) => read_preset(file, name.get_ref(), members),
        _ => {
            let why = format!("presets.{}: expected a table", name.get_ref());
            Err(file.error_at(&value.span(), &why))
        }
    };
    table.iter().map(read).collect()
}

fn read_preset(
    file: &SettingsText<'_>,
    name: &str,
    members: &DeTable<'_>,
) -> Result<Preset, CommandFailure> {
    // Without a list of programs, it is for the program of its name.
    let mut preset = Preset::of_project(leak_text(name));
    for (key, value) in members {
        let member = key.get_ref().as_ref();
        let wrong =
            |why: &str| file.error_at(&value.span(), &format!("presets.{name}.{member}: {why}"));
        let list = || leak_texts(value.get_ref()).ok_or_else(|| wrong("expected a list of texts"));
        match member {
            "programs" => preset.programs = list()?,
            "rules" => {
                preset.rules = list()?;
                for rule in preset.rules {
                    NormalizeRule::parse(rule)
                        .map_err(|error| wrong(&format!("failed to {error}")))?;
                }
            }
            "note" => {
                let text = value.get_ref().as_str();
                preset.note = Some(leak_text(text.ok_or_else(|| wrong("expected a text"))?));
            }
            other => {
                let why =
                    format!("presets.{name} has no {other:?}; {}", name_hint(other, &MEMBERS));
                return Err(file.error_at(&key.span(), &why));
            }
        }
    }
    Ok(preset)
}

/// Returns a text that stays until the process ends, as the settings do.
fn leak_text(text: &str) -> &'static str {
    text.to_owned().leak()
}

fn leak_texts(value: &DeValue<'_>) -> Option<&'static [&'static str]> {
    let text = |item: &Spanned<DeValue<'_>>| item.get_ref().as_str().map(leak_text);
    Some(value.as_array()?.iter().map(text).collect::<Option<Vec<_>>>()?.leak())
}
