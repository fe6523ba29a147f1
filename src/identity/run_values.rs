//! Values that vary from run to run, such as the working directory, and the forms in which programs
//! write them.
//!
//! A value has a name and a text. Paths are looked for in all strings of a request, as whole paths.
//! All other values, such as the day or the user's name, are looked for only in the holes of a
//! [frame](super::frame). A program may write a value in several forms: a date as `2026-11-23` or as
//! `Monday, November 23, 2026`, a directory with `-` in the place of `/`. The forms follow from the
//! values, so only the values are stored.

use std::collections::BTreeMap;

use time::{Date, Month};

use super::hole::HoleKind;
use super::repository_forms::{
    GIT_BRANCH, GIT_OVERVIEW, GIT_STATUS, REPOSITORY_FORMS, is_of_repository, is_repository_text,
    repository_forms, repository_overview,
};

/// The working directory.
pub const CWD: &str = "cwd";
/// The home directory.
pub const HOME: &str = "home";
/// The day, as `2026-11-23`.
pub const DAY: &str = "day";
/// The day in UTC.
pub const UTC_DAY: &str = "utc_day";
/// The time zone of the environment, or else of the system.
pub const TIMEZONE: &str = "timezone";
/// The time zone of the system.
pub const SYSTEM_TIMEZONE: &str = "system_timezone";
/// The day of the week, which follows from the day.
const WEEKDAY: &str = "weekday";
/// The last name of the working directory, which follows from it.
const FOLDER: &str = "folder";

/// The values that follow from others, and are not stored.
pub(super) const DERIVED: [&str; 3] = [FOLDER, GIT_OVERVIEW, WEEKDAY];

/// The names of the paths that are read from the system.
pub const PATHS: [&str; 4] = [CWD, HOME, "pwd", "tmpdir"];

/// The values that tell who recorded a call, and on which machine.
const PERSONAL: [&str; 3] = [HOME, "host", "user"];

/// The shortest path that is looked for: a shorter one is in too many texts by chance.
pub const SHORTEST: usize = 3;

/// The longest text of a path or a word.
pub const LONGEST: usize = 4096;

/// The most values of a run.
pub const MOST_VALUES: usize = 64;

/// The values of a run, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunValues(BTreeMap<String, String>);

/// A text that stands for a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PathForm {
    /// The name of the value.
    pub(super) name: String,
    /// The number of the form among those of its value.
    pub(super) number: usize,
    pub(super) text: String,
    pub(super) edge: FormEdge,
}

/// What a text must be surrounded by to stand for a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FormEdge {
    /// A path from the root: not the end of a longer path, and not the beginning of a longer name.
    Path,
    /// One name in a path, which stands for a path as a whole.
    Component,
}

impl RunValues {
    /// Sets a value. Returns `false`, and sets nothing, if the text is too long, if a value of this
    /// name cannot be this text, or if there are too many values.
    pub fn set(&mut self, name: impl Into<String>, text: impl Into<String>) -> bool {
        let (name, text) = (name.into(), text.into());
        let is_new = !self.0.contains_key(&name);
        if !is_of_name(&name, &text) || (is_new && self.0.len() >= MOST_VALUES) {
            return false;
        }
        self.0.insert(name, text);
        true
    }

    /// Removes a value. Returns whether there was one.
    pub fn remove(&mut self, name: &str) -> bool {
        self.0.remove(name).is_some()
    }

