//! Rules for ids, times and values that a client makes anew in each run.
//!
//! A rule names a place and a [frame](super::frame), as `system: Today is {{day}}.` or
//! `/metadata/session_id: {{uuid}}`. A place is a JSON pointer to one string or number of the body,
//! or the texts of a role: `system`, `user` or `tool`. A kind alone is the frame of a string that is
//! nothing else.

use std::fmt;

use thiserror::Error;

use super::frame::{Frame, FrameError};
use super::hole::{HoleComparison, HoleKind};
use super::json_pointer::{JsonPointer, PointerError};
use super::place::{PlacePattern, PlaceToken};
use super::repository_forms::is_of_repository;
use super::rule_place::{ROLES, RulePlace, TextRole};
use super::rule_refusal::{self, RuleRefusal};
use super::run_values::RunValues;

/// A rule.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NormalizeRule(RuleForm);

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum RuleForm {
    /// The holes of a frame at a place.
    Frame { place: RulePlace, frame: Frame },
    /// The result of a tool whose call is in the same request.
    ToolResult,
    /// The order of results of tools whose calls are in the same request.
    ResultOrder,
    /// A reference to a call of a tool.
    Reference(PlacePattern),
    /// A rule of an earlier version, which no longer holds.
    Earlier(String),
}

/// The rule for results of tools, as it is written in a recording.
const TOOL_RESULTS: &str = "tool-results: by-call";

/// The rule for the order of results of tools, as it is written in a recording.
const RESULT_ORDER: &str = "tool-results: any-order";

/// Why a text is not a rule.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NormalizeError {
    /// The place is not a pointer.
    #[error(transparent)]
    Place(#[from] PointerError),
    /// There is no frame after the place.
    #[error(
        "read the rule {text:?}: it must be PLACE: KIND or PLACE: FRAME, such as \
         /metadata/session_id: uuid, or system: Today is {{{{day}}}}."
    )]
    Form {
        /// The text.
        text: String,
    },
    /// The frame cannot be read.
    #[error("read the frame of {text:?}: {error}")]
    Frame {
        /// The rule.
        text: String,
        /// What is wrong.
        error: FrameError,
    },
    /// The rule could reach more than what a program makes.
    #[error("use the rule {rule:?}: {refusal}")]
    Refused {
        /// The rule.
        rule: String,
        /// Why.
        refusal: RuleRefusal,
    },
}

impl NormalizeRule {
    /// The name under which results of tools that were not compared are counted.
    pub const TOOL_RESULT: &str = "tool-result";

    /// The name under which results of tools in another order are counted.
    pub const RESULT_ORDER: &str = "result-order";

    /// What a rule for references to calls finds.
    pub const REFERENCE: &str = "reference";

    /// Reads `PLACE: KIND` or `PLACE: FRAME`.
    ///
    /// # Errors
    /// [`NormalizeError`] if it has no such form, or could reach people's words, the payload of a
    /// tool or a member of the protocol.
    pub fn parse(text: &str) -> Result<Self, NormalizeError> {
        match text {
            TOOL_RESULTS => return Ok(Self::tool_results_by_call()),
            RESULT_ORDER => return Ok(Self::tool_results_in_any_order()),
            _ => {}
        }
        let form = || NormalizeError::Form { text: shortened_text(text) };
        let (place, finds) = text.split_once(": ").ok_or_else(form)?;
        let frame = match HoleKind::parse(finds.trim()) {
            Ok(kind) => Frame::from_hole(kind),
            Err(_) => Frame::parse(finds)
                .map_err(|error| NormalizeError::Frame { text: shortened_text(text), error })?,
        };
        let role = ROLES.iter().find(|(name, _)| *name == place.trim());
        let place = match role {
            Some((_, role)) => RulePlace::Texts(*role),
            None => RulePlace::Pointer(PlacePattern::parse(place.trim())?),
        };
        match rule_refusal::find_refusal(&place, &frame) {
            Some(refusal) => Err(NormalizeError::Refused { rule: shortened_text(text), refusal }),
            None => Ok(Self(RuleForm::Frame { place, frame })),
        }
    }

    /// Reads a rule of a recording. One that is refused, or that only earlier versions know, is
    /// kept as it is written, and holds for nothing.
    pub fn of_recording(text: &str) -> Self {
        Self::parse(text).unwrap_or_else(|_| Self(RuleForm::Earlier(text.to_owned())))
    }

    /// Returns the rule that compares the call of a tool instead of its result.
    pub const fn tool_results_by_call() -> Self {
        Self(RuleForm::ToolResult)
    }

    /// Returns the rule that compares results of tools that follow each other in the order of their
    /// calls.
    pub const fn tool_results_in_any_order() -> Self {
        Self(RuleForm::ResultOrder)
    }

    /// Returns the rule for references to calls of tools at a place.
    pub fn for_references(place: PlacePattern) -> Self {
        Self(RuleForm::Reference(place))
    }

    /// The name under which what it needed is counted.
    pub fn counted_as(&self) -> String {
        match &self.0 {
            RuleForm::ToolResult => Self::TOOL_RESULT.to_owned(),
            RuleForm::ResultOrder => Self::RESULT_ORDER.to_owned(),
            RuleForm::Reference(_) => Self::REFERENCE.to_owned(),
            RuleForm::Earlier(_) => "earlier".to_owned(),
            RuleForm::Frame { frame, .. } => {
                let kinds: Vec<String> = frame.hole_kinds().map(HoleKind::to_string).collect();
                kinds.join("+")
            }
        }
    }

