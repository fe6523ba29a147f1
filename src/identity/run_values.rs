//! Values that vary from run to run, such as the working directory, and the forms in which programs
//! write them.
//!
//! A value has a name and a text. A program may write a value in several forms: a date as
//! `2026-11-23` or as `Monday, November 23, 2026`, a directory with `-` in the place of `/`. The
//! forms follow from the values, so only the values are stored.

use std::collections::BTreeMap;

use time::{Date, Month};

/// The working directory.
pub const CWD: &str = "cwd";
/// The home directory.
pub const HOME: &str = "home";
/// The day, as `2026-11-23`.
pub const DAY: &str = "day";
/// The day in UTC.
pub const UTC_DAY: &str = "utc_day";

/// The values that tell who recorded a call, and on which machine.
const PERSONAL: [&str; 3] = [HOME, "host", "user"];

/// The shortest text that is looked for: a shorter one is in too many texts by chance.
pub const SHORTEST: usize = 3;

/// The longest text of a value.
pub const LONGEST: usize = 4096;

/// The most values of a run.
pub const MOST_VALUES: usize = 64;

/// The values of a run, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunValues(BTreeMap<String, String>);

/// A text that stands for a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ValueForm {
    /// The name of the value.
    pub(super) name: String,
    /// The number of the form among those of its value.
    pub(super) number: usize,
    pub(super) text: String,
    pub(super) edge: FormEdge,
}

/// What a text must be surrounded by to stand for a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FormEdge {
    /// A path from the root: not the end of a longer path, and not the beginning of a longer name.
    Path,
    /// A path relative to the working directory, with a slash at its end.
    RelativeFolder,
    /// A word, a date, or a path written as one name.
    Word,
}

