//! Rules that are refused because they could reach people's words, what a tool gave or gets, or a
//! member of the protocol.

use std::fmt;

use super::asking_member::is_asking;
use super::frame::Frame;
use super::hole::HoleKind;
use super::place::{PlacePattern, PlaceToken};
use super::rule_place::{RulePlace, TextRole};

/// Why a rule is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleRefusal {
    /// The frame of a text does not begin with text of the program.
    NoStart,
    /// A hole has no text before it.
    NoTextBefore,
    /// The place is one of people's words, or of what a tool gave or gets.
    Words,
    /// The place is a member of the protocol.
    Protocol {
        /// The member.
        name: String,
    },
    /// In the texts of the user, what has such a kind may be a person's words.
    Untagged {
        /// The kind.
        kind: HoleKind,
    },
    /// A string that is only this could be a word or a setting.
    Mistakable {
        /// The kind.
        kind: HoleKind,
    },
}

/// Members that choose how a call is answered. They are compared, always.
const PROTOCOL: [&str; 40] = [
    "background",
    "budget_tokens",
    "candidateCount",
    "effort",
    "encoding_format",
    "finish_reason",
    "format",
    "frequency_penalty",
    "function_call",
    "include",
    "keep_alive",
    "logit_bias",
    "logprobs",
    "maxOutputTokens",
    "max_completion_tokens",
    "max_output_tokens",
    "max_tokens",
    "max_tool_calls",
    "mode",
    "model",
    "n",
    "name",
    "options",
    "parallel_tool_calls",
    "presence_penalty",
    "reasoning",
    "reasoning_effort",
    "response_format",
    "role",
    "seed",
    "service_tier",
    "stop",
    "temperature",
    "thinking",
    "tool_choice",
    "top_k",
    "top_logprobs",
    "top_p",
    "type",
    "verbosity",
];

/// Members that hold what a tool is called with.
const ARGUMENTS: [&str; 5] = ["arguments", "args", "parameters", "input_schema", "schema"];

/// The ends of the names of ids and moments.
const IDS: [&str; 5] = ["id", "Id", "_at", "_time", "timestamp"];

/// Returns why a rule is refused; `None` if it is not.
pub(super) fn find_refusal(place: &RulePlace, frame: &Frame) -> Option<RuleRefusal> {
    match place {
        RulePlace::Texts(_) if !frame.has_start() => Some(RuleRefusal::NoStart),
        RulePlace::Texts(_) if !frame.has_text_before_holes(2) => Some(RuleRefusal::NoTextBefore),
        RulePlace::Texts(TextRole::User) if !frame.begins_with_tag() => {
            mistakable_kind(frame).map(|kind| RuleRefusal::Untagged { kind })
        }
        RulePlace::Texts(_) => None,
        RulePlace::Pointer(place) => at_pointer(place, frame),
    }
}

/// Returns the first kind of a frame whose texts people write, too.
fn mistakable_kind(frame: &Frame) -> Option<HoleKind> {
    frame.hole_kinds().find(|kind| !kind.is_unmistakable() && !kind.is_value()).cloned()
}

fn at_pointer(place: &PlacePattern, frame: &Frame) -> Option<RuleRefusal> {
    let tokens = place.tokens();
    let name = |token: &PlaceToken| match token {
        PlaceToken::Name(name) => Some(name.clone()),
        PlaceToken::Any => None,
    };
    let is_of = |token: &PlaceToken, names: &[&str]| matches!(token, PlaceToken::Name(name) if names.contains(&name.as_str()));
    if let Some(token) = tokens.iter().find(|token| is_of(token, &PROTOCOL)) {
        return Some(RuleRefusal::Protocol { name: name(token).unwrap_or_default() });
    }
    let first = tokens.first().and_then(name).unwrap_or_default();
    // Any member of the body may be one of words.
    let has_words = first.is_empty() || first == "tools" || is_asking(&first);
    let last = tokens.last().and_then(name).unwrap_or_default();
    let is_id = tokens.len() > 1 && IDS.iter().any(|end| last.ends_with(end));
    if has_words && (!is_id || tokens.iter().any(|token| is_of(token, &ARGUMENTS))) {
        return Some(RuleRefusal::Words);
    }
    if frame.is_whole() {
        let is_id = IDS.iter().chain(&["_key"]).any(|end| last.ends_with(end));
        let is_long = |kind: &HoleKind| matches!(kind, HoleKind::Hex(8..));
        let kind = mistakable_kind(frame).filter(|kind| !(is_id && is_long(kind)));
        return kind.map(|kind| RuleRefusal::Mistakable { kind });
    }
    (!frame.has_text_before_holes(1)).then_some(RuleRefusal::NoTextBefore)
}

