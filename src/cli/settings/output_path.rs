//! The check of files that settings name: what is written stays within the project and replaces
//! nothing else, and what is read is a regular file.
//!
//! A settings file may come with a repository, so the user of loomrec may not have chosen these
//! paths.

use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use clap::ArgMatches;
use clap::parser::ValueSource;

use super::Settings;
use super::default_recording::{changes_default, recording_setting};
use super::outward::CommandLine;
use super::setting::Setting;
use crate::args::SettingScope;
use crate::exit::CommandFailure;
use loomrec_os::{FileKind, FileStatus};
use loomrec_store::RecordingLocation;

/// The folders of version control systems, in lower case.
const VERSION_CONTROL: [&str; 9] =
    [".git", ".hg", ".svn", ".jj", ".sl", ".bzr", ".pijul", "_darcs", "cvs"];

/// What is written.
#[derive(Clone, Copy)]
enum OutputKind {
    /// A file, and how it begins if its writer does not check that.
    File(Option<&'static str>),
    /// A recording.
    Recording,
}

/// The folders in which a settings file may name output files.
struct ProjectFolders {
    /// The working directory.
    current: PathBuf,
    /// The folder of the settings file and the working directory, without links.
    roots: Vec<PathBuf>,
}

/// Refuses an output file of the settings that is outside of the settings file's folder and the
/// working directory, within a folder of version control, or something else than loomrec writes
/// there; and an input file that is no regular file.
///
/// # Errors
/// Names the setting and its value.
pub fn check_files(
    settings: &Settings,
    line: &CommandLine<'_>,
    folder: &Path,
) -> Result<(), CommandFailure> {
    let Some(path) = &settings.path else { return Ok(()) };
    let own = folder.join(path);
    let roots = [own.parent().unwrap_or(folder), folder];
    let roots = roots.iter().filter_map(|root| root.canonicalize().ok()).collect();
    let project = ProjectFolders { current: folder.to_owned(), roots };
    let Some(command) = line.definition.find_subcommand(line.name) else { return Ok(()) };
    for arg in command.get_arguments().filter(|arg| is_default(line.matches, arg)) {
        let Some(entry) = settings.find_setting(line.name, arg.get_long().unwrap_or_default())
        else {
            continue;
        };
        match SettingScope::from_argument(arg) {
            SettingScope::OutputFile { beginning } => {
                project.check_output(settings, entry, OutputKind::File(beginning))?;
            }
            SettingScope::Recording if line.name == "record" => {
                project.check_output(settings, entry, OutputKind::Recording)?;
            }
            SettingScope::InputFile => project.check_input(settings, entry)?,
            _ => {}
        }
    }
    match recording_setting(settings) {
        Some(entry) if changes_default(line.name, line.matches) => {
            project.check_output(settings, entry, OutputKind::Recording)
        }
        _ => Ok(()),
    }
}

/// Whether neither the command line nor the environment gives a flag a value.
fn is_default(matches: &ArgMatches, arg: &clap::Arg) -> bool {
    let id = arg.get_id().as_str();
    matches.try_contains_id(id).is_ok()
        && matches.value_source(id) == Some(ValueSource::DefaultValue)
}

impl ProjectFolders {
    fn check_output(
        &self,
        settings: &Settings,
        entry: &Setting,
        output: OutputKind,
    ) -> Result<(), CommandFailure> {
        let files = entry.values.iter().filter(|value| {
            // A recording in an object store needs the user's trust instead.
            !RecordingLocation::from(Path::new(value)).is_url()
        });
        for value in files {
            if let Some(why) = self.path_problem(&self.current.join(value), output) {
                let root = self.roots.first().unwrap_or(&self.current);
                return Err(CommandFailure::usage(format!(
                    "{}: {} = {value:?} {why}: name a file below {}, or give the path on the \
                     command line",
                    settings.setting_place(entry),
                    entry.name,
                    root.display(),
                )));
            }
        }
        Ok(())
    }

    /// Returns what is wrong with a path for an output.
    fn path_problem(&self, path: &Path, output: OutputKind) -> Option<&'static str> {
        let end = resolve_links(path);
        let within = |end: &PathBuf| self.roots.iter().filter(|root| end.starts_with(root)).min();
        let Some((root, end)) = end.and_then(|end| Some((within(&end)?, end))) else {
            return Some("leads out of the project");
        };
        if is_below_version_control(root, &end) {
            return Some("is in a folder of version control");
        }
        if path.ancestors().any(|at| self.is_link_within(at)) {
            return Some("leads through a link");
        }
        let is_recording = matches!(output, OutputKind::Recording);
        if is_recording && RecordingLocation::from(path).names_folder() {
            return Some("names a folder, and a recording is one file");
        }
        let Ok(Some(status)) = FileStatus::at_path(path) else { return None };
        let is_plain = status.kind == FileKind::Regular && status.names == 1;
        match output {
            _ if !is_plain => Some("is not a regular file"),
            OutputKind::File(Some(beginning))
                if status.length > 0 && !has_beginning(path, beginning) =>
            {
                Some("names a file that loomrec has not written")
            }
            OutputKind::Recording | OutputKind::File(_) => None,
        }
    }

