//! The search for the values of a run in a request.

use super::json::Json;
use super::reader;
use super::run_values::{RunValues, ValueForm};
use super::value_finder::ValueFinder;

/// Finds the values of a run in requests. It is made once for a run.
#[derive(Debug, Default)]
pub struct RunValueFinder {
    values: RunValues,
    forms: Vec<ValueForm>,
    finder: Option<ValueFinder>,
}

impl RunValueFinder {
    /// Returns a finder of these values.
    pub fn new(values: RunValues) -> Self {
        let forms = values.forms();
        let texts: Vec<_> = forms.iter().map(|form| (form.text.clone(), form.edge)).collect();
        Self { finder: ValueFinder::new(&texts), values, forms }
    }

    /// Returns the values of which a form is in the strings of a JSON body.
    pub fn in_body(&self, body: &[u8]) -> RunValues {
        let mut found = RunValues::default();
        let Some(finder) = &self.finder else { return found };
        // An escape may hide a text.
        if !finder.is_any_in(body) && !hides_text(body) {
            return found;
        }
        let Ok(body) = reader::parse(body) else { return found };
        each_string(&body, &mut |text| {
            for one in finder.find(text) {
                // Forms of several values may have the same text.
                let text = &self.forms[usize::from(one.text)].text;
                for form in self.forms.iter().filter(|form| form.text == *text) {
                    if let Some(value) = self.values.get(&form.name) {
                        found.set(form.name.clone(), value);
                    }
                }
            }
        });
        found
    }
}

/// Whether a body has escapes of letters, digits or slashes.
pub(super) fn hides_text(body: &[u8]) -> bool {
    memchr::memchr_iter(b'\\', body).any(|at| matches!(body.get(at + 1), Some(b'u' | b'/')))
}

fn each_string(value: &Json<'_>, see: &mut impl FnMut(&str)) {
    match value {
        Json::String(text) => see(&text.as_str()),
        Json::Array(items) => items.iter().for_each(|item| each_string(item, see)),
        Json::Object(members) => members.iter().for_each(|(_, value)| each_string(value, see)),
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}
