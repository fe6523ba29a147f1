//! The project's settings: `loomrec.toml`, found upward from the working directory.
//!
//! Every flag that has an environment variable can be set there, under the name of the flag: at the
//! top for every command that has it, or in a table named after one command. A flag wins over the
//! environment, the environment over the file. Lists of rules or upstreams are added to those from
//! other sources.

mod apply;
mod default_recording;
mod output_path;
mod outward;
mod parse;
mod pointed_url;
mod preset_table;
mod setting;
mod setting_type;
mod settings_text;
mod trust;

use std::path::{Path, PathBuf};

pub use apply::{adds_up, into_command, upstream_name};
pub use default_recording::{add_default_recording, default_recordings};
pub use output_path::check_files;
pub use outward::{CommandLine, OutwardSetting, outward_settings};
pub use pointed_url::pointed_url;
pub use setting::Setting;
pub use setting_type::is_settable;
pub use trust::{SettingsTrust, require_trust, trusted_text};

use sha2::{Digest as _, Sha256};

use super::args::TrustGrant;
use super::exit::CommandFailure;
use super::preset::Preset;
use super::trust_store::to_hex;
use loomrec_store::BucketUrl;

/// The file's name.
const NAME: &str = "loomrec.toml";

/// The most bytes of a settings file.
const LARGEST: u64 = 1 << 20;

/// The contents of a settings file.
#[derive(Debug, Default)]
pub struct Settings {
    /// The path of the file. `None` if there is none.
    pub path: Option<PathBuf>,
    /// The presets of the project.
    pub presets: Vec<Preset>,
    entries: Vec<Setting>,
    /// The path of the file without links, and the SHA-256 of its content ([`content_hash`]).
    identity: Option<(PathBuf, String)>,
    /// What the command line and the environment trust.
    granted: Vec<TrustGrant>,
    /// The URLs of the pointer files that the settings name.
    pointed: Vec<String>,
}

impl Settings {
    /// Reads the settings from `given`, or else from the nearest file upward from `folder`.
    ///
    /// # Errors
    /// A file that was named and does not exist, cannot be read, is not TOML, or has a setting that
    /// does not exist or is of the wrong type.
    pub fn find(
        given: Option<&Path>,
        folder: &Path,
        command: &clap::Command,
    ) -> Result<Self, CommandFailure> {
        let path = match given {
            Some(path) => path.strip_prefix(folder).unwrap_or(path).to_owned(),
            None => match nearest_file(folder) {
                Some(path) => path,
                None => return Ok(Self::default()),
            },
        };
        let failed = |error: &dyn std::fmt::Display| {
            let path = path.display();
            CommandFailure::usage(format!("failed to read the settings in {path}: {error}"))
        };
        let bytes = loomrec_os::read_input(&path, LARGEST).map_err(|error| failed(&error))?;
        let text = String::from_utf8(bytes).map_err(|error| failed(&error))?;
        let (entries, presets) = parse::parse(&path, &text, command)?;
        let pointed = pointed_url::pointed_urls(folder, &entries);
        let sha256 = content_hash(&text, &pointed);
        let absolute = folder.join(&path);
        let place = absolute.canonicalize().unwrap_or(absolute);
        Ok(Self {
            path: Some(path),
            presets,
            entries,
            identity: Some((place, sha256)),
            pointed,
            ..Self::default()
        })
    }

    /// Adds what the command line and the environment trust.
    pub fn trust_given(&mut self, matches: &clap::ArgMatches) {
        let given = matches.try_get_many::<TrustGrant>("trust").ok().flatten();
        self.granted = given.into_iter().flatten().cloned().collect();
    }

    /// Returns the path of the file, without links, and the SHA-256 of its content, in hex.
    pub fn file_identity(&self) -> Option<(&Path, &str)> {
        self.identity.as_ref().map(|(path, sha256)| (path.as_path(), sha256.as_str()))
    }

    /// Returns what the command line and the environment trust.
    pub(super) fn trust_grants(&self) -> &[TrustGrant] {
        &self.granted
    }

    /// Returns the buckets of the pointer files that the settings name.
    pub(super) fn pointed_buckets(&self) -> Vec<BucketUrl> {
        self.pointed.iter().filter_map(|url| BucketUrl::of_url(url)).collect()
    }

    /// Returns all settings, in no particular order.
    fn entries(&self) -> &[Setting] {
        &self.entries
    }

    /// Returns the settings that give addresses to `record` and `replay`, each with its command.
    pub fn upstream_settings(&self) -> impl Iterator<Item = (&'static str, &Setting)> {
        let of = |name| Some((name, self.find_setting(name, "upstream")?));
        ["replay", "record"].into_iter().filter_map(of)
    }

    /// Returns the setting for a flag of a command: from the command's own table, or else from the
    /// top.
    pub fn find_setting(&self, command: &str, name: &str) -> Option<&Setting> {
        let own =
            |entry: &&Setting| entry.name == name && entry.command.as_deref() == Some(command);
        let all = |entry: &&Setting| entry.name == name && entry.command.is_none();
        self.entries.iter().find(own).or_else(|| self.entries.iter().find(all))
    }

    /// Returns a setting's place, for messages: `loomrec.toml:3`. That of the first value, if its
    /// values have several.
    pub fn setting_place(&self, entry: &Setting) -> String {
        self.value_places(entry).next().unwrap_or_else(|| self.at_line(1))
    }

    /// Returns the place of each value of a setting; of the setting itself if it has no value.
    pub fn value_places(&self, entry: &Setting) -> impl Iterator<Item = String> {
        entry.lines.iter().map(|line| self.at_line(*line))
    }

    fn at_line(&self, line: usize) -> String {
        let path = self.path.as_deref().unwrap_or(Path::new(NAME));
        format!("{}:{line}", path.display())
    }
}

/// Returns the SHA-256 of a settings file, in hex. If it names pointer files, where these point to
/// belongs to its content: no byte of TOML is 0, so nothing else has the same hash.
fn content_hash(text: &str, pointed_urls: &[String]) -> String {
    let mut hash = Sha256::new_with_prefix(text);
    for url in pointed_urls {
        hash.update(b"\0");
        hash.update(url);
    }
    to_hex(&hash.finalize())
}

/// Returns the nearest settings file upward from `folder`, as a path relative to it, so that messages
/// name files as the user would.
fn nearest_file(folder: &Path) -> Option<PathBuf> {
    let mut up = PathBuf::new();
    for at in folder.ancestors() {
        if at.join(NAME).is_file() {
            return Some(up.join(NAME));
        }
        up.push("..");
    }
    None
}

/// Returns the settings file that a command line names, before the rest is parsed: the file
/// determines what the rest means. What follows `--` belongs to another program.
pub fn named_file(words: &[std::ffi::OsString]) -> Option<PathBuf> {
    let mut words = words.iter().take_while(|word| *word != "--");
    while let Some(word) = words.next() {
        if word == "--config" {
            return words.next().map(PathBuf::from);
        }
        if let Some(path) = word.to_str().and_then(|word| word.strip_prefix("--config=")) {
            return Some(path.into());
        }
    }
    std::env::var_os("LOOMREC_CONFIG").filter(|path| !path.is_empty()).map(PathBuf::from)
}
