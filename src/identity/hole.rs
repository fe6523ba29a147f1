//! The kinds of a hole in a frame.
//!
//! An **id** is compared up to renaming: ids that are equal in one request are equal in the other.
//! A **measurement** may have any value of its kind. A **value** is one that loomrec knows in both
//! runs: the recorded text is the recorded run's, and this run's text takes its place.

use std::fmt;

/// The kind of a hole.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HoleKind {
    /// A UUID.
    Uuid,
    /// So many hex digits.
    Hex(u8),
    /// Letters, digits, `-` and `_`: the rest of an id with a prefix.
    Id,
    /// Seconds, milliseconds, microseconds or nanoseconds since 1970.
    Epoch,
    /// A date.
    Date,
    /// A time of day, with or without a date before it.
    Time,
    /// A number, with or without a unit of time.
    Duration,
    /// The number of a process.
    Pid,
    /// The number of a port.
    Port,
    /// A count.
    Count,
    /// The remotes and the commit of a repository, as an object of JSON.
    GitState,
    /// A value of the run.
    Value(String),
}

/// How a hole is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoleComparison {
    /// Up to renaming.
    Id,
    /// Not at all, beside its kind.
    Measurement,
    /// As a value of the run.
    Value,
}

/// Why a text names no kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HoleKindError {
    /// A hole has no end.
    #[error("a hole has no end: {text:?}")]
    Open {
        /// How it begins.
        text: String,
    },
    /// There is no such kind.
    #[error(
        "there is no kind {kind:?}: the kinds are uuid, hexN, id, epoch, date, time, duration, \
         pid, port, count, git_state, {}, var:NAME and any",
        VALUES.join(", ")
    )]
    Unknown {
        /// The text.
        kind: String,
    },
}

/// The kinds that a word names.
const KINDS: [(&str, HoleKind); 10] = [
    ("uuid", HoleKind::Uuid),
    ("id", HoleKind::Id),
    ("epoch", HoleKind::Epoch),
    ("date", HoleKind::Date),
    ("time", HoleKind::Time),
    ("duration", HoleKind::Duration),
    ("pid", HoleKind::Pid),
    ("port", HoleKind::Port),
    ("count", HoleKind::Count),
    ("git_state", HoleKind::GitState),
];

/// The values of a run that a hole may have.
pub(super) const VALUES: [&str; 16] = [
    "cwd",
    "day",
    "folder",
    "folder_tree",
    "git_branch",
    "git_commits",
    "git_overview",
    "git_status",
    "home",
    "host",
    "os_release",
    "os_version",
    "short_folder_tree",
    "timezone",
    "user",
    "weekday",
];

/// What begins the name of a value that a flag sets.
const VAR: &str = "var:";

/// The name of a number of hex digits.
const HEX: &str = "hex";

impl HoleKind {
    /// Reads the name of a kind.
    ///
    /// # Errors
    /// There is no such kind.
    pub fn parse(name: &str) -> Result<Self, HoleKindError> {
        let unknown = || HoleKindError::Unknown { kind: name.to_owned() };
        if let Some((_, kind)) = KINDS.iter().find(|(known, _)| *known == name) {
            return Ok(kind.clone());
        }
        if let Some(digits) = name.strip_prefix(HEX) {
            let digits: u8 = digits.parse().map_err(|_| unknown())?;
            return (4..=128).contains(&digits).then_some(Self::Hex(digits)).ok_or_else(unknown);
        }
        let is_value = VALUES.contains(&name) || name.strip_prefix(VAR).is_some_and(is_var);
        is_value.then(|| Self::Value(name.to_owned())).ok_or_else(unknown)
    }

    /// The names of the kinds that can be told by their text alone, the most specific first.
    pub fn plain_kinds() -> impl Iterator<Item = Self> {
        let hex = [64, 40, 32].map(Self::Hex);
        [Self::Uuid].into_iter().chain(hex).chain([
            Self::Epoch,
            Self::Time,
            Self::Date,
            Self::Duration,
        ])
    }

    /// How it is compared.
    pub fn comparison(&self) -> HoleComparison {
        match self {
            Self::Uuid | Self::Hex(_) | Self::Id => HoleComparison::Id,
            Self::Epoch
            | Self::Date
            | Self::Time
            | Self::Duration
            | Self::Pid
            | Self::Port
            | Self::Count
            | Self::GitState => HoleComparison::Measurement,
            Self::Value(_) => HoleComparison::Value,
        }
    }

    /// Whether it is a value of the run.
    pub fn is_value(&self) -> bool {
        self.comparison() == HoleComparison::Value
    }

