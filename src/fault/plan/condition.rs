//! The conditions of a rule: which calls it matches.

use serde_json::{Map, Value, json};

use super::body::{ExpectedValue, LazyBody};
use crate::call_history::CallNumbers;
use crate::fault_counters::OtherNumber;
use crate::field::{fields_of, read_numbers, read_values};
use loomrec_identity::JsonPointer;
use loomrec_identity::typed_field::{FieldError, FieldReader, quoted_text};
use loomrec_provider::{Operation, Provider, RpcMethod};

const FIELDS: [&str; 14] = [
    "step_id",
    "request_hash",
    "upstream",
    "provider",
    "operation",
    "method",
    "tool",
    "model",
    "path",
    "session",
    "call",
    "attempt",
    "connection",
    "body",
];
/// The shortest prefix of a hash that may be given.
const SHORTEST: usize = 4;
const HASH: usize = 64;

/// The conditions of a rule. All that are given must hold; one value of a list is enough. An empty
/// list is no condition.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RuleMatch {
    /// The call's step id.
    pub step_id: Vec<String>,
    /// Prefixes of its key, in lower case.
    pub request_hash: Vec<String>,
    /// The upstream's name.
    pub upstream: Vec<String>,
    /// The provider's name ([`Provider::name`]).
    pub provider: Vec<String>,
    /// The operation's word ([`Operation::as_str`]).
    pub operation: Vec<String>,
    /// The method that it asks for in JSON-RPC.
    pub method: Vec<String>,
    /// The tool that it calls in JSON-RPC.
    pub tool: Vec<String>,
    /// Whether one of `step_id` and `tool` is enough.
    pub step_or_tool: bool,
    /// The model that it requests.
    pub model: Vec<String>,
    /// The path that is sent upstream, without its query.
    pub path: Vec<String>,
    /// The session.
    pub session: Vec<String>,
    /// Which call of its key it is, from 1; of its step, if the rule names steps.
    pub call: Vec<u64>,
    /// Which attempt it is since the key, or the step, was last answered well, from 1.
    pub attempt: Vec<u64>,
    /// The number of its connection, from 1 in the order in which they were accepted.
    pub connection: Vec<u64>,
    /// What its body holds at these places.
    pub body: Vec<(JsonPointer, ExpectedValue)>,
}

/// The properties of a call that rules can match.
#[derive(Debug)]
pub struct CallFacts<'a> {
    /// Its key, in 64 hexadecimal digits.
    pub key: &'a str,
    /// Its step id.
    pub step: Option<&'a str>,
    /// The upstream's name.
    pub upstream: &'a str,
    /// The provider's name.
    pub provider: &'a str,
    /// The operation's word.
    pub operation: &'a str,
    /// What it asks for in JSON-RPC.
    pub rpc: Option<&'a RpcMethod>,
    /// The model that it requests.
    pub model: Option<&'a str>,
    /// The path that is sent upstream.
    pub path: &'a str,
    /// Its session.
    pub session: Option<&'a str>,
    /// Its body.
    pub body: LazyBody<'a>,
    /// Which call of its key it is.
    pub of_key: CallNumbers,
    /// Which call of its step it is, if it has one.
    pub of_step: Option<CallNumbers>,
    /// The number of its connection, from 1.
    pub connection: u64,
}

impl RuleMatch {
    /// Reads the conditions that `value` declares.
    ///
    /// # Errors
    /// If there is an unknown field, a value of the wrong type, an unknown provider or operation, a
    /// number below 1, or an invalid pointer.
    pub fn from_value(value: &Value) -> Result<Self, FieldError> {
        let fields = fields_of(value, "an object of conditions")?;
        fields.refuse_unknown("match", &FIELDS)?;
        Ok(Self {
            step_id: read_words(fields, "step_id")?,
            request_hash: read_hashes(fields)?,
            upstream: read_words(fields, "upstream")?,
            provider: read_known_words(
                fields,
                "provider",
                Provider::ALL.iter().map(|known| known.name()),
            )?,
            operation: read_known_words(
                fields,
                "operation",
                Operation::all().map(Operation::as_str),
            )?,
            method: read_words(fields, "method")?,
            tool: read_words(fields, "tool")?,
            step_or_tool: false,
            model: read_words(fields, "model")?,
            path: read_words(fields, "path")?,
            session: read_words(fields, "session")?,
            call: read_numbers(fields, "call")?,
            attempt: read_numbers(fields, "attempt")?,
            connection: read_numbers(fields, "connection")?,
            body: read_body_values(fields)?,
        })
    }

    /// Whether the rule counts calls by their step: it names steps.
    pub fn counts_by_step(&self) -> bool {
        !self.step_id.is_empty()
    }

    /// Whether the rule matches the call.
    pub fn holds(&self, call: &CallFacts<'_>) -> bool {
        self.other_number(call).is_none() && self.holds_but_for_numbers(call)
    }

    /// Returns the number of the call or attempt for which a rule that matches otherwise does not
    /// hold, if there is one.
    pub(crate) fn other_number(&self, call: &CallFacts<'_>) -> Option<OtherNumber> {
        let numbers = call.of_step.filter(|_| self.counts_by_step()).unwrap_or(call.of_key);
        let asked =
            [("call", &self.call, numbers.call), ("attempt", &self.attempt, numbers.attempt)];
        let mut other =
            asked.into_iter().filter(|(_, asked, is)| !asked.is_empty() && !asked.contains(is));
        let (what, wanted, latest) = other.next()?;
        Some(OtherNumber { what, wanted: wanted.clone(), latest })
    }

