//! The rules that requests of two runs are compared under.

use std::collections::HashSet;
use std::sync::Arc;

use super::json_pointer::JsonPointer;
use super::normalize::NormalizeRule;
use super::rule_place::TextRole;

/// The rules that two requests are compared under.
#[derive(Clone, Debug, Default)]
pub struct BoundRules {
    pub(super) rules: Vec<NormalizeRule>,
    /// The ids of calls that recorded answers gave. A client repeats them as they are.
    pub(super) given: Arc<HashSet<String>>,
    pub(super) has_roles: bool,
    finds_repository: bool,
}

/// Where the result of a tool is, in a request that also has its call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolResultPlace {
    /// The message, the block or the item that is the result of one call.
    pub element: JsonPointer,
    /// What the tool gave, in that element.
    pub content: JsonPointer,
    /// The number of the call among those of the request.
    pub call: usize,
}

/// What a provider knows of the texts in a request.
#[derive(Clone, Debug, Default)]
pub struct RequestTexts {
    /// The results of tools whose calls are in the request.
    pub tool_results: Vec<ToolResultPlace>,
    /// The places of texts, and whose they are.
    pub roles: Vec<(TextRole, JsonPointer)>,
}

impl BoundRules {
    /// Returns these rules. `given` are ids of calls that recorded answers gave.
    pub fn new(rules: Vec<NormalizeRule>, given: Arc<HashSet<String>>) -> Self {
        let has_roles = rules.iter().any(|rule| rule.text_role().is_some());
        let finds_repository = rules.iter().any(NormalizeRule::finds_repository);
        Self { rules, given, has_roles, finds_repository }
    }

    /// The rules.
    pub fn rules(&self) -> &[NormalizeRule] {
        &self.rules
    }

    /// Whether a rule finds a value of a repository.
    pub fn finds_repository(&self) -> bool {
        self.finds_repository
    }

    /// Whether the texts of roles are needed.
    pub fn has_roles(&self) -> bool {
        self.has_roles
    }

    /// Whether the places of results of tools are needed.
    pub fn needs_tool_results(&self) -> bool {
        let is_one = |rule: &NormalizeRule| rule.is_of_tool_results() || rule.is_of_result_order();
        self.rules.iter().any(is_one)
    }
}