    /// The name of the value of the run that it holds; `None` for an id or a measurement.
    pub fn value_name(&self) -> Option<&str> {
        match self {
            Self::Value(name) => Some(name.strip_prefix(VAR).unwrap_or(name)),
            _ => None,
        }
    }

    /// Whether a string or a number that is nothing else can be of this kind without being read as
    /// a setting or a word.
    pub fn is_unmistakable(&self) -> bool {
        match self {
            Self::Uuid | Self::Epoch => true,
            Self::Hex(digits) => *digits >= 16,
            _ => false,
        }
    }

    /// Whether it is an id that nobody writes by hand.
    pub fn is_long_id(&self) -> bool {
        self.comparison() == HoleComparison::Id && self.is_unmistakable()
    }

    /// Whether a text as a whole is of this kind, which is not a value.
    pub fn is_text(&self, text: &str) -> bool {
        self.length_at(text, &|length| length == text.len()).is_some()
    }

    /// Returns the length of the longest text of this kind at the start of a string after which
    /// `ends` returns `true`; `None` if the string begins with no such text.
    pub(super) fn length_at(&self, text: &str, ends: &dyn Fn(usize) -> bool) -> Option<usize> {
        let bytes = text.as_bytes();
        let run = |is_part: fn(&u8) -> bool| bytes.iter().take_while(|byte| is_part(byte)).count();
        let lengths: Vec<usize> = match self {
            Self::Uuid => Vec::from_iter(uuid_length(bytes)),
            Self::Hex(digits) => {
                let digits = usize::from(*digits);
                Vec::from_iter((run(u8::is_ascii_hexdigit) == digits).then_some(digits))
            }
            Self::Id => {
                let length =
                    run(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
                (1..=length.min(200)).rev().collect()
            }
            Self::Epoch => Vec::from_iter(epoch_length(bytes)),
            Self::Pid => {
                Vec::from_iter(Some(run(u8::is_ascii_digit)).filter(|it| (1..=10).contains(it)))
            }
            Self::Port => {
                Vec::from_iter(Some(run(u8::is_ascii_digit)).filter(|it| (2..=5).contains(it)))
            }
            Self::Count => {
                Vec::from_iter(Some(run(u8::is_ascii_digit)).filter(|it| (1..=12).contains(it)))
            }
            Self::GitState => git_state_lengths(text),
            Self::Duration => duration_lengths(text),
            Self::Date => date_lengths(text),
            Self::Time => time_lengths(text),
            Self::Value(_) => Vec::new(),
        };
        lengths.into_iter().find(|length| *length > 0 && ends(*length))
    }
}

fn is_var(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    !name.is_empty() && name.len() <= 64 && name.bytes().all(is_part)
}

fn uuid_length(bytes: &[u8]) -> Option<usize> {
    let is_part = |(at, byte): (usize, &u8)| match at {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    (bytes.get(..36)?.iter().enumerate().all(is_part)).then_some(36)
}

/// Seconds, milliseconds, microseconds or nanoseconds; seconds and milliseconds with or without a
/// fraction.
fn epoch_length(bytes: &[u8]) -> Option<usize> {
    let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let is_one = bytes.first().is_some_and(|byte| *byte != b'0');
    if !is_one || ![10, 13, 16, 19].contains(&digits) {
        return None;
    }
    let fraction = match bytes.get(digits) {
        Some(b'.') => bytes[digits + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count(),
        _ => 0,
    };
    Some(if fraction > 0 && digits <= 13 { digits + 1 + fraction } else { digits })
}

/// The lengths of what a regular expression finds at the start of a text, the longest first.
fn match_lengths(
    pattern: &'static std::sync::LazyLock<Option<regex::Regex>>,
    text: &str,
) -> Vec<usize> {
    let Some(pattern) = pattern.as_ref() else { return Vec::new() };
    let Some(found) = pattern.captures(text) else { return Vec::new() };
    let mut ends: Vec<usize> = found.iter().flatten().map(|part| part.end()).collect();
    ends.sort_unstable_by(|one, other| other.cmp(one));
    ends.dedup();
    ends
}

/// Each group that begins the text is a length.
fn duration_lengths(text: &str) -> Vec<usize> {
    static PATTERN: std::sync::LazyLock<Option<regex::Regex>> = std::sync::LazyLock::new(|| {
        regex::Regex::new(
            "^(?:([0-9]{1,12}(?:\\.[0-9]{1,12})?) ?(?:ns|us|µs|ms|seconds?|secs?|s|minutes?|mins?\
             |m|hours?|h)|[0-9]{1,12}(?:\\.[0-9]{1,12})?)",
        )
        .ok()
    });
    match_lengths(&PATTERN, text)
}

fn git_state_lengths(text: &str) -> Vec<usize> {
    static PATTERN: std::sync::LazyLock<Option<regex::Regex>> = std::sync::LazyLock::new(|| {
        regex::Regex::new(
            "^\\{(?:\"associated_remote_urls\":\\{[^{}]{0,2000}\\},?)?\
             (?:\"latest_git_commit_hash\":\"[0-9a-f]{40,64}\",?)?\
             (?:\"has_changes\":(?:true|false))?\\}",
        )
        .ok()
    });
    match_lengths(&PATTERN, text)
}

fn date_lengths(text: &str) -> Vec<usize> {
    static PATTERN: std::sync::LazyLock<Option<regex::Regex>> = std::sync::LazyLock::new(|| {
        regex::Regex::new(
            "^(?:[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{1,2}/[0-9]{1,2}/[0-9]{4}\
             |(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, )?(?:January|February|March|April|May\
             |June|July|August|September|October|November|December) [0-9]{1,2}, [0-9]{4}\
             |(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} [0-9]{2} [0-9]{4})",
        )
        .ok()
    });
    match_lengths(&PATTERN, text)
}

fn time_lengths(text: &str) -> Vec<usize> {
    static PATTERN: std::sync::LazyLock<Option<regex::Regex>> = std::sync::LazyLock::new(|| {
        regex::Regex::new(
            "^(?:[0-9]{4}-[0-9]{2}-[0-9]{2}[T ])?[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]{1,9})?)?\
             (?:Z| ?[AP]M|[+-][0-9]{2}:?[0-9]{2})?",
        )
        .ok()
    });
    match_lengths(&PATTERN, text)
}

impl fmt::Display for HoleKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hex(digits) => write!(f, "{HEX}{digits}"),
            Self::Value(name) => f.write_str(name),
            kind => {
                let named = KINDS.iter().find(|(_, known)| known == kind);
                f.write_str(named.map_or("id", |(name, _)| name))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The longest text of a kind at the start of a string.
    fn longest<'t>(kind: &str, text: &'t str) -> &'t str {
        let length = HoleKind::parse(kind).unwrap().length_at(text, &|_| true);
        &text[..length.unwrap_or(0)]
    }

    #[test]
    fn kinds_have_the_texts_that_programs_write() {
        for (kind, text, expected) in [
            (
                "uuid",
                "0190a5b2-7c1d-7e3f-8a9b-0c1d2e3f4a5b, x",
                "0190a5b2-7c1d-7e3f-8a9b-0c1d2e3f4a5b",
            ),
            ("uuid", "0190a5b2-7c1d-7e3f-8a9b-0c1d2e3f4a5", ""),
            ("hex6", "46e5bd\n", "46e5bd"),
            ("hex6", "46e5bda", ""),
            ("id", "msg_01aB-c d", "msg_01aB-c"),
            ("epoch", "1795392426.3857236", "1795392426.3857236"),
            ("epoch", "17953924263857", ""),
            ("epoch", "0795392426", ""),
            ("date", "Monday, November 23, 2026.", "Monday, November 23, 2026"),
            ("date", "2026-11-23T", "2026-11-23"),
            ("time", "2026-11-23T10:11:12.5Z", "2026-11-23T10:11:12.5Z"),
            ("time", "9:05 PM", "9:05 PM"),
            ("duration", "0.0051 seconds", "0.0051 seconds"),
            ("duration", "12ms", "12ms"),
            ("duration", "soon", ""),
            ("pid", "8354", "8354"),
            ("pid", "a", ""),
            ("count", "85\n", "85"),
        ] {
            assert_eq!(longest(kind, text), expected, "{kind} {text}");
        }
    }

    #[test]
    fn a_duration_may_end_before_its_unit() {
        let kind = HoleKind::parse("duration").unwrap();
        let text = "0.0051 seconds\n";
        assert_eq!(
            kind.length_at(text, &|length| text[length..].starts_with(" seconds\n")),
            Some(6)
        );
    }

    #[test]
    fn names_are_written_as_they_are_read() {
        for name in ["uuid", "hex17", "id", "count", "git_status", "var:tenant", "day"] {
            assert_eq!(HoleKind::parse(name).unwrap().to_string(), name);
        }
        for wrong in ["hex3", "hex200", "hexx", "text", "", "var:", "var:a b", "any"] {
            assert!(HoleKind::parse(wrong).is_err(), "{wrong}");
        }
    }
}
