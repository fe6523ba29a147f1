//! Rules for ids, times and the like that a client makes anew in each run.
//!
//! A rule names a place of the request's body and a kind, as `/metadata/user_id: uuid`, or the
//! literal texts around, as `/input/*/output: Chunk ID: (…)\nWall`. What it finds in the strings at
//! this place is renamed by first appearance, never left out: two ids that are equal in one request
//! must be equal in the other.

use std::fmt;
use std::ops::Range;

use regex::Regex;
use thiserror::Error;

use super::json_pointer::{JsonPointer, PointerError};
use super::place::{PlacePattern, PlaceToken};

/// The two ways to write what is between two anchors.
const BETWEEN: [&str; 2] = ["(…)", "(...)"];

/// A rule.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NormalizeRule {
    place: PlacePattern,
    finds: IdPattern,
}

/// What a rule finds.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum IdPattern {
    Kind(IdKind),
    Between {
        left: String,
        right: String,
    },
    /// The result of a tool whose call is in the same request.
    ToolResult,
}

/// The rule for results of tools, as it is written in a recording.
const TOOL_RESULTS: &str = "tool-results: by-call";

/// A kind of id, time or number.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum IdKind {
    Uuid,
    Hex32,
    Hex40,
    Hex64,
    Epoch,
    Date,
    Time,
    Duration,
    Pid,
    Port,
    /// An id that begins with this prefix.
    Id(String),
}

/// The kinds that a word names.
const KINDS: [(&str, IdKind); 10] = [
    ("uuid", IdKind::Uuid),
    ("hex32", IdKind::Hex32),
    ("hex40", IdKind::Hex40),
    ("hex64", IdKind::Hex64),
    ("epoch", IdKind::Epoch),
    ("date", IdKind::Date),
    ("time", IdKind::Time),
    ("duration", IdKind::Duration),
    ("pid", IdKind::Pid),
    ("port", IdKind::Port),
];

/// Why a text is not a rule.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NormalizeError {
    /// The place is not a pointer.
    #[error(transparent)]
    Place(#[from] PointerError),
    /// There is no kind after the place.
    #[error("read the rule {text:?}: it must be PLACE: KIND, such as /metadata/user_id: uuid")]
    Form {
        /// The text.
        text: String,
    },
    /// The kind is not known.
    #[error(
        "read the kind {kind:?}: the kinds are uuid, hex32, hex40, hex64, epoch, date, time, \
         duration, pid, port and id(PREFIX)"
    )]
    Kind {
        /// The kind.
        kind: String,
    },
    /// The anchors are not two texts around `(…)`.
    #[error(
        "read the anchors {text:?}: they must be a text, (…) and another text, such as Chunk ID: \
         (…)\\nWall; only the second may be empty"
    )]
    Anchors {
        /// The text.
        text: String,
    },
}

impl NormalizeRule {
    /// The name under which results of tools that were not compared are counted.
    pub const TOOL_RESULT: &str = "tool-result";

    /// Reads `PLACE: KIND`.
    ///
    /// # Errors
    /// [`NormalizeError`] if the place is no pointer or the kind is not known.
    pub fn of_kind(text: &str) -> Result<Self, NormalizeError> {
        let (place, kind) = parts(text)?;
        let named = KINDS.iter().find(|(name, _)| *name == kind).map(|(_, kind)| kind.clone());
        let prefix = kind.strip_prefix("id(").and_then(|rest| rest.strip_suffix(')'));
        let prefix =
            prefix.filter(|prefix| !prefix.is_empty()).map(|text| IdKind::Id(text.to_owned()));
        let wrong = || NormalizeError::Kind { kind: kind.to_owned() };
        Ok(Self { place, finds: IdPattern::Kind(named.or(prefix).ok_or_else(wrong)?) })
    }

    /// Reads `PLACE: left(…)right`.
    ///
    /// # Errors
    /// [`NormalizeError`] if the place is no pointer, or the first anchor is empty.
    pub fn of_anchors(text: &str) -> Result<Self, NormalizeError> {
        let (place, anchors) = parts(text)?;
        let split = BETWEEN.iter().find_map(|between| anchors.split_once(between));
        let split = split.filter(|(left, _)| !left.is_empty());
        let wrong = || NormalizeError::Anchors { text: anchors.to_owned() };
        let (left, right) = split.ok_or_else(wrong)?;
        let text = |anchor: &str| anchor.replace("\\n", "\n").replace("\\t", "\t");
        Ok(Self { place, finds: IdPattern::Between { left: text(left), right: text(right) } })
    }

    /// Returns the rule that compares the call of a tool instead of its result.
    pub const fn tool_results_by_call() -> Self {
        Self { place: PlacePattern::whole(), finds: IdPattern::ToolResult }
    }

    /// Whether it is the rule for results of tools.
    pub fn is_of_tool_results(&self) -> bool {
        self.finds == IdPattern::ToolResult
    }

