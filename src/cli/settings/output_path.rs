//! The check of output paths in settings: they must stay within the project.
//!
//! A settings file may come with a repository, so the user of loomrec may not have chosen these
//! paths.

use std::path::{Component, Path, PathBuf};

use clap::ArgMatches;
use clap::parser::ValueSource;

use super::Settings;
use super::default_recording::{changes_default, recording_setting};
use super::setting::Setting;
use crate::exit::CommandFailure;

/// The settings that name output files, each with the command whose output it is. `None` means all
/// commands.
const OUTPUTS: [(Option<&str>, &str); 6] = [
    (None, "journal"),
    (None, "receipt"),
    (None, "summary"),
    (None, "junit"),
    (None, "pending"),
    (Some("record"), "recording"),
];

/// Refuses an output file of the settings that is outside of the settings file's folder and the
/// working directory.
///
/// # Errors
/// Names the setting and its value.
pub fn refuse_outside(
    settings: &Settings,
    command: &str,
    matches: &ArgMatches,
    folder: &Path,
) -> Result<(), CommandFailure> {
    let Some(path) = &settings.path else { return Ok(()) };
    let own = folder.join(path);
    let roots = [own.parent().unwrap_or(folder), folder];
    let roots: Vec<PathBuf> = roots.iter().filter_map(|root| root.canonicalize().ok()).collect();
    let here = |only: Option<&str>| only.is_none_or(|only| only == command);
    let is_set = |name: &&str| {
        matches.try_contains_id(name).is_ok()
            && matches.value_source(name) == Some(ValueSource::DefaultValue)
    };
    let names = OUTPUTS.iter().filter(|(only, _)| here(*only)).map(|(_, name)| *name);
    let mut outputs: Vec<&Setting> =
        names.filter(is_set).filter_map(|name| settings.of(command, name)).collect();
    if changes_default(command, matches) {
        outputs.extend(recording_setting(settings));
    }
    for entry in outputs {
        for value in &entry.values {
            let end = destination(&folder.join(value));
            if !end.is_some_and(|end| roots.iter().any(|root| end.starts_with(root))) {
                return Err(CommandFailure::usage(format!(
                    "{}: {} = {value:?} leads out of the project: name a file below {}, or \
                     give the path on the command line",
                    settings.place(entry),
                    entry.name,
                    roots.first().map_or(folder, PathBuf::as_path).display(),
                )));
            }
        }
    }
    Ok(())
}

/// Resolves a path, following links as far as it exists. Returns `None` if it goes upward from a
/// folder that does not exist.
fn destination(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?;
    let folder = path.parent()?;
    let there = folder.ancestors().find(|at| at.exists())?;
    let rest = folder.strip_prefix(there).ok()?;
    let is_plain = rest.components().all(|part| matches!(part, Component::Normal(_)));
    is_plain.then(|| there.canonicalize().ok())?.map(|there| there.join(rest).join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn destination_follows_links_and_refuses_to_go_up_from_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("project/sub")).unwrap();
        std::fs::create_dir(root.join("home")).unwrap();
        std::os::unix::fs::symlink(root.join("home"), root.join("project/link")).unwrap();
        for (path, end) in [
            ("project/a.json", Some("project/a.json")),
            ("project/sub/../a.json", Some("project/a.json")),
            ("project/new/a.json", Some("project/new/a.json")),
            ("project/link/key", Some("home/key")),
            ("project/../home/key", Some("home/key")),
            ("project/new/../../home/key", None),
            ("project/..", None),
        ] {
            assert_eq!(destination(&root.join(path)), end.map(|end| root.join(end)), "{path}");
        }
    }
}
