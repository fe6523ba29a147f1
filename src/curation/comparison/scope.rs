//! The scope of a comparison, and the places that are left out.

use loomrec_identity::spelling;
use loomrec_identity::{IdentityRules, PlacePattern, PointerError};

/// The place of a whole request.
const REQUEST: &str = "request";

/// The first parts of places that are not pointers into a request's body.
const NAMES: [&str; 12] = [
    "method", "target", "query", "header", "body", "upstream", "session", "step_id", "answer",
    "response", "fault", "extra",
];

/// The scope of a comparison.
#[derive(Clone, Debug)]
pub struct DiffScope {
    /// Whether requests are compared.
    pub requests: bool,
    /// Whether answers are compared.
    pub answers: bool,
    /// Places of request bodies that are left out: by the identity rules of both recordings, and by
    /// the user.
    pub rules: IdentityRules,
    /// Other places that are left out, including everything below them.
    pub(super) places: Vec<String>,
}

impl Default for DiffScope {
    /// Compares everything.
    fn default() -> Self {
        Self { requests: true, answers: true, rules: IdentityRules::default(), places: Vec::new() }
    }
}

impl DiffScope {
    /// Leaves a place out: a JSON pointer into request bodies, the name of another place, as in a
    /// difference, or the whole request.
    ///
    /// # Errors
    /// If the text is neither.
    pub fn leave_out(&mut self, place: &str) -> Result<(), ScopeError> {
        let name = place.split(['/', ' ']).next().unwrap_or_default();
        if place.starts_with('/') || place.is_empty() {
            let pointer = PlacePattern::parse(place).map_err(ScopeError::Pointer)?;
            self.rules = self.rules.with_ignored([pointer]);
        } else if place.trim_end_matches('/') == REQUEST {
            self.requests = false;
        } else if NAMES.contains(&name) {
            self.places.push(place.trim_end_matches('/').to_owned());
        } else {
            let meant =
                spelling::nearest_name(name, &[&NAMES[..], &[REQUEST]].concat()).map(str::to_owned);
            return Err(ScopeError::Place { place: place.to_owned(), meant });
        }
        Ok(())
    }

    /// Whether a place is left out. It is not called for places in request bodies, which the rules
    /// handle.
    pub(super) fn leaves_out(&self, place: &str) -> bool {
        self.places.iter().any(|left| {
            let below = place.strip_prefix(left.as_str());
            below.is_some_and(|below| below.is_empty() || below.starts_with(['/', ' ']))
        })
    }
}

/// Why a text is not a place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScopeError {
    /// It is not a JSON pointer.
    #[error("{0}")]
    Pointer(PointerError),
    /// It is not the name of a place.
    #[error(
        "find the place {place:?}: write a JSON pointer into request bodies (/metadata/run_id), \
         or a place as diff names it (answer/usage, response/headers, step_id, request){}",
        meant.as_ref().map(|meant| format!("; did you mean {meant}?")).unwrap_or_default()
    )]
    Place {
        /// The text that was given.
        place: String,
        /// A known name with a similar spelling.
        meant: Option<String>,
    },
}