    /// Reads a rule of any form, as it is written in a recording.
    ///
    /// # Errors
    /// [`NormalizeError`] if it has no such form.
    pub fn parse(text: &str) -> Result<Self, NormalizeError> {
        if text == TOOL_RESULTS {
            return Ok(Self::tool_results_by_call());
        }
        let is_anchors = BETWEEN.iter().any(|between| text.contains(between));
        if is_anchors { Self::of_anchors(text) } else { Self::of_kind(text) }
    }

    /// The words that name a kind, the most specific first.
    pub fn kinds() -> impl Iterator<Item = &'static str> {
        KINDS.iter().map(|(name, _)| *name)
    }

    /// The tokens of the place.
    pub(super) fn place(&self) -> &[PlaceToken] {
        self.place.tokens()
    }

    /// Whether the rule holds at this place of a body: it is at its place or below.
    pub fn is_at(&self, place: &JsonPointer) -> bool {
        let (rule, place) = (self.place(), place.tokens());
        let is_on_the_way = |(token, name): (&PlaceToken, &String)| match token {
            PlaceToken::Any => true,
            PlaceToken::Name(token) => token == name,
        };
        rule.len() <= place.len() && rule.iter().zip(place).all(is_on_the_way)
    }

    /// The name under which what it finds is numbered.
    pub fn kind(&self) -> &str {
        match &self.finds {
            IdPattern::Between { .. } => "text",
            IdPattern::ToolResult => Self::TOOL_RESULT,
            IdPattern::Kind(IdKind::Id(prefix)) => prefix,
            IdPattern::Kind(kind) => {
                KINDS.iter().find(|(_, known)| known == kind).map_or("id", |(name, _)| name)
            }
        }
    }

    /// Whether a number as a whole may be of this kind.
    pub fn is_number(&self, digits: &str, finder: &IdFinder) -> bool {
        match &self.finds {
            IdPattern::Kind(IdKind::Epoch) => {
                finder.find(digits).first() == Some(&(0..digits.len()))
            }
            IdPattern::Kind(IdKind::Duration | IdKind::Pid | IdKind::Port) => true,
            _ => false,
        }
    }

    /// The finder of what the rule renames in strings; `None` if it renames nothing in them.
    pub fn finder(&self) -> Option<IdFinder> {
        let pattern = match &self.finds {
            IdPattern::ToolResult => return None,
            IdPattern::Kind(kind) => kind.pattern(),
            IdPattern::Between { left, right } if right.is_empty() => {
                format!("(?s){}(.+)", regex::escape(left))
            }
            IdPattern::Between { left, right } => {
                format!("(?s){}(.+?){}", regex::escape(left), regex::escape(right))
            }
        };
        let is_free = matches!(self.finds, IdPattern::Between { .. });
        Regex::new(&pattern).ok().map(|search| IdFinder { search, is_free })
    }
}

impl fmt::Display for NormalizeRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |anchor: &str| anchor.replace('\n', "\\n").replace('\t', "\\t");
        match &self.finds {
            IdPattern::ToolResult => f.write_str(TOOL_RESULTS),
            IdPattern::Kind(IdKind::Id(prefix)) => write!(f, "{}: id({prefix})", self.place),
            IdPattern::Kind(_) => write!(f, "{}: {}", self.place, self.kind()),
            IdPattern::Between { left, right } => {
                write!(f, "{}: {}(…){}", self.place, text(left), text(right))
            }
        }
    }
}

/// Splits a rule into its place and what it finds there.
fn parts(text: &str) -> Result<(PlacePattern, &str), NormalizeError> {
    let form = || NormalizeError::Form { text: text.to_owned() };
    let (place, finds) = text.split_once(": ").ok_or_else(form)?;
    Ok((PlacePattern::parse(place.trim())?, finds))
}

/// The forms of a date that programs write.
const DATE: &str = "[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{1,2}/[0-9]{1,2}/[0-9]{4}\
     |(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, )?(?:January|February|March|April|May|June|July\
     |August|September|October|November|December) [0-9]{1,2}, [0-9]{4}\
     |(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} [0-9]{2} [0-9]{4}";

impl IdKind {
    /// The regular expression. Its first group, if it took part, is what is renamed.
    fn pattern(&self) -> String {
        match self {
            Self::Uuid => "(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}".to_owned(),
            Self::Hex32 => "(?i)[0-9a-f]{32}".to_owned(),
            Self::Hex40 => "(?i)[0-9a-f]{40}".to_owned(),
            Self::Hex64 => "(?i)[0-9a-f]{64}".to_owned(),
            Self::Epoch => {
                "[1-9](?:[0-9]{18}|[0-9]{15}|[0-9]{12}(?:\\.[0-9]+)?|[0-9]{9}(?:\\.[0-9]+)?)"
                    .to_owned()
            }
            Self::Date => DATE.to_owned(),
            Self::Time => "(?:[0-9]{4}-[0-9]{2}-[0-9]{2}[T ])?[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}\
                 (?:[.,][0-9]+)?)?(?:Z| ?[AP]M|[+-][0-9]{2}:?[0-9]{2})?"
                .to_owned(),
            Self::Duration => {
                "[0-9]+(?:\\.[0-9]+)? ?(?:ns|us|µs|ms|seconds?|secs?|s|minutes?|mins?|m\
                 |hours?|h)"
                    .to_owned()
            }
            Self::Pid => {
                "(?i)p?p?g?pid[s]?[ :=#]*([0-9]{1,10})|pgid[ :=#]*([0-9]{1,10})".to_owned()
            }
            Self::Port => "(?i)(?:localhost|127\\.0\\.0\\.1|0\\.0\\.0\\.0|\\[::1\\]):([0-9]{2,5})\
                 |port[ :=#]*([0-9]{2,5})"
                .to_owned(),
            Self::Id(prefix) => format!("{}[A-Za-z0-9_-]+", regex::escape(prefix)),
        }
    }
}