impl RunValues {
    /// Sets a value. Returns `false`, and sets nothing, if the text is too short or too long to be looked for,
    /// if JSON would escape it, or if there are too many values.
    pub fn set(&mut self, name: impl Into<String>, text: impl Into<String>) -> bool {
        let (name, text) = (name.into(), text.into());
        let is_new = !self.0.contains_key(&name);
        let is_escaped =
            text.chars().any(|letter| letter.is_control() || matches!(letter, '"' | '\\'));
        if !(SHORTEST..=LONGEST).contains(&text.len())
            || is_escaped
            || (is_new && self.0.len() >= MOST_VALUES)
        {
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

    /// Returns the names of the values that tell who recorded a call, and on which machine.
    pub fn personal(&self) -> impl Iterator<Item = &'static str> {
        PERSONAL.into_iter().filter(|name| self.0.contains_key(*name))
    }

    /// Keeps the values for which `keeps` returns `true`.
    pub fn retain(&mut self, mut keeps: impl FnMut(&str, &str) -> bool) {
        self.0.retain(|name, text| keeps(name, text));
    }

    /// Returns the forms of all values. A form that is too short is left out.
    pub(super) fn forms(&self) -> Vec<ValueForm> {
        let mut forms = Vec::new();
        for (name, text) in self.iter() {
            let of_value = self.forms_of(name, text);
            let of_value = of_value.into_iter().enumerate();
            forms.extend(of_value.filter(|(_, (text, _))| text.len() >= SHORTEST).map(
                |(number, (text, edge))| ValueForm { name: name.to_owned(), number, text, edge },
            ));
        }
        forms
    }

    /// Returns the forms of a value. Two values of one name have the same number of forms, unless
    /// only one of them has that form.
    fn forms_of(&self, name: &str, text: &str) -> Vec<(String, FormEdge)> {
        match name {
            DAY | UTC_DAY => {
                day_forms(text).unwrap_or_else(|| vec![(text.to_owned(), FormEdge::Word)])
            }
            CWD => vec![
                (text.to_owned(), FormEdge::Path),
                (text.replace('/', "-"), FormEdge::Word),
                (as_one_name(text), FormEdge::Word),
            ],
            HOME => {
                let path = (text.to_owned(), FormEdge::Path);
                let relative = self.get(CWD).and_then(|cwd| relative_path(cwd, text));
                let relative = relative.map(|text| (format!("{text}/"), FormEdge::RelativeFolder));
                [path].into_iter().chain(relative).collect()
            }
            _ if text.starts_with('/') => vec![(text.to_owned(), FormEdge::Path)],
            _ => vec![(text.to_owned(), FormEdge::Word)],
        }
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

/// Returns the forms in which programs write a day; `None` if the text is not a day.
fn day_forms(text: &str) -> Option<Vec<(String, FormEdge)>> {
    let mut numbers = text.splitn(3, '-').map(|part| part.parse::<u16>().ok());
    let (year, month, day) = (numbers.next()??, numbers.next()??, numbers.next()??);
    let (month, day) = (u8::try_from(month).ok()?, u8::try_from(day).ok()?);
    let date = Date::from_calendar_date(year.into(), Month::try_from(month).ok()?, day).ok()?;
    let (weekday, month_name) = (date.weekday().to_string(), date.month().to_string());
    let (short_weekday, short_month) = (&weekday[..3], &month_name[..3]);
    let forms = [
        text.to_owned(),
        format!("{weekday}, {month_name} {day}, {year}"),
        format!("{short_weekday} {short_month} {day:02} {year}"),
        format!("{month:02}/{day:02}/{year}"),
        format!("{month}/{day}/{year}"),
        format!("{month_name} {day}, {year}"),
    ];
    Some(forms.into_iter().map(|form| (form, FormEdge::Word)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(all: &[(&str, &str)]) -> RunValues {
        all.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
    }

    fn forms(all: &[(&str, &str)], name: &str) -> Vec<String> {
        let forms = values(all).forms();
        forms.into_iter().filter(|form| form.name == name).map(|form| form.text).collect()
    }

    #[test]
    fn day_is_written_as_programs_write_it() {
        assert_eq!(
            forms(&[("day", "2026-11-03")], "day"),
            [
                "2026-11-03",
                "Tuesday, November 3, 2026",
                "Tue Nov 03 2026",
                "11/03/2026",
                "11/3/2026",
                "November 3, 2026"
            ]
        );
        for (day, weekday) in [
            ("2026-11-23", "Monday"),
            ("2024-02-29", "Thursday"),
            ("2000-01-01", "Saturday"),
            ("1970-01-01", "Thursday"),
            ("2027-03-01", "Monday"),
        ] {
            let long = &forms(&[("day", day)], "day")[1];
            assert!(long.starts_with(weekday), "{day}: {long}");
        }
        assert_eq!(forms(&[("day", "2026-13-01")], "day"), ["2026-13-01"]);
        assert_eq!(forms(&[("day", "today")], "day"), ["today"]);
    }

    #[test]
    fn directories_have_a_form_as_one_name_and_one_relative_to_the_other() {
        let here = [("cwd", "/home/ann/my.app"), ("home", "/home/ann"), ("tmpdir", "/tmp")];
        assert_eq!(
            forms(&here, "cwd"),
            ["/home/ann/my.app", "-home-ann-my.app", "-home-ann-my-app"]
        );
        assert_eq!(forms(&here, "tmpdir"), ["/tmp"]);
        assert_eq!(forms(&here, "home"), ["/home/ann", "../"]);
        let apart = [("cwd", "/build/1/app"), ("home", "/ci-home")];
        assert_eq!(forms(&apart, "home"), ["/ci-home", "../../../ci-home/"]);
    }

    #[test]
    fn values_that_are_too_short_or_too_many_are_not_set() {
        let mut values = RunValues::default();
        assert!(!values.set("user", "me"));
        assert!(!values.set("cwd", "/"));
        assert!(!values.set("cwd", "/a \"b\""));
        assert!(values.is_empty());
        for at in 0..MOST_VALUES {
            assert!(values.set(format!("v{at}"), "text"));
        }
        assert!(!values.set("more", "text"));
        assert!(values.set("v0", "other"));
        assert_eq!(values.get("v0"), Some("other"));
    }
}
