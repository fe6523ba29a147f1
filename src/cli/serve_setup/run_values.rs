//! The values that vary from run to run: read from the system, and from flags.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use time::{Date, OffsetDateTime, UtcOffset};

use super::folder_tree::set_folder_trees;
use super::repository::set_repository;
use crate::args::{RunValueArgs, ServeArgs};
use crate::exit::CommandFailure;
use crate::preset::no_such_preset;
use crate::terminal::printable_line;
use loomrec_engine::RepositoryWatch;
use loomrec_identity::run_values::{CWD, DAY, HOME, PATHS, SYSTEM_TIMEZONE, TIMEZONE, UTC_DAY};
use loomrec_identity::{ClientPreset, NormalizeRule, RepositoryStates, RunValueFinder, RunValues};

/// How far local time is ahead of UTC. It can be read only while the process has one thread.
static LOCAL_TIME: OnceLock<Option<UtcOffset>> = OnceLock::new();

/// Reads how far local time is ahead of UTC. It must be called before threads are started.
pub fn read_local_time() {
    LOCAL_TIME.get_or_init(|| UtcOffset::current_local_offset().ok());
}

/// The values of a run, and where they are looked for.
#[derive(Clone, Debug, Default)]
pub struct RunValueTerms {
    /// All values: those of the system and those of `--var`.
    pub all: RunValues,
    /// Those of `--var`, which are bound in every request.
    asked: RunValues,
    /// Whether all values are bound in every request.
    is_for_all: bool,
    /// The states of the repository after the start of the run.
    pub states: Arc<RepositoryStates>,
    /// The paths of the system that cannot be bound, with their names.
    unusable: Vec<(&'static str, String)>,
}

impl RunValueTerms {
    /// Returns the values with those of the repository that CMD runs in, as it is now: a recording
    /// that has just begun may be a new file in it.
    #[must_use]
    pub fn with_repository(&self, args: &ServeArgs) -> Self {
        let mut values = self.clone();
        if has_repository(args) {
            set_repository(&mut values.all);
        }
        values
    }

    /// Names the paths that are not bound: the root is in every path, and a relative path in any text.
    pub fn unusable_note(&self) -> Option<String> {
        let named =
            self.unusable.iter().map(|(name, path)| format!("{name} {}", printable_line(path)));
        let named = named.collect::<Vec<_>>().join(", ");
        (!named.is_empty())
            .then(|| format!("not bound: {named} (the root, a relative path, or one with a quote)"))
    }

    /// Returns what reads the state of the repository that CMD runs in when a request may have another
    /// one than that at the start.
    pub fn repository_watch(&self, args: &ServeArgs) -> Option<RepositoryWatch> {
        if !has_repository(args) {
            return None;
        }
        let start = self.with_repository(args).all;
        let read = || {
            let mut state = RunValues::default();
            set_repository(&mut state);
            // Few programs write a tree, so it is read only for a request that has one.
            set_folder_trees(&mut state);
            state
        };
        Some(RepositoryWatch::new(start, Arc::clone(&self.states), read))
    }

    /// Returns what finds the values in requests that are recorded under these rules.
    pub fn value_finder(&self, rules: &[NormalizeRule]) -> RunValueFinder {
        self.finder_as_recorded(rules, false)
    }