/// Finds what a rule renames.
#[derive(Clone, Debug)]
pub struct IdFinder {
    search: Regex,
    /// Whether letters may touch what is found.
    is_free: bool,
}

impl IdFinder {
    /// The places of what is renamed in a text, in order.
    pub fn find(&self, text: &str) -> Vec<Range<usize>> {
        let bytes = text.as_bytes();
        let touches = |at: Option<usize>| {
            at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_alphanumeric)
        };
        let is_alone = |whole: &Range<usize>| {
            self.is_free || !touches(whole.start.checked_sub(1)) && !touches(Some(whole.end))
        };
        let found = self.search.captures_iter(text).filter_map(|found| {
            let whole = found.get(0)?;
            let group = found.iter().skip(1).flatten().next().unwrap_or(whole);
            is_alone(&whole.range()).then(|| group.range())
        });
        found.filter(|range| !range.is_empty()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found<'t>(kind: &str, text: &'t str) -> Vec<&'t str> {
        let rule = NormalizeRule::parse(&format!("/x: {kind}")).unwrap();
        rule.finder().unwrap().find(text).into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn kinds_find_what_programs_make() {
        let uuid = "0190a5b2-7c1d-7e3f-8a9b-0c1d2e3f4a5b";
        assert_eq!(found("uuid", &format!("user_{uuid}, {uuid}x")), [uuid]);
        let hex = "ab".repeat(20);
        assert_eq!(found("hex40", &format!("{hex} {hex}0")), [hex.as_str()]);
        assert_eq!(
            found("epoch", "1795392426.3857236 1795393928083 17953939280830 run_1795393928_0"),
            ["1795392426.3857236", "1795393928083", "1795393928"]
        );
        assert_eq!(
            found(
                "date",
                "2026-11-23, Monday, November 23, 2026; Mon Nov 23 2026 11/23/2026 2026-11-23T"
            ),
            ["2026-11-23", "Monday, November 23, 2026", "Mon Nov 23 2026", "11/23/2026"]
        );
        assert_eq!(
            found("time", "at 2026-11-23T10:11:12.5Z or 9:05 PM"),
            ["2026-11-23T10:11:12.5Z", "9:05 PM"]
        );
        assert_eq!(
            found("duration", "0.0051 seconds, 12ms, 3 files, 5s"),
            ["0.0051 seconds", "12ms", "5s"]
        );
        assert_eq!(found("pid", "Process Group PGID: 27591, pid=12, rapid 3"), ["27591", "12"]);
        assert_eq!(found("port", "http://127.0.0.1:8080/ on port 99"), ["8080", "99"]);
        assert_eq!(found("id(msg_)", "msg_01aB-c, xmsg_2 msg_"), ["msg_01aB-c"]);
    }

    #[test]
    fn anchors_find_what_is_between_them() {
        assert_eq!(found("Chunk ID: (…)\\nWall", "Chunk ID: 46e5bd\nWall time"), ["46e5bd"]);
        assert_eq!(found("id (...)", "id 1\n2"), ["1\n2"]);
        assert_eq!(found("<(…)>", "<> <a><bc>"), ["> <a", "bc"]);
        assert!(found("a(…)b", "a only").is_empty());
    }

    #[test]
    fn rules_are_written_as_they_are_read() {
        let anchors = ["/x~1y: Chunk (…)\\nWall", "/x: id (…)"];
        for text in ["/a/*/b: uuid", "/a: id(msg_)", TOOL_RESULTS].into_iter().chain(anchors) {
            assert_eq!(NormalizeRule::parse(text).unwrap().to_string(), text);
        }
        let said = |text: &str| NormalizeRule::parse(text).unwrap_err().to_string();
        assert!(said("/a uuid").contains("it must be PLACE: KIND"));
        assert!(said("/a: guid").contains("the kinds are uuid, hex32"));
        assert!(said("/a: id()").contains("the kinds are"));
        assert!(said("/a: (…)x").contains("they must be a text"));
        assert!(said("a: uuid").contains("must begin with"));
        assert!(said(": uuid").contains("whole body"));
    }
}
