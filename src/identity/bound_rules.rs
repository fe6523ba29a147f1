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
}

/// What a provider knows of the texts in a request.
#[derive(Clone, Debug, Default)]
pub struct RequestTexts {
    /// The places of results of tools whose calls are in the request.
    pub tool_results: Vec<JsonPointer>,
    /// The places of texts, and whose they are.
    pub roles: Vec<(TextRole, JsonPointer)>,
}

impl BoundRules {
    /// Returns these rules. `given` are ids of calls that recorded answers gave.
    pub fn new(rules: Vec<NormalizeRule>, given: Arc<HashSet<String>>) -> Self {
        let has_roles = rules.iter().any(|rule| rule.role().is_some());
        Self { rules, given, has_roles }
    }

    /// The rules.
    pub fn rules(&self) -> &[NormalizeRule] {
        &self.rules
    }

    /// Whether the texts of roles are needed.
    pub fn has_roles(&self) -> bool {
        self.has_roles
    }

    /// Whether the places of results of tools are needed.
    pub fn compares_tool_calls(&self) -> bool {
        self.rules.iter().any(NormalizeRule::is_of_tool_results)
    }
}
