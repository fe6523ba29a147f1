//! Scripts: answers that are given call by call, whatever the request is.
//!
//! A script is a list of calls, each a list of entries. [`Script::parse`] reads one, and rejects
//! what it does not know. Each session walks through the calls with its own cursor, which moves on
//! at every call before the entries are looked at. The answer takes the shape that the client's API
//! needs.

mod entry;
mod notation;
mod read;
mod render;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

pub use notation::{ScriptError, ScriptNotation};
pub use read::value;
pub(super) use render::RenderedResponse;

use entry::{RetryPhase, ScriptEntry};
use loomrec_provider::Provider;
use loomrec_recording::normalized_request::NormalizedRequest;
use read::ScriptParts;

/// A script, and how far each session has come in it.
#[derive(Debug)]
pub struct Script {
    calls: Vec<Vec<ScriptEntry>>,
    retry: Option<RetryPhase>,
    progress: Mutex<Progress>,
}

#[derive(Debug, Default)]
struct Progress {
    unnamed: Cursor,
    named: BTreeMap<String, Cursor>,
    /// The most calls that any session has used up.
    furthest: usize,
}

impl Progress {
    /// Returns the cursor of a session that has made a call.
    fn cursor(&mut self, session: Option<&str>) -> Option<&mut Cursor> {
        match session {
            None => Some(&mut self.unnamed),
            Some(name) => self.named.get_mut(name),
        }
    }
}

/// How far one session has come.
#[derive(Debug, Default)]
struct Cursor {
    /// Calls made.
    made: u64,
    /// Scripted calls used up.
    used: usize,
}

/// The turn of a call in a session.
#[derive(Debug, PartialEq)]
enum Turn {
    /// None yet: the call fails temporarily.
    Later,
    /// The scripted call with this index.
    Call(usize),
    /// The script is used up.
    Over,
}

/// The reason why a script has no answer for a call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoScriptedResponse {
    /// All calls of the script are used up.
    #[error(
        "no scripted response: the script has {calls} calls and this is one more; \
         add a call to it"
    )]
    UsedUp {
        /// How many calls it has.
        calls: usize,
    },
    /// The scripted call cannot answer this request.
    #[error("no scripted response: call {call} of the script cannot answer this: {why}")]
    Unfit {
        /// The number of the scripted call, from 1.
        call: usize,
        /// The reason.
        why: String,
    },
}

/// An answer of a script.
#[derive(Debug)]
pub(super) struct ScriptedResponse {
    pub(super) rendered: RenderedResponse,
    /// The number of the scripted call, from 1; `None` for a temporary failure.
    pub(super) call: Option<usize>,
}

impl Script {
    /// Reads a script.
    ///
    /// # Errors
    /// The text is not a script. The error says which call and entry is wrong, and what was
    /// expected.
    pub fn parse(text: &[u8], notation: ScriptNotation) -> Result<Self, ScriptError> {
        let ScriptParts { calls, retry } = read::script(text, notation)?;
        Ok(Self { calls, retry, progress: Mutex::default() })
    }

    /// Returns the number of its calls.
    pub fn len(&self) -> usize {
        self.calls.len()
    }

    /// Whether it has no calls.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Returns how many of its calls no session has reached.
    pub fn left(&self) -> usize {
        self.with(|progress| self.calls.len() - progress.furthest)
    }

    /// Starts over, for one session or for all.
    pub fn reset(&self, session: Option<&str>) {
        self.with(|progress| match session {
            None => {
                progress.unnamed = Cursor::default();
                progress.named.clear();
            }
            Some(name) => drop(progress.named.remove(name)),
        });
    }

    /// Returns the answer to `observed`. `shape` is the shape of its errors.
    ///
    /// # Errors
    /// The script is used up, or the scripted call cannot answer this request. The call is used up
    /// all the same.
    pub(super) fn answer(
        &self,
        observed: &NormalizedRequest,
        shape: Provider,
    ) -> Result<ScriptedResponse, NoScriptedResponse> {
        let index = match (self.turn(observed.session.as_deref()), &self.retry) {
            (Turn::Later, Some(retry)) => {
                let rendered = RenderedResponse::failure(&retry.failure, observed, shape);
                return Ok(ScriptedResponse { rendered, call: None });
            }
            (Turn::Call(index), _) => index,
            _ => return Err(NoScriptedResponse::UsedUp { calls: self.calls.len() }),
        };
        let call = index + 1;
        match RenderedResponse::of(&self.calls[index], observed, shape, &format!("script#{call}")) {
            Ok(rendered) => Ok(ScriptedResponse { rendered, call: Some(call) }),
            Err(why) => Err(NoScriptedResponse::Unfit { call, why }),
        }
    }

    /// Returns the turn of the next call in a session, and uses it up.
    fn turn(&self, session: Option<&str>) -> Turn {
        self.with(|progress| {
            let cursor = match session {
                None => &mut progress.unnamed,
                Some(name) => progress.named.entry(name.to_owned()).or_default(),
            };
            cursor.made += 1;
            if self.retry.as_ref().is_some_and(|retry| cursor.made < retry.until) {
                return Turn::Later;
            }
            if cursor.used == self.calls.len() {
                return Turn::Over;
            }
            cursor.used += 1;
            progress.furthest = progress.furthest.max(cursor.used);
            Turn::Call(cursor.used - 1)
        })
    }

    /// Gives back call number `call`, from 1, of a session, because it was not answered after all.
    /// It is the next call again, unless the session has gone on since.
    pub fn release(&self, session: Option<&str>, call: usize) {
        self.with(|progress| {
            if let Some(cursor) = progress.cursor(session).filter(|cursor| cursor.used == call) {
                cursor.used -= 1;
                let furthest = progress.named.values().chain([&progress.unnamed]);
                let furthest = furthest.map(|cursor| cursor.used).max();
                if progress.furthest == call {
                    progress.furthest = furthest.unwrap_or(0);
                }
            }
        });
    }

    /// Undoes [`Script::release`].
    pub fn consume(&self, session: Option<&str>, call: usize) {
        self.with(|progress| {
            if let Some(cursor) = progress.cursor(session).filter(|cursor| cursor.used + 1 == call)
            {
                cursor.used = call;
                progress.furthest = progress.furthest.max(call);
            }
        });
    }

    fn with<T>(&self, work: impl FnOnce(&mut Progress) -> T) -> T {
        work(&mut self.progress.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests;
