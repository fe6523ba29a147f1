//! Queries over the calls of a run or a file: search, conversations, the comparison of two calls, a
//! call as a `curl` command.
//!
//! A query that looks through calls is answered in parts, each of bounded work. The page asks for
//! the next part.

use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::inspected_calls::{InspectedCalls, ReadCall, WorkBound};
use super::read_histories::ReadHistories;
use super::{CallError, in_turn};
use loomrec_curation::comparison::{
    self, CallDifference, ComparedSide, DiffScope, ShownDifferences,
};
use loomrec_curation::inspection::{SearchedWords, curl_command};
use loomrec_recording::{Entry, EntryName};

/// The kind of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryKind {
    /// Which calls contain some words.
    Search,
    /// Which call continues which.
    Conversations,
    /// What differs between two calls.
    Compare,
    /// A call as a `curl` command.
    Curl,
}

/// A query over calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallsQuery {
    kind: QueryKind,
    words: Option<SearchedWords>,
    after: u64,
    numbers: Vec<u64>,
}

impl CallsQuery {
    /// Reads a query: `q=WORDS&after=SEQ`, `after=SEQ`, `seq=SEQ,SEQ` or `seq=SEQ`.
    ///
    /// # Errors
    /// A query that does not say enough.
    pub fn from_query(kind: QueryKind, query: &str) -> Result<Self, CallError> {
        let (mut words, mut after, mut numbers) = (None, 0, Vec::new());
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
            let number = |text: &str| text.parse::<u64>().map_err(|_| Self::invalid_query(kind));
            match &*name {
                "q" => words = Some(SearchedWords::from_query(&value).map_err(CallError::Query)?),
                "after" => after = number(&value)?,
                "seq" => {
                    numbers = value.split(',').take(3).map(number).collect::<Result<_, _>>()?;
                }
                _ => {}
            }
        }
        let is_complete = match kind {
            QueryKind::Search => words.is_some(),
            QueryKind::Conversations => true,
            QueryKind::Compare => numbers.len() == 2,
            QueryKind::Curl => numbers.len() == 1,
        };
        let query = Self { kind, words, after, numbers };
        if is_complete { Ok(query) } else { Err(Self::invalid_query(kind)) }
    }

    fn invalid_query(kind: QueryKind) -> CallError {
        let how = match kind {
            QueryKind::Search => "say what to search: ?q=WORDS&after=NUMBER",
            QueryKind::Conversations => "say after which call: ?after=NUMBER",
            QueryKind::Compare => "say which calls: ?seq=NUMBER,NUMBER",
            QueryKind::Curl => "say which call: ?seq=NUMBER",
        };
        CallError::Query(how.to_owned())
    }

    /// Whether it looks through many calls.
    fn looks_through(&self) -> bool {
        matches!(self.kind, QueryKind::Search | QueryKind::Conversations)
    }

    /// Answers it. It may wait for files.
    ///
    /// # Errors
    /// A call that is not there, or of which not enough is known.
    pub fn answer(
        &self,
        calls: &dyn InspectedCalls,
        histories: &Mutex<ReadHistories>,
    ) -> Result<Value, CallError> {
        let number = |at: usize| self.numbers.get(at).copied().unwrap_or_default();
        match (self.kind, &self.words) {
            (QueryKind::Search, Some(words)) => Ok(self.search(words, calls)),
            (QueryKind::Search, None) => Err(Self::invalid_query(self.kind)),
            (QueryKind::Conversations, _) => {
                let mut histories = histories.lock().unwrap_or_else(PoisonError::into_inner);
                Ok(histories.read_on(calls, &mut WorkBound::begin()))
            }
            (QueryKind::Compare, _) => compare_calls(calls, number(0), number(1)),
            (QueryKind::Curl, _) => curl(calls, number(0)),
        }
    }

    /// Returns the numbers of the calls after `after` that contain the words, as far as the search
    /// got.
    fn search(&self, words: &SearchedWords, calls: &dyn InspectedCalls) -> Value {
        let (first, last) = calls.line_bounds();
        let mut bound = WorkBound::begin();
        let (mut at, mut found) = (self.after.max(first.saturating_sub(1)), Vec::new());
        while at < last && bound.has_left() {
            at += 1;
            let Some(ReadCall { line, entry }) = calls.read_call(at) else { continue };
            if words.are_in(&line, entry.as_ref()) {
                found.push(at);
            }
        }
        json!({ "v": 1, "found": found, "after": at, "more": at < last })
    }
}

