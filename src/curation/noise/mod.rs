//! The rules that make the requests of two runs equal.
//!
//! [`NoiseProposal::from_pairs`] looks at pairs of requests that differ. It explains the
//! differences of a text by a rule that is known already, by a frame with holes of known kinds, or
//! by a path that the run was given. It refuses what may have a meaning: words, numbers of no kind,
//! structure, and what has no text of the program around it. Whether the rules are right is decided
//! by the comparison that a replay makes ([`RequestPair::bind`]).

mod aligned_text;
mod carried_ids;
mod difference;
mod explained_text;
mod frame_draft;
mod hole_search;
mod pair_differences;
mod proposal;
mod request_pair;
mod rule_choice;

pub use carried_ids::CarriedIds;
pub use difference::{NoiseRefusal, UnexplainedDifference};
pub use hole_search::kinds_between;
pub use pair_differences::are_of_known_kinds;
pub use proposal::{NoiseProposal, ProposedRule, ProposedValue};
pub use request_pair::{PairedRequest, RequestPair};