    /// Whether a path names a link that is within the project.
    fn is_link_within(&self, path: &Path) -> bool {
        let folder = || path.parent()?.canonicalize().ok();
        let is_within = |folder: PathBuf| self.roots.iter().any(|root| folder.starts_with(root));
        path.is_symlink() && folder().is_some_and(is_within)
    }

    fn check_input(&self, settings: &Settings, entry: &Setting) -> Result<(), CommandFailure> {
        for value in entry.values.iter().filter(|value| !value.is_empty()) {
            let status = FileStatus::at_target(&self.current.join(value)).ok().flatten();
            if status.is_some_and(|status| status.kind != FileKind::Regular) {
                return Err(CommandFailure::usage(format!(
                    "{}: {} = {value:?} is not a regular file: name one, or give the path on the \
                     command line",
                    settings.setting_place(entry),
                    entry.name,
                )));
            }
        }
        Ok(())
    }
}

/// Whether a path below a root is within what a version control system keeps for itself.
fn is_below_version_control(root: &Path, end: &Path) -> bool {
    let Ok(rest) = end.strip_prefix(root) else { return false };
    let is_known = |part: Component<'_>| {
        let name = part.as_os_str().to_string_lossy().to_ascii_lowercase();
        VERSION_CONTROL.contains(&name.as_str())
    };
    // The folder of a repository may have any name.
    let is_repository = |folder: &Path| {
        folder.join("HEAD").is_file()
            && (folder.join("objects").is_dir() || folder.join("commondir").is_file())
    };
    rest.components().any(is_known)
        || end.ancestors().skip(1).take_while(|at| *at != root).any(is_repository)
}

/// Whether a file begins with this text.
fn has_beginning(path: &Path, beginning: &str) -> bool {
    let mut start = Vec::new();
    let read = loomrec_os::open_input(path)
        .and_then(|file| file.take(beginning.len() as u64).read_to_end(&mut start));
    read.is_ok() && start == beginning.as_bytes()
}

/// Resolves a path, following links as far as it exists. Returns `None` if it goes upward from a
/// folder that does not exist.
fn resolve_links(path: &Path) -> Option<PathBuf> {
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
            assert_eq!(resolve_links(&root.join(path)), end.map(|end| root.join(end)), "{path}");
        }
    }

    #[test]
    fn output_is_a_plain_file_of_loomrec_outside_of_version_control_and_links() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let at = |name: &str| root.join(name);
        for folder in [".git/hooks", "sub/.GIT", "store.data/objects", "out", "_darcs"] {
            std::fs::create_dir_all(at(folder)).unwrap();
        }
        std::fs::write(at("store.data/HEAD"), "ref: refs/heads/main\n").unwrap();
        std::fs::write(at("foreign.md"), "# Readme\n").unwrap();
        std::fs::write(at("own.md"), "### loomrec replay: ok\n").unwrap();
        std::fs::write(at("empty.md"), "").unwrap();
        std::fs::hard_link(at("own.md"), at("second.md")).unwrap();
        std::fs::write(at("single.md"), "### loomrec replay: ok\n").unwrap();
        std::os::unix::fs::symlink("out", at("link")).unwrap();
        std::os::unix::fs::symlink("single.md", at("link.md")).unwrap();
        let project = ProjectFolders { current: root.clone(), roots: vec![root.clone()] };
        let output = OutputKind::File(Some("### loomrec "));
        for (path, problem) in [
            (".git/hooks/pre-commit", Some("is in a folder of version control")),
            ("sub/.GIT/new", Some("is in a folder of version control")),
            ("new/.git/hooks/new", Some("is in a folder of version control")),
            ("store.data/new", Some("is in a folder of version control")),
            ("_darcs/new", Some("is in a folder of version control")),
            (".git", Some("is in a folder of version control")),
            ("link/new.md", Some("leads through a link")),
            ("link.md", Some("leads through a link")),
            ("second.md", Some("is not a regular file")),
            ("out", Some("is not a regular file")),
            ("foreign.md", Some("names a file that loomrec has not written")),
            ("single.md", None),
            ("empty.md", None),
            ("out/new.md", None),
            (".cache/new.md", None),
        ] {
            assert_eq!(project.path_problem(&at(path), output), problem, "{path}");
        }
        for path in ["out", "out/", "new/"] {
            let problem = Some("names a folder, and a recording is one file");
            assert_eq!(project.path_problem(&at(path), OutputKind::Recording), problem, "{path}");
        }
        assert_eq!(project.path_problem(&at("out/new.json"), OutputKind::Recording), None);
    }
}