impl fmt::Display for RuleRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoStart => f.write_str(
                "a frame must begin with text that the program writes, from the start of the string",
            ),
            Self::NoTextBefore => f.write_str("each hole needs text of the program before it"),
            Self::Words => f.write_str(
                "the place has people's words or what a tool gave or gets; name the role and a \
                 frame, such as system: Today is {{day}}.",
            ),
            Self::Protocol { name } => {
                write!(f, "{name:?} is a member of the protocol, which is always compared")
            }
            Self::Untagged { kind } => write!(
                f,
                "{{{{{kind}}}}} in a text of the user may be a person's words, unless the frame \
                 begins with a tag of the program, such as <environment_context>"
            ),
            Self::Mistakable { kind } => write!(
                f,
                "a string that is only {{{{{kind}}}}} could be a word or a setting; add the text \
                 around it"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::normalize::NormalizeRule;

    #[test]
    fn rules_that_reach_words_or_the_protocol_are_refused() {
        for (rule, why) in [
            ("/messages/*/content: W{{date}}", "people's words"),
            ("/messages/*/content: duration", "people's words"),
            ("/messages: uuid", "people's words"),
            ("/messages/*: uuid", "people's words"),
            ("/*/id: uuid", "ok"),
            ("/*/text: {{any}} {{uuid}}", "people's words"),
            ("/input: uuid", "people's words"),
            ("/input/*/output: Wall time: {{duration}}", "people's words"),
            ("/messages/*/tool_calls/*/function/arguments/id: uuid", "people's words"),
            ("/tools/*/description: v{{count}}", "people's words"),
            ("/prompt: uuid", "people's words"),
            ("/max_tokens: epoch", "member of the protocol"),
            ("/temperature: pid", "member of the protocol"),
            ("/messages/*/role: uuid", "member of the protocol"),
            ("/model: m-{{date}}", "member of the protocol"),
            ("/metadata/port: port", "could be a word or a setting"),
            ("/metadata/tenant: id", "could be a word or a setting"),
            ("/user: {{any}} at {{user}}", "ok"),
            ("/metadata/at: epoch", "ok"),
            ("/metadata/run: hex8", "could be a word or a setting"),
            ("/metadata/run_id: hex8", "ok"),
            ("/metadata/run_id: hex6", "could be a word or a setting"),
            ("/input/*/id: msg_{{uuid}}", "ok"),
            ("/input/*/x/create_time: epoch", "ok"),
            ("system: {{day}} is the day", "must begin with text"),
            ("user: {{any}}Today is {{day}}", "must begin with text"),
            ("tool: ID {{hex6}}", "must begin with text"),
            ("user: Add {{count}} apples", "may be a person's words"),
            ("user: Today is {{date}}.", "may be a person's words"),
            ("user: Today is {{day}}.", "ok"),
            ("user: Session {{uuid}}", "ok"),
            ("user: <env>Today is {{date}}", "ok"),
            ("tool: Chunk ID: {{hex6}}\\n", "ok"),
            ("tool: Chunk ID: {{hex6}}\\n{{duration}}", "needs text of the program"),
            ("tool: File {{any}}/{{uuid}}/{{hex17}}.output", "ok"),
            ("tool: File {{any}}/{{hex6}}", "needs text of the program"),
            ("tool: File {{any}}/{{count}}", "needs text of the program"),
        ] {
            let said = match NormalizeRule::parse(rule) {
                Ok(_) => "ok".to_owned(),
                Err(error) => error.to_string(),
            };
            assert!(said.contains(why), "{rule}: {said}");
        }
    }
}
