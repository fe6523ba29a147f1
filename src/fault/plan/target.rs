//! What a fault of a suite strikes.

use serde_json::Value;

use super::condition::RuleMatch;
use crate::field::fields_of;
use loomrec_identity::typed_field::{FieldError, FieldReader};

/// What a target is expected to be.
const EXPECTED: &str = "the name of a server (an upstream) or of a tool (a step), or an object with \
                        server, tool or both";

/// What a fault of a suite strikes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultTarget {
    /// The upstream of this name, if there is one, else the step.
    Named(String),
    /// The upstream of this name.
    Upstream(String),
    /// The step of this name.
    Step(String),
    /// The step of this name, at the upstream of this name.
    StepAt {
        /// The step.
        step: String,
        /// The upstream.
        upstream: String,
    },
}

impl FaultTarget {
    /// Reads the `target` of a fault: a text, or an object with `server`, `tool` or both. `None` if
    /// there is none.
    ///
    /// # Errors
    /// If it is neither, or a name is empty.
    pub(super) fn read(fault: FieldReader<'_>) -> Result<Option<Self>, FieldError> {
        let wrong = || fault.wrong("target", EXPECTED);
        match fault.get("target") {
            None => Ok(None),
            Some(Value::String(text)) => Self::from_text(text).map(Some).ok_or_else(wrong),
            Some(value @ Value::Object(_)) => {
                let names = fields_of(value, EXPECTED).and_then(names);
                let names = names.map_err(|error| error.under("/target"))?;
                Self::from_names(names).map(Some).ok_or_else(wrong)
            }
            Some(_) => Err(wrong()),
        }
    }

    fn from_names((server, tool): (Option<String>, Option<String>)) -> Option<Self> {
        match (server, tool) {
            (Some(upstream), Some(step)) => Some(Self::StepAt { step, upstream }),
            (Some(upstream), None) => Some(Self::Upstream(upstream)),
            (None, Some(step)) => Some(Self::Step(step)),
            (None, None) => None,
        }
    }

    fn from_text(text: &str) -> Option<Self> {
        let (kind, name) = match text.split_once(':') {
            Some(("server" | "upstream", name)) => (Self::Upstream as fn(String) -> Self, name),
            Some(("tool" | "step", name)) => (Self::Step as fn(String) -> Self, name),
            _ => (Self::Named as fn(String) -> Self, text),
        };
        let name = name.trim();
        (!name.is_empty()).then(|| kind(name.to_owned()))
    }

    /// Adds the target to the conditions of its rule. `is_upstream` says whether there is an upstream
    /// of a name.
    pub fn restrict(&self, when: &mut RuleMatch, is_upstream: impl Fn(&str) -> bool) {
        match self {
            Self::Named(name) if is_upstream(name) => when.upstream = vec![name.clone()],
            Self::Upstream(name) => when.upstream = vec![name.clone()],
            Self::Named(name) | Self::Step(name) => when.step_id = vec![name.clone()],
            Self::StepAt { step, upstream } => {
                (when.step_id, when.upstream) = (vec![step.clone()], vec![upstream.clone()]);
            }
        }
    }
}

/// Reads the names of a server and of a tool.
fn names(target: FieldReader<'_>) -> Result<(Option<String>, Option<String>), FieldError> {
    target.only("a target", &["server", "tool"])?;
    let name = |field| match target.text(field)?.map(|name| name.trim().to_owned()) {
        Some(name) if name.is_empty() => Err(target.wrong(field, "a name")),
        name => Ok(name),
    };
    Ok((name("server")?, name("tool")?))
}
