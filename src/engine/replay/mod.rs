//! Replay: answers from recordings, strictly, without access to the network.
//!
//! [`ReplayEngine::find_take`] finds the take for a request, `deliver_take` turns it into a response of
//! the recorded bytes, boundaries and (if asked) times. If there is no take, it returns an
//! [`UnexplainedMiss`], which [`ReplayEngine::explain_miss`] turns into a
//! [`RecordingMismatchError`] that says why.
//!
//! With a [`Script`](loomrec_script::Script), [`ReplayEngine::scripted_answer`] answers what the
//! recordings do not.
//!
//! Of each entry, only what matching and serving need is kept in memory, with its answer ready to
//! be sent. The rest is read again from the recording when a miss is explained. Small entries of a
//! large recording are kept as text, which takes less.

mod absent_take;
mod adapter_entries;
mod adapter_match;
mod asked_form;
mod audio_progress;
mod binding;
pub mod body;
mod bound_requests;
mod call_references;
mod client_hold;
mod client_ids;
mod connection_choice;
mod connection_opening;
mod conversation;
mod decode_room;
mod end_order;
mod end_turn;
pub mod engine;
mod entry_faults;
mod entry_texts;
mod exact_requests;
mod explain;
mod form_change;
mod form_maker;
mod gauss_sequence;
mod group;
mod held_call;
mod in_force;
pub mod latency;
mod load;
mod loaded_entry;
mod loaded_takes;
mod matched_by;
pub mod matcher;
mod message_ids;
mod message_miss;
mod message_order;
pub mod message_script;
pub mod mismatch;
pub mod missed;
mod mode;
mod name_ids;
mod nearest_call;
mod not_stored;
mod order_limits;
mod ordered_call;
mod pool;
mod ready_response;
pub mod reason;
mod recorded_addresses;
mod recorded_ends;
mod recorded_keys;
mod recorded_servers;
mod remedy;
mod replay_terms;
mod session_usage;
mod step_index;
mod superseded;
pub mod take;
mod take_answer;
mod take_delivery;
mod take_name;
mod take_scope;
mod take_usage;
mod tool_results;
mod waiting_connections;

pub use asked_form::AskedForm;
pub use body::ReplayBody;
pub(crate) use connection_choice::WaitingPlace;
pub use conversation::{RefusedConversation, TakeConversation};
pub use end_turn::EndTurn;
pub use engine::{ReplayAnswer, ReplayEngine, ScriptAnswer, WithheldAnswer};
pub use explain::UnexplainedMiss;
pub use gauss_sequence::GaussSequence;
pub use in_force::{FaultyTake, SourceTerms};
pub use latency::Latency;
pub use load::LoadError;
pub use loaded_takes::{LoadedTakes, ReplaySource};
pub use matched_by::MatchedBy;
pub use matcher::{Matcher, TakeMatch};
pub use mismatch::RecordingMismatchError;
pub use missed::MissedRequests;
pub use order_limits::LONGEST_WAIT;
pub use pool::Repeat;
pub use ready_response::ENTRY;
pub use reason::MissReason;
pub use recorded_addresses::RecordedAddresses;
pub use recorded_keys::RecordedKeys;
pub use recorded_servers::RecordedServers;
pub use replay_terms::ReplayTerms;
pub use superseded::superseded_takes;
pub use take::ReplayTake;
