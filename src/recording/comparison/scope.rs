//! What of two calls is compared, and which places are left out.

use loomrec_identity::spelling;
use loomrec_identity::{IdentityRules, JsonPointer, PointerError};

/// What a place that is no pointer into a request's body can begin with.
const NAMES: [&str; 12] = [
    "method", "target", "query", "header", "body", "upstream", "session", "step_id", "answer",
    "response", "fault", "extra",
];

/// What is compared.
#[derive(Clone, Debug)]
pub struct DiffScope {
    /// Whether what was asked is.
    pub requests: bool,
    /// Whether what came back is.
    pub answers: bool,
    /// Whether times and chunks count.
    pub times: bool,
    /// Places of request bodies that are left out: of both recordings' identity, and
    /// those that were asked for.
    pub rules: IdentityRules,
    /// Other places that are left out, with what is below them.
    pub(super) places: Vec<String>,
}

impl Default for DiffScope {
    /// Everything, times told and not counted.
    fn default() -> Self {
        let rules = IdentityRules::default();
        Self { requests: true, answers: true, times: false, rules, places: Vec::new() }
    }
}

impl DiffScope {
    /// Leaves a place out: a JSON pointer into request bodies, or the name of another
    /// place, as a difference has it.
    ///
    /// # Errors
    /// A text that is neither.
    pub fn leave_out(&mut self, place: &str) -> Result<(), ScopeError> {
        let name = place.split(['/', ' ']).next().unwrap_or_default();
        if place.starts_with('/') || place.is_empty() {
            let pointer = JsonPointer::parse(place).map_err(ScopeError::Pointer)?;
            self.rules = self.rules.with([pointer]);
        } else if NAMES.contains(&name) {
            self.places.push(place.trim_end_matches('/').to_owned());
        } else {
            let meant = spelling::nearest(name, &NAMES).map(str::to_owned);
            return Err(ScopeError::Place { place: place.to_owned(), meant });
        }
        Ok(())
    }

    /// Whether a place is left out. Those in request bodies never get here: the rules
    /// see to them.
    pub(super) fn leaves_out(&self, place: &str) -> bool {
        self.places.iter().any(|left| {
            let below = place.strip_prefix(left.as_str());
            below.is_some_and(|below| below.is_empty() || below.starts_with(['/', ' ']))
        })
    }
}

/// Why a text is no place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScopeError {
    /// No JSON pointer.
    #[error("{0}")]
    Pointer(PointerError),
    /// No name of a place.
    #[error(
        "find the place {place:?}: write a JSON pointer into request bodies (/metadata/run_id), \
         or a place as diff names it (answer/usage, response/headers, step_id){}",
        meant.as_ref().map(|meant| format!("; did you mean {meant}?")).unwrap_or_default()
    )]
    Place {
        /// What was given.
        place: String,
        /// What may be meant.
        meant: Option<String>,
    },
}
