//! Tests of answers that fail under a good status, for each provider and each form of failure: the
//! good take stays, everything that judges an answer says the same, and replay serves the very bytes.
//!
//! [`table`] makes the table in docs/failed-answers.md from what the binary does.

mod call_form;
mod failure_form;
mod other_readers;
mod table;
