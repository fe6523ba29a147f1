//! The file that a preset writes for a program, in a folder of its own.

use std::fs;
use std::path::{Component, Path, PathBuf};

use loomrec_store::RecordingLocation;

/// What a session's name stands for in the path of a recording.
const SESSION: &str = "{session}";

/// A file that a variable names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PresetFile {
    /// Settings.
    Settings {
        /// The variable.
        variable: &'static str,
        /// The content.
        content: &'static str,
    },
    /// A list of files that the program leaves out.
    IgnoreList(IgnoreList),
}

/// A list of files that a program leaves out of its prompts, as git writes such lists. A program that
/// lists what git tracks would otherwise list a recording once it is committed, and so send other
/// requests than the recorded ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IgnoreList {
    /// The variable.
    pub variable: &'static str,
    /// The user's own list, at the top of the repository. What it has stays in force.
    pub own: &'static str,
    /// The settings of the program in which `option` may name another list, at the top of the
    /// repository, in the working directory or in HOME.
    pub settings: &'static [&'static str],
    /// The name of the option.
    pub option: &'static str,
}

impl PresetFile {
    /// Returns the variable that names the file.
    pub fn variable_name(&self) -> &'static str {
        match self {
            Self::Settings { variable, .. } => variable,
            Self::IgnoreList(list) => list.variable,
        }
    }

    /// Returns the name of the file.
    pub(super) fn file_name(&self) -> &'static str {
        match self {
            Self::Settings { .. } => "settings.json",
            Self::IgnoreList(_) => "ignored.txt",
        }
    }

    /// Returns the content, or what it is made of.
    pub fn shown_content(&self) -> String {
        match self {
            Self::Settings { content, .. } => content.trim_end().to_owned(),
            Self::IgnoreList(IgnoreList { own, .. }) => format!("{own}, and the recording"),
        }
    }

    /// Returns the content in a run with these recordings. `None` if the program needs no file.
    pub(super) fn run_content(&self, recordings: &[RecordingLocation]) -> Option<String> {
        match self {
            Self::Settings { content, .. } => Some((*content).to_owned()),
            Self::IgnoreList(list) => {
                let home = std::env::var_os("HOME").map(PathBuf::from);
                list.extended_list(recordings, &std::env::current_dir().ok()?, home.as_deref())
            }
        }
    }
}

impl IgnoreList {
    /// Returns the user's list, with the recordings that are in the repository around `cwd` added to
    /// it. Returns `None` if no recording is in that repository, or if the user's settings name
    /// another list.
    fn extended_list(
        &self,
        recordings: &[RecordingLocation],
        cwd: &Path,
        home: Option<&Path>,
    ) -> Option<String> {
        let root = cwd.ancestors().find(|folder| folder.join(".git").exists())?;
        let folders = [Some(root), Some(cwd), home].into_iter().flatten();
        let mut settings =
            folders.flat_map(|folder| self.settings.iter().map(|name| folder.join(name)));
        if settings.any(|file| self.is_named_in(&fs::read_to_string(file).unwrap_or_default())) {
            return None;
        }
        let lines: Vec<String> = recordings
            .iter()
            .map(|at| at.display().to_string())
            .filter(|named| !named.contains("://"))
            .filter_map(|named| recording_pattern(&named, cwd, root))
            .collect();
        if lines.is_empty() {
            return None;
        }
        let own = fs::read_to_string(root.join(self.own)).unwrap_or_default();
        let end = if own.is_empty() || own.ends_with('\n') { "" } else { "\n" };
        Some(format!("{own}{end}{}\n", lines.join("\n")))
    }

    /// Whether settings in YAML name another list.
    fn is_named_in(&self, settings: &str) -> bool {
        let names = |line: &str| {
            line.split_once(':').is_some_and(|(name, _)| {
                name.trim().trim_matches(['"', '\'']).replace('_', "-") == self.option
            })
        };
        settings.lines().any(names)
    }
}

/// Returns the pattern of a recording in a repository; `None` if it is not in there.
fn recording_pattern(recording: &str, cwd: &Path, root: &Path) -> Option<String> {
    let path = plain_path(&cwd.join(recording))?;
    let real = || {
        let parent = fs::canonicalize(path.parent()?).ok()?;
        Some(parent.join(path.file_name()?))
    };
    let inner = match path.strip_prefix(root) {
        Ok(inner) => inner.to_owned(),
        // A way through symbolic links.
        Err(_) => real()?.strip_prefix(root).ok()?.to_owned(),
    };
    let text = inner.to_str().filter(|text| !text.is_empty() && !text.contains(['\n', '\r']))?;
    let mut pattern = String::from("/");
    for letter in text.chars() {
        if matches!(letter, '*' | '?' | '[' | ']' | '\\' | ' ') {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    Some(pattern.replace(SESSION, "*"))
}

/// Returns a path without `.` and `..`.
fn plain_path(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => plain.pop().then_some(())?,
            part => plain.push(part),
        }
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: IgnoreList = IgnoreList {
        variable: "AGENT_IGNORE",
        own: ".agentignore",
        settings: &[".agent.conf.yml"],
        option: "agent-ignore",
    };

    /// A repository with these files, and the content of the list for recordings in it.
    fn content(files: &[(&str, &str)], recordings: &[&str]) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        let cwd = root.join("app");
        fs::create_dir_all(root.join(".git")).unwrap();
        fs::create_dir_all(&cwd).unwrap();
        for (name, text) in files {
            fs::write(root.join(name), text).unwrap();
        }
        let all: Vec<RecordingLocation> =
            recordings.iter().map(|at| PathBuf::from(at).into()).collect();
        LIST.extended_list(&all, &cwd, None)
    }

    #[test]
    fn users_list_stays_in_force_beside_the_recording() {
        let of = |files: &[(&str, &str)]| content(files, &["recordings/a.json"]);
        assert_eq!(of(&[]).as_deref(), Some("/app/recordings/a.json\n"));
        assert_eq!(
            of(&[(".agentignore", "*.log")]).as_deref(),
            Some("*.log\n/app/recordings/a.json\n")
        );
        assert_eq!(
            of(&[(".agentignore", "*.log\n")]).as_deref(),
            Some("*.log\n/app/recordings/a.json\n")
        );
    }

    #[test]
    fn list_that_settings_name_stays_in_force_alone() {
        for (settings, is_named) in [
            ("model: x\nagent-ignore: other\n", true),
            ("\"agent_ignore\" : other\n", true),
            ("# agent-ignore: other\nread: agent-ignore\n", false),
        ] {
            for name in [".agent.conf.yml", "app/.agent.conf.yml"] {
                let found = content(&[(name, settings)], &["a.json"]);
                assert_eq!(found.is_none(), is_named, "{name}: {settings}");
            }
        }
    }

    #[test]
    fn recordings_are_named_from_the_top_of_the_repository() {
        let of = |recordings: &[&str]| content(&[], recordings);
        assert_eq!(
            of(&["../b.json", "c d[1].json"]).as_deref(),
            Some("/b.json\n/app/c\\ d\\[1\\].json\n")
        );
        assert_eq!(of(&["r/{session}.json"]).as_deref(), Some("/app/r/*.json\n"));
        for outside in [&["../../b.json"][..], &["/elsewhere/b.json"], &["s3://bucket/b.json"], &[]]
        {
            assert_eq!(of(outside), None, "{outside:?}");
        }
    }
}
