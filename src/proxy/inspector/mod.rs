//! The inspector: a page in the browser that shows each call, and the data that it requests.
//!
//! It shows a run (`record`, `replay`) and files in the same way. This module provides what is
//! shown. The server sends it.

pub mod document;
mod earlier;
pub mod file;
mod inspected_calls;
pub mod query;
pub mod questions;
mod read_histories;
mod recent_misses;
pub mod run;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::sync::Semaphore;

pub use inspected_calls::{InspectedCalls, ReadCall};
pub use read_histories::ReadHistories;
pub use recent_misses::RecentMisses;

/// How many calls are looked up at once. Each may hold a large body in memory a few times over.
pub const AT_ONCE: usize = 2;

/// The state that a run keeps for the inspector.
#[derive(Debug)]
pub struct Inspector {
    /// The recordings of the run, as the user named them.
    recordings: Vec<PathBuf>,
    /// The settings that apply to answers besides the recordings, as they were announced.
    in_force: Option<String>,
    /// The requests of recent missed calls.
    pub recent_misses: Arc<RecentMisses>,
    /// One permit is held while a call is looked up.
    pub turns: Semaphore,
    /// The permit is held while many calls are read, so that no lookup of a call waits for them.
    pub question_turn: Semaphore,
    /// What is known of conversations.
    pub histories: Mutex<ReadHistories>,
}

impl Inspector {
    /// Creates the state of a run with these recordings. `in_force` describes the other settings
    /// that apply to answers.
    pub fn new(
        recordings: Vec<PathBuf>,
        in_force: Option<String>,
        recent_misses: Arc<RecentMisses>,
    ) -> Self {
        let (turns, question_turn) = (Semaphore::new(AT_ONCE), Semaphore::new(1));
        let histories = Mutex::default();
        Self { recordings, in_force, recent_misses, turns, question_turn, histories }
    }
}

/// What is shown, as the answer to `run` describes it.
struct InspectedSubject<'a> {
    kind: &'static str,
    mode: Option<&'a str>,
    files: Vec<String>,
    live: bool,
    token_needed: bool,
    calls: Option<u64>,
    in_force: Option<&'a str>,
}

impl InspectedSubject<'_> {
    fn to_json(&self) -> Value {
        json!({
            "v": 1,
            "kind": self.kind,
            "mode": self.mode,
            "version": env!("CARGO_PKG_VERSION"),
            "files": self.files,
            "live": self.live,
            "token_needed": self.token_needed,
            "calls": self.calls,
            "in_force": self.in_force,
        })
    }
}

/// Why nothing can be shown of a call. Messages are for people.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The query names no call.
    #[error("say which call: ?seq=NUMBER, or ?key=ENTRY&take=NUMBER")]
    Unnamed,
    /// The query does not say enough, or more than is possible.
    #[error("{0}")]
    Query(String),
    /// There is no such line any more, or not yet.
    #[error("line {0} is not here any more, or not yet")]
    NoLine(u64),
    /// There is no such take.
    #[error("no recording here holds take {take} of {key:?}")]
    NoTake {
        /// The name of the entry.
        key: String,
        /// The number of the take.
        take: usize,
    },
    /// It could not be read.
    #[error("failed to {0}")]
    Unread(String),
}

/// Which call is requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallSelector {
    /// The call of this line.
    Line(u64),
    /// A take of a recording.
    Take {
        /// The name of the entry.
        key: String,
        /// The number of the take, from 1.
        take: usize,
    },
}

impl CallSelector {
    /// Reads a query.
    ///
    /// # Errors
    /// A query that does not name a call.
    pub fn from_query(query: &str) -> Result<Self, CallError> {
        let (mut seq, mut key, mut take) = (None, None, 1);
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
            let number = || value.parse::<u64>().map_err(|_| CallError::Unnamed);
            match &*name {
                "seq" => seq = Some(number()?),
                "take" => take = number()?,
                "key" => key = Some(value.into_owned()),
                _ => {}
            }
        }
        match (seq, key) {
            (Some(seq), None) => Ok(Self::Line(seq)),
            (None, Some(key)) => {
                Ok(Self::Take { key, take: usize::try_from(take).unwrap_or(usize::MAX) })
            }
            _ => Err(CallError::Unnamed),
        }
    }
}

/// Returns everything about the call that a query names. The lookup waits for its turn, and runs on
/// a thread that may wait for files.
///
/// # Errors
/// A query that does not name a call, or a call of which nothing can be shown.
pub async fn look_up(
    query: &str,
    turns: &Semaphore,
    find: impl FnOnce(&CallSelector) -> Result<Value, CallError> + Send + 'static,
) -> Result<Value, CallError> {
    let which = CallSelector::from_query(query)?;
    in_turn(turns, "look the call up", move || find(&which)).await
}

/// Runs a lookup once a permit is free, on a thread that may wait for files. `what` names the lookup
/// if it fails.
async fn in_turn(
    turns: &Semaphore,
    what: &str,
    find: impl FnOnce() -> Result<Value, CallError> + Send + 'static,
) -> Result<Value, CallError> {
    // The semaphore is never closed, so a permit always comes.
    let _turn = turns.acquire().await;
    let found = tokio::task::spawn_blocking(find).await;
    found.unwrap_or_else(|_| Err(CallError::Unread(what.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_named_by_its_line_or_by_its_take() {
        assert_eq!(CallSelector::from_query("seq=7").unwrap(), CallSelector::Line(7));
        let take = |key: &str, take| CallSelector::Take { key: key.to_owned(), take };
        assert_eq!(CallSelector::from_query("key=plan%20a&take=2").unwrap(), take("plan a", 2));
        assert_eq!(CallSelector::from_query("key=plan").unwrap(), take("plan", 1));
        for wrong in ["", "seq=", "seq=-1", "seq=1&key=a", "key=a&take=x", "other=1"] {
            assert!(CallSelector::from_query(wrong).is_err(), "{wrong}");
        }
    }
}
