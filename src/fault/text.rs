//! The text form of a fault: `type[:value][;field=value]…`, for headers and flags, such as
//! `http_error:429;retry_after=2`.
//!
//! The value after the type's name belongs to the main field of the type. A value that begins with
//! `"` is a JSON string; `headers` and `body` also take JSON; `fault=` takes the whole rest of the
//! text. A text that begins with `{` is the fault as JSON. A status alone, such as `429`, is short
//! for `http_error:429`.

use serde_json::{Map, Value};

use super::form::{self, FaultForm};
use super::kind::Fault;
use loomrec_identity::pointer_token;
use loomrec_identity::typed_field::{FieldError, quoted_text};

impl Fault {
    /// Reads the fault that a line of text declares.
    ///
    /// # Errors
    /// As [`Fault::from_value`], and if the text does not have this form.
    pub fn parse(text: &str) -> Result<Self, FieldError> {
        let (fault, _) = with_rule_words(text, &[])?;
        Self::from_value(&fault)
    }
}

/// How the value of a rule's field is written after a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RuleWord {
    /// A number.
    Number,
    /// A number, or a percentage.
    Rate,
    /// Text, whatever it looks like.
    Text,
}

/// The field of a rule that limits how often its fault happens.
pub(super) const TIMES: (&str, RuleWord) = ("times", RuleWord::Number);
/// The field of a rule that says among which calls that is counted.
pub(super) const PER: (&str, RuleWord) = ("per", RuleWord::Text);
/// The word for `times=1;per=run`.
const ONCE: &str = "once";

