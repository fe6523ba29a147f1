//! The conditions of a rule: which calls it answers.

use regex::Regex;

use loomrec_dialect::interchange::{FixtureMatch, RequestContent, TurnRule};
use loomrec_fault::{CallFacts, CallNumbers, LazyBody, RuleMatch};
use loomrec_identity::typed_field::quoted_text;
use loomrec_recording::normalized_request::NormalizedRequest;

/// The conditions of a rule, apart from the number of the call.
#[derive(Debug)]
pub(super) enum RuleCondition {
    /// Those of a script.
    Written(Box<WrittenCondition>),
    /// Those of a fixture.
    Fixture(Box<FixtureMatch>),
}

/// The conditions that a script sets. All that are given must hold.
#[derive(Debug, Default)]
pub(super) struct WrittenCondition {
    /// What the request is, in the words of fault plans.
    pub(super) facts: RuleMatch,
    /// The text of the last user message that has any.
    pub(super) user: Option<TextCondition>,
    /// The system messages, one per line.
    pub(super) system: Option<TextCondition>,
    /// The text of the last message, if it is a tool's result.
    pub(super) tool_result: Option<TextCondition>,
    /// The texts to embed, with blanks between them.
    pub(super) input: Option<TextCondition>,
    /// The name of a tool that is offered.
    pub(super) tool: Option<String>,
}

/// A condition for a text.
#[derive(Clone, Debug)]
pub(super) enum TextCondition {
    /// This text is in it.
    Contains(String),
    /// It is this text.
    Equals(String),
    /// This pattern matches somewhere in it.
    Regex(Regex),
}

impl TextCondition {
    fn is_met_by(&self, text: &str) -> bool {
        match self {
            Self::Contains(part) => text.contains(part.as_str()),
            Self::Equals(whole) => text == whole,
            Self::Regex(pattern) => pattern.is_match(text),
        }
    }

    /// Returns the condition in words.
    fn to_words(&self) -> String {
        match self {
            Self::Contains(part) => format!("contains {}", quoted_text(part)),
            Self::Equals(whole) => format!("equals {}", quoted_text(whole)),
            Self::Regex(pattern) => format!("matches the regex {}", quoted_text(pattern.as_str())),
        }
    }
}

impl RuleCondition {
    /// Whether a call meets the conditions. `content` is what it says, if it says anything.
    pub(super) fn is_met_by(
        &self,
        request: &NormalizedRequest,
        content: Option<&RequestContent>,
    ) -> bool {
        match self {
            Self::Written(written) => written.unmet_conditions(request, content).next().is_none(),
            Self::Fixture(fixture) => {
                content.is_some_and(|content| fixture.is_match(content, TurnRule::Preference))
            }
        }
    }

    /// Returns the position in the conversation that a fixture prefers.
    pub(super) fn preferred_turn(&self) -> Option<u64> {
        match self {
            Self::Written(_) => None,
            Self::Fixture(fixture) => fixture.turn,
        }
    }
}

impl WrittenCondition {
    /// Returns the conditions that a call does not meet, in words.
    pub(super) fn unmet_conditions<'a>(
        &'a self,
        request: &'a NormalizedRequest,
        content: Option<&'a RequestContent>,
    ) -> impl Iterator<Item = String> + 'a {
        let result = |content: &'a RequestContent| content.result.as_ref().map(|(_, text)| &**text);
        let user = content.and_then(|content| content.user.as_deref());
        let texts = [
            ("user", &self.user, user),
            ("system", &self.system, content.map(|content| content.system.as_str())),
            ("tool_result", &self.tool_result, content.and_then(result)),
            ("input", &self.input, content.and_then(|content| content.input.as_deref())),
        ];
        let texts = texts.into_iter().filter_map(|(name, condition, text)| {
            let condition = condition.as_ref()?;
            let holds = text.is_some_and(|text| condition.is_met_by(text));
            (!holds).then(|| format!("{name} that {}", condition.to_words()))
        });
        let offers = |tool: &String| content.is_some_and(|content| content.tools.contains(tool));
        let tool = self.tool.as_ref().filter(|tool| !offers(tool));
        let tool = tool.map(|tool| format!("a tool named {}", quoted_text(tool)));
        let other = !self.is_met_by(request);
        let other = other.then(|| clip_text(&self.facts.to_json().to_string()));
        texts.chain(tool).chain(other)
    }

    /// Whether a call meets the conditions that do not concern what it says.
    fn is_met_by(&self, request: &NormalizedRequest) -> bool {
        if self.facts.is_empty() {
            return true;
        }
        // The rule counts calls itself, so these numbers are never looked at.
        let of_key = CallNumbers { call: 1, attempt: 1 };
        self.facts.holds(&CallFacts {
            key: "",
            step: request.step.as_deref(),
            upstream: &request.upstream,
            provider: request.call.provider.name(),
            operation: request.call.operation.as_str(),
            rpc: request.call.rpc.as_ref(),
            model: request.call.model.as_deref(),
            path: request.path(),
            session: request.session.as_deref(),
            body: LazyBody::from(&**request.body()),
            of_key,
            of_step: None,
            connection: 1,
        })
    }
}

/// Returns a text without what is too long for a message.
fn clip_text(text: &str) -> String {
    match text.char_indices().nth(200) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