    /// The same for requests beside recorded ones. `binds_all` says whether paths were bound in all
    /// of those.
    pub fn finder_as_recorded(&self, rules: &[NormalizeRule], binds_all: bool) -> RunValueFinder {
        RunValueFinder::new(&self.all, &self.asked, self.is_for_all || binds_all)
            .with_rules(rules)
            .with_states(&self.states)
    }
}

/// Whether the values of CMD's repository are looked for.
fn has_repository(args: &ServeArgs) -> bool {
    !args.cmd.is_empty() && !args.run_values.has_no_preset()
}

/// Returns the values of this run: those of the system and those of `--var`.
///
/// # Errors
/// A `--var` that is not NAME=VALUE, or whose value cannot be looked for; an unknown `--preset`.
pub fn run_values(
    args: &RunValueArgs,
    environment: &BTreeMap<String, String>,
) -> Result<RunValueTerms, CommandFailure> {
    if let Some(name) =
        args.preset_for_all().filter(|name| ClientPreset::find_by_name(name).is_none())
    {
        let names: Vec<&str> = ClientPreset::all().iter().map(|preset| preset.name).collect();
        return Err(CommandFailure::usage(format!("--preset: {}", no_such_preset(name, &names))));
    }
    let (mut values, mut unusable) = of_system(environment);
    let mut asked = RunValues::default();
    let vars = args.vars.iter().filter(|text| !text.is_empty());
    for text in vars {
        let (name, value) =
            text.split_once('=').filter(|(name, _)| is_name(name)).ok_or_else(|| {
                CommandFailure::usage(
                    "--var: it takes NAME=VALUE, where NAME is of letters, digits, - and _",
                )
            })?;
        if !values.set(name, value) {
            return Err(CommandFailure::usage(format!(
                "--var {name}: its value cannot be bound: it is empty, has control characters, or is \
                 not what {name} has to be (a path from the root, or a day such as 2026-11-23)"
            )));
        }
        asked.set(name, value);
        unusable.retain(|(unusable, _)| *unusable != name);
    }
    let (is_for_all, states) = (args.bind, Arc::default());
    Ok(RunValueTerms { all: values, asked, is_for_all, states, unusable })
}

fn is_name(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    !name.is_empty() && name.len() <= 64 && name.bytes().all(is_part)
}

/// Returns the values of the system, and the paths that cannot be looked for.
fn of_system(environment: &BTreeMap<String, String>) -> (RunValues, Vec<(&'static str, String)>) {
    let variable = |name: &str| environment.get(name).cloned().filter(|text| !text.is_empty());
    let directory = |text: String| match text.trim_end_matches('/') {
        "" => text,
        path => path.to_owned(),
    };
    let cwd =
        std::env::current_dir().ok().and_then(|path| path.into_os_string().into_string().ok());
    // The way through symbolic links, if it is another one.
    let pwd = variable("PWD").filter(|pwd| Some(pwd) != cwd.as_ref() && is_here(pwd));
    let tmpdir =
        variable("TMPDIR").or_else(|| std::env::temp_dir().into_os_string().into_string().ok());
    let system = loomrec_os::system_names();
    let now = OffsetDateTime::now_utc();
    let all = [
        (CWD, cwd),
        ("pwd", pwd),
        (HOME, variable("HOME").map(directory)),
        ("tmpdir", tmpdir.map(directory)),
        ("user", variable("USER").or_else(|| variable("LOGNAME"))),
        ("host", Some(system.host)),
        ("os_version", Some(format!("{} {}", system.release, system.version))),
        ("os_release", Some(system.release)),
        (TIMEZONE, variable("TZ").map(zone_name).or_else(system_timezone)),
        (SYSTEM_TIMEZONE, system_timezone()),
        (DAY, Some(format_day(local_date(now, variable("TZ").as_deref())))),
        (UTC_DAY, Some(format_day(now.date()))),
    ];
    let (mut values, mut unusable) = (RunValues::default(), Vec::new());
    for (name, text) in all {
        let text = text.unwrap_or_default();
        if !values.set(name, text.clone()) && PATHS.contains(&name) && !text.is_empty() {
            unusable.push((name, text));
        }
    }
    (values, unusable)
}

/// Whether a path names the working directory.
fn is_here(path: &str) -> bool {
    let real = |path: &str| std::fs::canonicalize(path).ok();
    path.starts_with('/') && real(path).is_some() && real(path) == real(".")
}

/// Returns the name of the time zone that a `TZ` gives.
fn zone_name(variable: String) -> String {
    variable.trim_start_matches(':').to_owned()
}

/// Returns the name of the system's time zone.
fn system_timezone() -> Option<String> {
    let target = std::fs::read_link("/etc/localtime").ok()?;
    let (_, name) = target.to_str()?.split_once("zoneinfo/")?;
    Some(name.to_owned())
}

/// Returns the date where the program runs.
fn local_date(now: OffsetDateTime, tz: Option<&str>) -> Date {
    let offset = LOCAL_TIME.get().copied().flatten();
    match (offset, tz.and_then(seconds_west)) {
        (Some(offset), _) => now.to_offset(offset).date(),
        // Further from UTC than any place on earth: a test may shift the date so.
        (None, Some(west)) => (now - time::Duration::seconds(west)).date(),
        (None, None) => now.date(),
    }
}

/// Returns the seconds that a `TZ` such as `UTC+72` or `EST5` is west of Greenwich.
fn seconds_west(tz: &str) -> Option<i64> {
    let name = tz.trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
    let (sign, digits) = match name.as_bytes().first()? {
        b'-' => (-1, &name[1..]),
        b'+' => (1, &name[1..]),
        _ => (1, name),
    };
    let mut parts = digits.split(':').map(|part| part.parse::<i64>().ok());
    let (hours, minutes) = (parts.next()??, parts.next().unwrap_or(Some(0))?);
    (name.len() < tz.len() && hours <= 167).then_some(sign * (hours * 3600 + minutes * 60))
}

fn format_day(date: Date) -> String {
    format!("{:04}-{:02}-{:02}", date.year(), u8::from(date.month()), date.day())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_vars(vars: &[&str]) -> RunValueArgs {
        let vars = vars.iter().map(|text| (*text).to_owned()).collect();
        RunValueArgs { vars, ..RunValueArgs::default() }
    }

    fn read(vars: &[&str]) -> Result<RunValues, String> {
        let args = with_vars(vars);
        let environment = [("HOME", "/home/ann/"), ("USER", "ann"), ("TZ", "UTC-72")];
        let environment = environment.map(|(name, text)| (name.to_owned(), text.to_owned()));
        let read = run_values(&args, &environment.into_iter().collect());
        read.map(|terms| terms.all).map_err(|failure| failure.message)
    }

    #[test]
    fn root_and_relative_paths_are_named_and_not_bound() {
        let note = |vars: &[&str], home: &str| {
            let args = with_vars(vars);
            let environment = [("HOME", home), ("TMPDIR", "/tmp")];
            let environment = environment.map(|(name, text)| (name.to_owned(), text.to_owned()));
            let terms = run_values(&args, &environment.into_iter().collect()).unwrap();
            assert_eq!(terms.all.get("home").is_none(), terms.unusable_note().is_some());
            terms.unusable_note()
        };
        for home in ["/", "//", ".", "..", "home/ann"] {
            let named = note(&[], home).unwrap();
            assert!(named.starts_with("not bound: home "), "{named}");
        }
        assert_eq!(note(&[], "/home/ann"), None);
        assert_eq!(note(&["home=/home/ann"], "/"), None);
    }

    #[test]
    fn values_are_those_of_the_system_and_of_flags() {
        let values = read(&["tenant=acme", "user=bob"]).unwrap();
        assert_eq!(values.get("home"), Some("/home/ann"));
        assert_eq!(values.get("cwd"), std::env::current_dir().unwrap().to_str());
        assert_eq!((values.get("tenant"), values.get("user")), (Some("acme"), Some("bob")));
        assert_eq!(values.get("timezone"), Some("UTC-72"));
        assert_eq!(values.get("utc_day").unwrap().len(), 10);
    }

    #[test]
    fn flags_that_name_no_value_are_refused() {
        assert!(read(&["x"]).unwrap_err().starts_with("--var: it takes NAME=VALUE"));
        assert!(read(&["a b=xxx"]).is_err());
        assert!(read(&["x="]).unwrap_err().contains("it is empty"));
        assert!(read(&["cwd=ab"]).unwrap_err().contains("a path from the root"));
    }

    #[test]
    fn date_follows_a_time_zone_beyond_those_of_the_earth() {
        let now = time::macros::datetime!(2026-11-23 12:00 UTC);
        let date =
            |tz| format_day((now - time::Duration::seconds(seconds_west(tz).unwrap())).date());
        assert_eq!((date("UTC-72"), date("UTC+72")), ("2026-11-26".into(), "2026-11-20".into()));
        assert_eq!((date("EST5"), seconds_west("X1:30")), ("2026-11-23".into(), Some(5400)));
        for wrong in ["", "Europe/Berlin", "72", "UTC", "UTC-", "A-999"] {
            assert_eq!(seconds_west(wrong), None, "{wrong}");
        }
    }
}