    /// Returns the text of a value.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the names and the texts, in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, text)| (name.as_str(), text.as_str()))
    }

    /// Returns the values that are those of a repository.
    pub(super) fn of_repository(&self) -> Self {
        let mut state = self.clone();
        state.retain(|name, _| is_of_repository(name));
        state
    }

    /// Returns the number of values of a repository.
    pub(super) fn repository_count(&self) -> usize {
        self.0.keys().filter(|name| is_of_repository(name)).count()
    }

    /// Returns these values, with others in the place of those of the same name.
    pub(super) fn with_values(&self, others: &Self) -> Self {
        let mut values = self.clone();
        for (name, text) in others.iter() {
            values.set(name, text);
        }
        values
    }

    /// Returns the values that are paths.
    pub(super) fn path_values(&self) -> Self {
        let mut paths = self.clone();
        paths.retain(|_, text| is_path(text));
        paths
    }

    /// Returns the names of the values that tell who recorded a call, and on which machine.
    pub fn personal_names(&self) -> impl Iterator<Item = &'static str> {
        PERSONAL.into_iter().filter(|name| self.0.contains_key(*name))
    }

    /// Keeps the values for which `keeps` returns `true`.
    pub fn retain(&mut self, mut keeps: impl FnMut(&str, &str) -> bool) {
        self.0.retain(|name, text| keeps(name, text));
    }

    /// Returns the forms of all paths. A form that is too short is left out.
    pub(super) fn path_forms(&self) -> Vec<PathForm> {
        let mut forms = Vec::new();
        for (name, text) in self.iter().filter(|(_, text)| is_path(text)) {
            let of_path = match name {
                CWD => vec![
                    (text.to_owned(), FormEdge::Path),
                    (text.replace('/', "-"), FormEdge::Component),
                    (as_one_name(text), FormEdge::Component),
                ],
                _ => vec![(text.to_owned(), FormEdge::Path)],
            };
            let of_path = of_path.into_iter().enumerate();
            forms.extend(of_path.filter(|(_, (text, _))| text.len() >= SHORTEST).map(
                |(number, (text, edge))| PathForm { name: name.to_owned(), number, text, edge },
            ));
        }
        forms
    }

    /// Returns the texts that a hole of this kind may have, the longest first.
    pub(super) fn texts_of(&self, kind: &HoleKind) -> Vec<String> {
        let texts = self.hole_texts(kind.value_name().unwrap_or_default());
        let mut texts: Vec<String> = texts.into_iter().flatten().collect();
        texts.sort_by_key(|text| usize::MAX - text.len());
        texts
    }

    /// Returns the forms of a value that a text is: a bit for each.
    pub(super) fn forms_of(&self, name: &str, text: &str) -> u32 {
        let forms = self.hole_texts(name);
        let is_text = |form: &Option<String>| form.as_deref() == Some(text);
        let bits = forms.iter().enumerate().filter(|(_, form)| is_text(form));
        bits.fold(0, |bits, (number, _)| bits | 1 << number)
    }

    /// Returns the texts that stand for a value in a hole, in the same order for each run. A form
    /// that this run does not have is `None`.
    pub(super) fn hole_texts(&self, name: &str) -> Vec<Option<String>> {
        let text = |name: &str| self.get(name).map(str::to_owned);
        match name {
            // Local time is what most programs write.
            DAY => {
                let forms = |name| match self.get(name).and_then(day_forms) {
                    Some(forms) => forms.map(Some),
                    None => [const { None }; DAY_FORMS],
                };
                [DAY, UTC_DAY].into_iter().flat_map(forms).collect()
            }
            WEEKDAY => {
                let forms = |name| match self.get(name).and_then(date_of) {
                    Some(date) => weekday_forms(date).map(Some),
                    None => [None, None],
                };
                [DAY, UTC_DAY].into_iter().flat_map(forms).collect()
            }
            FOLDER => vec![self.get(CWD).and_then(|cwd| cwd.rsplit('/').next()).map(str::to_owned)],
            HOME => {
                let relative = self.get(CWD).zip(self.get(HOME));
                let relative = relative.and_then(|(cwd, home)| relative_path(cwd, home));
                vec![text(HOME), relative]
            }
            // Some programs do not look at `TZ`.
            TIMEZONE => vec![text(TIMEZONE), text(SYSTEM_TIMEZONE)],
            GIT_OVERVIEW => vec![repository_overview(self.get(GIT_BRANCH), self.get(GIT_STATUS))],
            _ if is_of_repository(name) => match self.get(name) {
                Some(text) => repository_forms(name, text).map(Some).into(),
                None => vec![None; REPOSITORY_FORMS],
            },
            _ => vec![text(name)],
        }
    }
}

