//! The calls of one session, for its report.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use super::call_record::CallRecord;
use super::journal::line;

/// How many calls are kept.
const KEPT: usize = 1000;

/// The first calls of one session.
#[derive(Debug)]
pub struct SessionCalls {
    /// The name of the session.
    pub session: Arc<str>,
    calls: Mutex<Vec<Arc<CallRecord>>>,
}

impl SessionCalls {
    /// Creates an empty list for the session of this name.
    pub fn new(session: &str) -> Self {
        Self { session: session.into(), calls: Mutex::default() }
    }

    /// Adds a call that is over, unless too many are kept already.
    pub(super) fn add_call(&self, call: Arc<CallRecord>) {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        if calls.len() < KEPT {
            calls.push(call);
        }
    }

    /// Returns the calls in the order of their ends, as lines of the journal without numbers.
    pub fn to_json(&self) -> Value {
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner).clone();
        calls.iter().map(|call| line::from_call(call)).collect()
    }
}