    /// Whether it is the rule for results of tools.
    pub fn is_of_tool_results(&self) -> bool {
        self.0 == RuleForm::ToolResult
    }

    /// Whether it is the rule for the order of results of tools.
    pub fn is_of_result_order(&self) -> bool {
        self.0 == RuleForm::ResultOrder
    }

    /// Whether it is a rule for references to calls.
    pub fn is_reference(&self) -> bool {
        matches!(self.0, RuleForm::Reference(_))
    }

    /// Whether it finds a value of a repository.
    pub fn finds_repository(&self) -> bool {
        self.frame().is_some_and(|frame| frame.hole_kinds().any(is_repository))
    }

    /// Whether a text has a state of a repository that is in none of these values.
    pub fn has_other_state(&self, text: &str, known: &[RunValues]) -> bool {
        let Some(frame) = self.frame() else { return false };
        frame.can_reach_hole(text, is_repository)
            && known.iter().all(|values| frame.holes_of(text, values).is_none())
    }

    /// Whether it finds ids or measurements, and not only values of the run.
    pub fn finds_ids(&self) -> bool {
        match &self.0 {
            RuleForm::Frame { frame, .. } => frame.hole_kinds().any(|kind| !kind.is_value()),
            RuleForm::Reference(_) => true,
            RuleForm::ToolResult | RuleForm::ResultOrder | RuleForm::Earlier(_) => false,
        }
    }

    /// Why a rule of a recording holds for nothing; `None` if it holds.
    pub fn refusal_reason(&self) -> Option<String> {
        let RuleForm::Earlier(text) = &self.0 else { return None };
        Self::parse(text).err().map(|error| error.to_string())
    }

    /// The texts in which it holds, if it is a rule for texts.
    pub fn text_role(&self) -> Option<TextRole> {
        match &self.0 {
            RuleForm::Frame { place: RulePlace::Texts(role), .. } => Some(*role),
            _ => None,
        }
    }

    /// The tokens of its place; `None` if it is not a rule for a place.
    pub(super) fn place_tokens(&self) -> Option<&[PlaceToken]> {
        match &self.0 {
            RuleForm::Frame { place: RulePlace::Pointer(place), .. }
            | RuleForm::Reference(place) => Some(place.tokens()),
            _ => None,
        }
    }

    /// Its frame, if it has one.
    pub fn frame(&self) -> Option<&Frame> {
        match &self.0 {
            RuleForm::Frame { frame, .. } => Some(frame),
            _ => None,
        }
    }

    /// Whether the rule holds at this place of a body.
    pub fn is_at(&self, place: &JsonPointer) -> bool {
        let (Some(rule), place) = (self.place_tokens(), place.tokens()) else { return false };
        let is_same = |(token, name): (&PlaceToken, &String)| match token {
            PlaceToken::Any => true,
            PlaceToken::Name(token) => token == name,
        };
        rule.len() == place.len() && rule.iter().zip(place).all(is_same)
    }

    /// Whether a number may be of its kind: the moment of something.
    pub(super) fn is_number(&self, digits: &str) -> bool {
        let Some(frame) = self.frame().filter(|frame| frame.is_whole()) else { return false };
        let is_all = |length: usize| length == digits.len();
        frame.hole_kinds().any(|kind| {
            kind.comparison() != HoleComparison::Value && kind.length_at(digits, &is_all).is_some()
        })
    }
}

fn is_repository(kind: &HoleKind) -> bool {
    kind.value_name().is_some_and(is_of_repository)
}

/// Returns a text as an error shows it.
fn shortened_text(text: &str) -> String {
    const SHOWN: usize = 200;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

impl fmt::Display for NormalizeRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            RuleForm::ToolResult => f.write_str(TOOL_RESULTS),
            RuleForm::ResultOrder => f.write_str(RESULT_ORDER),
            RuleForm::Earlier(text) => f.write_str(text),
            RuleForm::Reference(place) => write!(f, "{place}: {}", Self::REFERENCE),
            RuleForm::Frame { place, frame } => {
                write!(f, "{place}: ")?;
                match frame.hole_kinds().next().filter(|_| frame.is_whole()) {
                    Some(kind) => kind.fmt(f),
                    None => frame.fmt(f),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_written_as_they_are_read() {
        for text in [
            "/metadata/user_id: user_{{hex64}}_session_{{uuid}}",
            "/prompt_cache_key: uuid",
            "/input/*/id: msg_{{uuid}}",
            "system: <env>{{any}}\\nToday: {{day}}\\n",
            TOOL_RESULTS,
            RESULT_ORDER,
        ] {
            assert_eq!(NormalizeRule::parse(text).unwrap().to_string(), text);
        }
        let said = |text: &str| NormalizeRule::parse(text).unwrap_err().to_string();
        assert!(said("/a uuid").contains("it must be PLACE: KIND"));
        assert!(said("/a: guid").contains("no hole"));
        assert!(said("/a: {{guid}}").contains("the kinds are uuid, hexN"));
        assert!(said("a: uuid").contains("must begin with"));
        assert!(said(": uuid").contains("whole body"));
    }

    #[test]
    fn rules_of_earlier_versions_hold_for_nothing_and_say_why() {
        for text in ["/messages/*/content: W(…)", "/metadata: uuidx", "/messages: uuid"] {
            let rule = NormalizeRule::of_recording(text);
            assert_eq!(rule.to_string(), text);
            assert!(rule.refusal_reason().is_some() && rule.frame().is_none(), "{text}");
        }
    }
}