/// The fields of a rule that may follow its fault.
type RuleWords = [(&'static str, RuleWord)];

/// Splits `STEP=FAULT`. The step is `None`, for every call, if no step or `*` is named.
///
/// # Errors
/// If the step's name is empty, or is a rate; if a rate stands alone.
pub(super) fn split_step(text: &str) -> Result<(Option<&str>, &str), FieldError> {
    let text = text.trim();
    let Some((step, fault)) = split_assignment(text) else {
        return match text.split(';').next().filter(|head| parse_percentage(head).is_some()) {
            Some(rate) => Err(FieldError::from_reason(
                "",
                format!("{rate} is a rate, and names no fault: give both, as in `429;{rate}`"),
            )),
            None => Ok((None, text)),
        };
    };
    let fault = fault.trim();
    match step.trim() {
        "" => {
            let why = "no step is named before `=`; give `*=` or nothing for every call";
            Err(FieldError::from_reason("", why))
        }
        "*" => Ok((None, fault)),
        step if parse_percentage(step).is_some() => {
            let why = format!(
                "{step} is a rate, not a step: give it behind the fault, as in \
                 `{fault};probability={step}`, or use --chaos"
            );
            Err(FieldError::from_reason("", why))
        }
        step => Ok((Some(step), fault)),
    }
}

/// Reads `10%` as 0.1.
pub(super) fn parse_percentage(text: &str) -> Option<f64> {
    let percent: f64 = text.trim().strip_suffix('%')?.trim_end().parse().ok()?;
    percent.is_finite().then(|| percent / 100.0)
}

/// Splits the text at the `=` after a step: the step, and the fault after it.
fn split_assignment(text: &str) -> Option<(&str, &str)> {
    if begins_with_fault(text) {
        return None;
    }
    let named = text
        .match_indices('=')
        .map(|(at, _)| (&text[..at], &text[at + 1..]))
        .find(|(step, fault)| begins_with_fault(fault) && !step.contains(';'));
    // The fault may be misspelt. It is still split off if no `:` or `;` comes before the `=`.
    named.or_else(|| {
        let (step, fault) = text.split_once('=')?;
        (!step.contains([':', ';'])).then_some((step, fault))
    })
}

/// Whether a text begins like a fault.
fn begins_with_fault(text: &str) -> bool {
    let text = text.trim_start();
    let name = text.split([':', ';']).next().unwrap_or_default().trim_end();
    text.starts_with('{') || is_status(name) || FaultForm::find(name).is_some()
}

/// Whether a word has the form of a status.
fn is_status(word: &str) -> bool {
    word.len() == 3 && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns the JSON object of a fault, and the fields of a rule that follow it, which may be
/// `words`.
pub(super) fn with_rule_words(
    text: &str,
    words: &RuleWords,
) -> Result<(Value, Map<String, Value>), FieldError> {
    let text = text.trim();
    let mut of_rule = Map::new();
    if text.starts_with('{') {
        let fault = serde_json::from_str(text).map_err(|error| {
            FieldError::from_reason("", format!("not a fault in JSON: {error}"))
        })?;
        return Ok((fault, of_rule));
    }
    let (head, mut rest) = match text.split_once(';') {
        Some((head, rest)) => (head, Some(rest)),
        None => (text, None),
    };
    let before_once = head.trim_end().strip_suffix(ONCE).map(str::trim_end);
    let head = match before_once.and_then(|before| before.strip_suffix(':')) {
        Some(head) if words.contains(&TIMES) => {
            of_rule.extend(once_fields());
            head
        }
        _ => head,
    };
    let long = is_status(head.trim()).then(|| format!("http_error:{head}"));
    let head = long.as_deref().unwrap_or(head);
    let (name, primary) = match head.split_once(':') {
        Some((name, primary)) => (name.trim(), Some(primary.trim())),
        None => (head.trim(), None),
    };
    let form = FaultForm::find(name)
        .ok_or_else(|| FieldError::unknown_word("", "fault", name, &FaultForm::all_names()))?;
    let mut object = Map::new();
    object.insert("type".to_owned(), form.name.into());
    if let Some(primary) = primary {
        let Some(field) = form.primary else {
            let known = match form.field_names().as_slice() {
                [] => "it has no field".to_owned(),
                names => format!("its fields follow a `;`: {}", names.join(", ")),
            };
            let why = format!("nothing can follow `{name}:`; {known}");
            return Err(FieldError::from_reason("", why));
        };
        object.insert(field.to_owned(), plain_value(primary));
    }
    while let Some(text) = rest {
        rest = match rule_field(form, text, words, &mut of_rule)? {
            Some(rest) => rest,
            None => read_field(form, text, words, &mut object)?,
        };
    }
    Ok((Value::Object(object), of_rule))
}

/// Returns the fields of a rule that `once` means.
fn once_fields() -> [(String, Value); 2] {
    [(TIMES.0.to_owned(), 1.into()), (PER.0.to_owned(), "run".into())]
}

/// Reads one `field=value` of a rule into `object`, and returns what follows the next `;`. Returns
/// `None` if the text is about the fault. A percentage alone is the probability, and `once` is
/// `times=1;per=run`.
fn rule_field<'a>(
    form: &FaultForm,
    text: &'a str,
    words: &RuleWords,
    object: &mut Map<String, Value>,
) -> Result<Option<Option<&'a str>>, FieldError> {
    let (part, rest) = split_value(text);
    let find = |name: &str| words.iter().find(|(known, _)| *known == name);
    let (name, text) = match part.split_once('=') {
        Some((name, text)) => (name.trim(), text.trim()),
        None if parse_percentage(part).is_some() => ("probability", part),
        None if part == ONCE && words.contains(&TIMES) => {
            return match once_fields().into_iter().find(|(name, _)| object.contains_key(name)) {
                Some((name, _)) => {
                    Err(FieldError::from_reason(pointer_token(&name), "it is given twice"))
                }
                None => {
                    object.extend(once_fields());
                    Ok(Some(rest))
                }
            };
        }
        None => return Ok(None),
    };
    let is_of_fault = form.fields.iter().any(|(known, _)| *known == name);
    let Some((name, word)) = find(name).filter(|_| !is_of_fault) else { return Ok(None) };
    let value = match word {
        RuleWord::Number => plain_value(text),
        RuleWord::Rate => parse_percentage(text).map_or_else(|| plain_value(text), Value::from),
        RuleWord::Text => Value::String(text.to_owned()),
    };
    match object.insert((*name).to_owned(), value) {
        Some(_) => Err(FieldError::from_reason(pointer_token(name), "it is given twice")),
        None => Ok(Some(rest)),
    }
}

/// Reads one `field=value` into `object`, and returns what follows the next `;`.
fn read_field<'a>(
    form: &FaultForm,
    text: &'a str,
    words: &RuleWords,
    object: &mut Map<String, Value>,
) -> Result<Option<&'a str>, FieldError> {
    // A `;` at the end of a line is allowed.
    if text.trim().is_empty() {
        return Ok(None);
    }
    let Some((name, behind)) = text.split_once('=').filter(|(name, _)| !name.contains(';')) else {
        let found = text.split(';').next().unwrap_or_default();
        return Err(FieldError::unexpected("", "field=value after `;`", quoted_text(found.trim())));
    };
    let name = name.trim();
    let Some((_, kind)) = form.fields.iter().find(|(known, _)| *known == name) else {
        let of_rule = words.iter().map(|(word, _)| *word);
        let known: Vec<&str> = form.field_names().into_iter().chain(of_rule).collect();
        return Err(FieldError::unknown_field(pointer_token(name), form.name, name, &known));
    };
    let (value, rest) =
        match kind {
            form::FormValue::Fault => (Value::String(behind.trim().to_owned()), None),
            form::FormValue::Json => read_json_value(behind, &['"', '{', '['])
                .map_err(|e| e.under(&pointer_token(name)))?,
            form::FormValue::Text => read_json_value(behind, &['"'])
                .map_err(|error| error.under(&pointer_token(name)))?,
            form::FormValue::Plain => {
                let (value, rest) = split_value(behind);
                (plain_value(value), rest)
            }
        };
    if object.insert(name.to_owned(), value).is_some() {
        return Err(FieldError::from_reason(pointer_token(name), "it is given twice"));
    }
    Ok(rest)
}

/// Reads a JSON value if it begins with one of `signs`, else text.
fn read_json_value<'a>(
    text: &'a str,
    signs: &[char],
) -> Result<(Value, Option<&'a str>), FieldError> {
    let text = text.trim_start();
    if !text.starts_with(signs) {
        let (value, rest) = split_value(text);
        return Ok((Value::String(value.to_owned()), rest));
    }
    let mut values = serde_json::Deserializer::from_str(text).into_iter();
    let value = match values.next() {
        Some(Ok(value)) => value,
        Some(Err(error)) => return Err(FieldError::from_reason("", format!("not JSON: {error}"))),
        None => Value::Null,
    };
    let behind = text.get(values.byte_offset()..).unwrap_or_default().trim_start();
    match behind.strip_prefix(';') {
        Some(rest) => Ok((value, Some(rest))),
        None if behind.is_empty() => Ok((value, None)),
        None => Err(FieldError::unexpected("", "`;` or the end after JSON", quoted_text(behind))),
    }
}

/// The value before the next `;`, and the rest after it.
fn split_value(text: &str) -> (&str, Option<&str>) {
    match text.split_once(';') {
        Some((value, rest)) => (value.trim(), Some(rest)),
        None => (text.trim(), None),
    }
}

/// A number, `true` or `false`, else a word.
fn plain_value(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(value @ (Value::Bool(_) | Value::Number(_))) => value,
        _ => Value::String(text.to_owned()),
    }
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