/// Whether a text is a path from the root that can be looked for.
pub(super) fn is_path(text: &str) -> bool {
    let is_escaped = text.chars().any(|letter| letter.is_control() || matches!(letter, '"' | '\\'));
    let has_name = text.split('/').any(|name| !matches!(name, "" | "." | ".."));
    text.starts_with('/') && has_name && (SHORTEST..=LONGEST).contains(&text.len()) && !is_escaped
}

/// Whether a value of this name can be this text.
fn is_of_name(name: &str, text: &str) -> bool {
    match name {
        DAY | UTC_DAY => date_of(text).is_some(),
        _ if PATHS.contains(&name) => is_path(text),
        _ if is_of_repository(name) => is_repository_text(name, text),
        _ => !text.is_empty() && text.len() <= LONGEST && !text.chars().any(char::is_control),
    }
}

impl FromIterator<(String, String)> for RunValues {
    fn from_iter<T: IntoIterator<Item = (String, String)>>(values: T) -> Self {
        let mut all = Self::default();
        for (name, text) in values {
            all.set(name, text);
        }
        all
    }
}

/// Returns a path as one name: everything but letters and digits is a `-`.
fn as_one_name(path: &str) -> String {
    path.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).collect()
}

/// Returns the way from one directory to another; `None` if they are the same.
fn relative_path(from: &str, to: &str) -> Option<String> {
    let names = |path: &'_ str| -> Vec<String> {
        path.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect()
    };
    let (from, to) = (names(from), names(to));
    let shared = from.iter().zip(&to).take_while(|(one, other)| one == other).count();
    let up = std::iter::repeat_n("..", from.len() - shared);
    let down = to[shared..].iter().map(String::as_str);
    let way: Vec<&str> = up.chain(down).collect();
    (!way.is_empty()).then(|| way.join("/"))
}

/// How many forms a day has.
const DAY_FORMS: usize = 10;

/// Returns the date that a text such as `2026-11-23` names; `None` if the text names no date.
fn date_of(text: &str) -> Option<Date> {
    let mut numbers = text.split('-').map(|part| {
        part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse::<u16>().ok())
    });
    let (year, month, day) = (numbers.next()???, numbers.next()???, numbers.next()???);
    let (month, day) = (u8::try_from(month).ok()?, u8::try_from(day).ok()?);
    let is_whole = text.len() == 10 && numbers.next().is_none();
    let date = Date::from_calendar_date(year.into(), Month::try_from(month).ok()?, day).ok()?;
    is_whole.then_some(date)
}

/// Returns the forms in which programs write a day; `None` if the text is not a day.
fn day_forms(text: &str) -> Option<[String; DAY_FORMS]> {
    let date = date_of(text)?;
    let (year, month, day) = (date.year(), u8::from(date.month()), date.day());
    let (weekday, month_name) = (date.weekday().to_string(), date.month().to_string());
    let (short_weekday, short_month) = (&weekday[..3], &month_name[..3]);
    Some([
        format!("{text} ({weekday})"),
        format!("{weekday}, {text}"),
        text.to_owned(),
        format!("{weekday}, {month_name} {day}, {year}"),
        format!("{short_weekday} {short_month} {day:02} {year}"),
        format!("{month:02}/{day:02}/{year}"),
        format!("{month}/{day}/{year}"),
        format!("{month_name} {day}, {year}"),
        format!("{day} {month_name} {year}"),
        format!("{month_name} {year}"),
    ])
}

/// Returns the forms in which programs write the day of the week.
fn weekday_forms(date: Date) -> [String; 2] {
    let weekday = date.weekday().to_string();
    let short = weekday[..3].to_owned();
    [weekday, short]
}

#[cfg(test)]
#[path = "tests/run_values.rs"]
mod tests;
