//! The name of the recordings of sessions: a path with `{session}` in its last part.

use std::path::{Component, Path, PathBuf};

use loomrec_cli::exit::CommandFailure;
use loomrec_store::RecordingLocation;

/// What stands for the name of a session.
const PLACE: &str = "{session}";

/// The ending that a recording of a control call has.
const ENDING: &str = ".json";

/// The longest path that a control call may name, in bytes.
const LONGEST: usize = 1000;

/// The template of the recordings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionTemplate {
    folder: PathBuf,
    /// What stands before the session's name.
    before: String,
    /// What stands after it.
    after: String,
}

impl SessionTemplate {
    /// Returns the template of a recording's location. `None` if it names one recording.
    ///
    /// # Errors
    /// `{session}` stands in another part than the last, or more than once.
    pub fn from_location(location: &RecordingLocation) -> Result<Option<Self>, CommandFailure> {
        let path = location.as_path();
        let text = path.to_string_lossy();
        if !text.contains(PLACE) {
            return Ok(None);
        }
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = name.unwrap_or_default();
        let wrong = || {
            CommandFailure::usage(format!(
                "-r {text}: {PLACE} stands in the last part of the path, once, and names files: \
                 -r 'recordings/{PLACE}.json'"
            ))
        };
        let (before, after) = name.split_once(PLACE).ok_or_else(wrong)?;
        let is_once = text.matches(PLACE).count() == 1 && !text.ends_with('/');
        if !is_once {
            return Err(wrong());
        }
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        Ok(Some(Self { folder, before: before.to_owned(), after: after.to_owned() }))
    }

    /// Returns the template of the only recording of a replay.
    ///
    /// # Errors
    /// As for [`Self::from_location`]; a template beside other recordings.
    pub fn of_all(locations: &[RecordingLocation]) -> Result<Option<Self>, CommandFailure> {
        let mut found = None;
        for location in locations {
            found = found.or(Self::from_location(location)?);
        }
        if found.is_some() && locations.len() > 1 {
            return Err(CommandFailure::usage(format!(
                "-r with {PLACE} stands alone: each session is answered from its own recording"
            )));
        }
        Ok(found)
    }

    /// Returns the folder that all recordings are in.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether a file of this name may be the recording of a session.
    pub fn is_name(&self, name: &str) -> bool {
        name.starts_with(&self.before) && name.ends_with(&self.after)
    }

    /// Returns the template as a path.
    pub fn as_path(&self) -> PathBuf {
        self.folder.join(format!("{}{PLACE}{}", self.before, self.after))
    }

    /// Returns the recording of the session of this name.
    pub fn recording_path(&self, session: &str) -> PathBuf {
        let name = loomrec_store::safe_file_name(session, &self.after);
        self.folder.join(format!("{}{name}", self.before))
    }

    /// Returns the recording that a control call names, relative to the template's folder.
    ///
    /// # Errors
    /// The path leads out of the folder, or is not the name of a JSON file.
    pub fn named_recording(&self, text: &str) -> Result<PathBuf, String> {
        let path = Path::new(text);
        let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
        let is_bad = |letter: char| letter == '\\' || letter.is_control();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_file = name.len() > ENDING.len() && text.ends_with(ENDING);
        if !is_plain || !is_file || text.len() > LONGEST || text.contains(is_bad) {
            return Err(format!(
                "recording: expected a path of a {ENDING} file, relative to {}, without `..`",
                self.shown_folder()
            ));
        }
        let path = self.folder.join(path);
        match leads_out(&self.folder, &path) {
            true => Err(format!(
                "recording: {text} leads out of {} by a symbolic link",
                self.shown_folder()
            )),
            false => Ok(path),
        }
    }

    fn shown_folder(&self) -> String {
        let folder = self.folder.display().to_string();
        if folder.is_empty() { "the working directory".to_owned() } else { folder }
    }
}

/// Whether a link within `folder` leads `path` out of it.
fn leads_out(folder: &Path, path: &Path) -> bool {
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let Ok(root) = here.canonicalize() else { return false };
    let there = path.ancestors().find_map(|part| part.canonicalize().ok());
    there.is_some_and(|real| !real.starts_with(&root) && !root.starts_with(&real))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(text: &str) -> Result<Option<SessionTemplate>, CommandFailure> {
        SessionTemplate::from_location(&RecordingLocation::from(Path::new(text)))
    }

    #[test]
    fn template_is_in_the_last_part_once() {
        assert_eq!(template("a/b.json").unwrap(), None);
        let there = template("a/x-{session}.json").unwrap().unwrap();
        assert_eq!(there.recording_path("one"), Path::new("a/x-one.json"));
        assert_eq!(there.as_path(), Path::new("a/x-{session}.json"));
        for wrong in ["{session}/a.json", "a/{session}{session}.json", "a/{session}/"] {
            assert!(template(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn no_session_has_a_recording_outside_of_the_folder() {
        let there = template("a/{session}.json").unwrap().unwrap();
        for name in ["../x", "/etc/passwd", "..", "a/b", "con", "x\u{0}y", "é", "A"] {
            let recording = there.recording_path(name);
            assert_eq!(recording.parent(), Some(Path::new("a")), "{name}");
            assert!(recording.to_str().unwrap().ends_with(".json"));
        }
        assert_ne!(there.recording_path("a"), there.recording_path("A"));
    }

    #[test]
    fn recording_of_a_control_call_stays_in_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let there = template(root.join("{session}.json").to_str().unwrap()).unwrap().unwrap();
        assert_eq!(there.named_recording("t/x.json"), Ok(root.join("t/x.json")));
        for wrong in [
            "../x.json",
            "/x.json",
            "t/../../x.json",
            "x.txt",
            ".json",
            "",
            "t\\x.json",
            "./x.json/..",
        ] {
            assert!(there.named_recording(wrong).is_err(), "{wrong}");
        }
        let elsewhere = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), root.join("link")).unwrap();
        assert!(there.named_recording("link/x.json").is_err());
    }
}