    /// Whether the rule matches the call, apart from the number of the call and of the attempt.
    pub(crate) fn holds_but_for_numbers(&self, call: &CallFacts<'_>) -> bool {
        let number = |asked: &[u64], is: u64| asked.is_empty() || asked.contains(&is);
        let word = |asked: &[String], is: Option<&str>| {
            asked.is_empty() || is.is_some_and(|is| asked.iter().any(|asked| asked == is))
        };
        let begins = |asked: &[String], is: &str| {
            asked.is_empty() || asked.iter().any(|asked| is.starts_with(asked))
        };
        let tool = call.rpc.and_then(|method| method.tool.as_deref());
        number(&self.connection, call.connection)
            && self.holds_step_and_tool(word(&self.step_id, call.step), word(&self.tool, tool))
            && begins(&self.request_hash, call.key)
            && word(&self.upstream, Some(call.upstream))
            && word(&self.provider, Some(call.provider))
            && word(&self.operation, Some(call.operation))
            && word(&self.method, call.rpc.map(|method| &*method.name))
            && word(&self.model, call.model)
            && word(&self.path, Some(call.path))
            && word(&self.session, call.session)
            // Last, because only now must the body be read.
            && self.body.iter().all(|(place, expected)| expected.holds_at(place, &call.body))
    }

    fn holds_step_and_tool(&self, step: bool, tool: bool) -> bool {
        if self.step_or_tool { step || tool } else { step && tool }
    }

    /// Whether the rule names requests in JSON-RPC: then it may match other methods than calls of
    /// tools.
    pub(crate) fn names_requests(&self) -> bool {
        let words = [&self.method, &self.path, &self.request_hash];
        words.iter().any(|words| !words.is_empty()) || !self.body.is_empty()
    }

    /// Whether the connection is its only condition. That is known before a request has come.
    pub fn only_connection(&self) -> bool {
        let of_it = Self { connection: self.connection.clone(), ..Self::default() };
        !self.connection.is_empty() && *self == of_it
    }

    /// Whether there is no condition, so that every call matches.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The conditions as they are declared.
    pub fn to_json(&self) -> Value {
        let mut out = Map::new();
        let words = [
            ("step_id", &self.step_id),
            ("request_hash", &self.request_hash),
            ("upstream", &self.upstream),
            ("provider", &self.provider),
            ("operation", &self.operation),
            ("method", &self.method),
            ("tool", &self.tool),
            ("model", &self.model),
            ("path", &self.path),
            ("session", &self.session),
        ];
        for (name, words) in words {
            put_values(&mut out, name, words);
        }
        let numbers =
            [("call", &self.call), ("attempt", &self.attempt), ("connection", &self.connection)];
        for (name, numbers) in numbers {
            put_values(&mut out, name, numbers);
        }
        if !self.body.is_empty() {
            let places = self.body.iter();
            let body: Map<String, Value> =
                places.map(|(place, expected)| (place.to_string(), expected.to_json())).collect();
            out.insert("body".to_owned(), Value::Object(body));
        }
        Value::Object(out)
    }
}

/// A single value as itself, several as a list.
fn put_values<T: Clone + Into<Value>>(out: &mut Map<String, Value>, name: &str, values: &[T]) {
    match values {
        [] => {}
        [one] => drop(out.insert(name.to_owned(), one.clone().into())),
        many => drop(out.insert(
            name.to_owned(),
            json!(many.iter().cloned().map(Into::into).collect::<Vec<Value>>()),
        )),
    }
}

fn read_words(fields: FieldReader<'_>, name: &str) -> Result<Vec<String>, FieldError> {
    let read = |value: &Value| value.as_str().filter(|word| !word.is_empty()).map(str::to_owned);
    read_values(fields, name, "a word, or a list of words", read)
}

fn read_known_words(
    fields: FieldReader<'_>,
    name: &str,
    known: impl Iterator<Item = &'static str>,
) -> Result<Vec<String>, FieldError> {
    let found = read_words(fields, name)?;
    let known: Vec<&str> = known.collect();
    match found.iter().find(|word| !known.contains(&word.as_str())) {
        None => Ok(found),
        Some(word) => Err(FieldError::unknown_word(fields.field_place(name), name, word, &known)),
    }
}

fn read_hashes(fields: FieldReader<'_>) -> Result<Vec<String>, FieldError> {
    let read = |value: &Value| {
        let hash = value.as_str()?.to_ascii_lowercase();
        let fits = (SHORTEST..=HASH).contains(&hash.len());
        (fits && hash.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(hash)
    };
    let expected = "the first 4 to 64 hexadecimal digits of a request's hash";
    read_values(fields, "request_hash", expected, read)
}

fn read_body_values(
    fields: FieldReader<'_>,
) -> Result<Vec<(JsonPointer, ExpectedValue)>, FieldError> {
    let expected = "an object of JSON pointers and values";
    let Some(places) = fields.read_object("body", expected)? else { return Ok(Vec::new()) };
    let read = |(place, value): (&String, &Value)| match JsonPointer::parse(place) {
        Ok(pointer) => Ok((pointer, ExpectedValue::from_value(value))),
        Err(_) => {
            let why = format!(
                "{} is not a JSON pointer to a place in the body, such as /messages/0/content (in \
                 a key, ~ is written ~0 and / is written ~1)",
                quoted_text(place)
            );
            Err(FieldError::from_reason("/body", why))
        }
    };
    places.iter().map(read).collect()
}