/// Compares two calls as `loomrec diff` does.
fn compare_calls(calls: &dyn InspectedCalls, one: u64, other: u64) -> Result<Value, CallError> {
    let read = |seq| -> Result<Entry, CallError> {
        let call = calls.read_call(seq).ok_or(CallError::NoLine(seq))?;
        let none = || format!("there is nothing to compare: no request of call {seq} is kept");
        call.into_entry().ok_or_else(|| CallError::Query(none()))
    };
    let (entry, other_entry) = (read(one)?, read(other)?);
    // Two calls of one run never share a step id, so the ids are not compared.
    let name = EntryName::of_key("call").0;
    let (a, b) =
        (ComparedSide::from_entry(&name, &entry), ComparedSide::from_entry(&name, &other_entry));
    let mut scope = DiffScope::default();
    scope.rules = calls.identity_rules();
    let found = comparison::new_differences(&a, &b, &scope, &mut ShownDifferences::default());
    let differences = found.differences.iter().map(CallDifference::to_json);
    Ok(json!({
        "v": 1,
        "a": one,
        "b": other,
        "same": found.is_same(),
        "differences": differences.collect::<Vec<_>>(),
    }))
}

/// Returns the curl command that sends a call again. The error says why a call has no such command.
fn curl(calls: &dyn InspectedCalls, seq: u64) -> Result<Value, CallError> {
    let ReadCall { line, entry } = calls.read_call(seq).ok_or(CallError::NoLine(seq))?;
    let upstream = line.get("upstream").and_then(Value::as_str);
    let written = curl_command(&entry.unwrap_or_default(), upstream);
    Ok(json!({ "v": 1, "command": written.as_ref().ok(), "why_none": written.as_ref().err() }))
}

/// The permits that queries wait for.
#[derive(Clone, Copy, Debug)]
pub struct QueryTurns<'a> {
    /// Those of queries that name calls.
    pub calls: &'a Semaphore,
    /// Those of queries that look through many calls.
    pub scans: &'a Semaphore,
}

/// Answers a query. It waits for its turn, and runs on a thread that may wait for files.
///
/// # Errors
/// A query that does not say enough, or a call of which nothing can be shown.
pub async fn answer_query(
    kind: QueryKind,
    query: &str,
    turns: QueryTurns<'_>,
    answer: impl FnOnce(&CallsQuery) -> Result<Value, CallError> + Send + 'static,
) -> Result<Value, CallError> {
    let query = CallsQuery::from_query(kind, query)?;
    let turns = if query.looks_through() { turns.scans } else { turns.calls };
    in_turn(turns, "answer the query", move || answer(&query)).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn query_says_what_it_needs() {
        let of = CallsQuery::from_query;
        assert!(of(QueryKind::Search, "q=a+b&after=7").is_ok_and(|query| query.after == 7));
        assert_eq!(of(QueryKind::Compare, "seq=3,1").unwrap().numbers, [3, 1]);
        assert_eq!(of(QueryKind::Curl, "seq=3").unwrap().numbers, [3]);
        assert!(of(QueryKind::Conversations, "").is_ok());
        for (kind, wrong) in [
            (QueryKind::Search, ""),
            (QueryKind::Search, "q="),
            (QueryKind::Search, "q=a&after=x"),
            (QueryKind::Compare, "seq=1"),
            (QueryKind::Compare, "seq=1,2,3"),
            (QueryKind::Curl, "seq=1,2"),
            (QueryKind::Curl, "seq=-1"),
        ] {
            let why = of(kind, wrong).unwrap_err().to_string();
            assert!(why.starts_with("say "), "{wrong}: {why}");
        }
    }
}
