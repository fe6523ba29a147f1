//! The identity of requests: the exact JSON reader, the canonical text, and the SHA-256 key over
//! it.
//!
//! [`RequestKey::from_parts`] hashes [`RequestParts`] under [`IdentityRules`]. Identity is the
//! whole request, never a substring. Nothing here reads a clock, a file or the network.
//! [`request_delta`] explains, after a miss, what was different.

mod accept;
mod adapter_inputs;
mod asking_member;
mod bound_ids;
mod bound_pieces;
pub mod bound_request;
mod bound_rules;
mod bound_text;
pub mod canonical;
pub mod client_preset;
mod digest;
mod error_chain;
mod explained;
pub mod frame;
pub mod header;
pub mod hole;
pub mod json;
mod json_pointer;
pub mod json_text;
pub mod key;
mod key_reduction;
pub mod likeness;
mod media_type;
pub mod multipart;
pub mod normalize;
mod percent;
mod place;
mod preset_versions;
pub mod printable;
pub mod query;
mod question;
pub mod reader;
pub mod repository_forms;
mod repository_states;
pub mod request_delta;
pub mod request_parts;
mod result_order;
mod rule_place;
pub mod rule_refusal;
pub mod rules;
pub mod run_binding;
mod run_value_finder;
pub mod run_values;
pub mod spelling;
pub mod subprotocol;
pub mod typed_field;
mod value_finder;
mod version_header;

#[cfg(test)]
mod tests;

pub use adapter_inputs::{AdapterInputs, MOST_HASHES};
pub use bound_request::{BoundRequest, BoundValues};
pub use bound_rules::{BoundRules, RequestTexts, ToolResultPlace};
pub use canonical::{canonical_json, python_float};
pub use client_preset::ClientPreset;
pub use digest::{digest_text, sha256_text};
pub use error_chain::error_chain;
pub use frame::{Frame, FrameError};
pub use hole::{HoleComparison, HoleKind};
pub use json::{Json, JsonError, JsonMember};
pub use json_pointer::{JsonPointer, PointerError, pointer_token};
pub use json_text::JsonStr;
pub use key::{RequestKey, canonical_text};
pub use key_reduction::KeyReduction;
pub use media_type::media_type;
pub use normalize::{NormalizeError, NormalizeRule};
pub use place::{PlacePattern, PlaceToken};
pub use query::QueryRules;
pub use reader::parse;
pub use repository_states::RepositoryStates;
pub use request_delta::{RequestDelta, body_deltas, body_distance, request_deltas};
pub use request_parts::{KeyForm, RequestParts};
pub use rule_place::{RulePlace, TextRole};
pub use rules::IdentityRules;
pub use run_binding::{BoundPair, BoundPath, RunBinding, UnclearPath};
pub use run_value_finder::RunValueFinder;
pub use run_values::RunValues;
