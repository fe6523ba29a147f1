//! The layout of a request's body in which a note stands for what an earlier request had already.

use serde_json::Value;

use super::pretty::{BodyLayout, begin_line, close_bracket};
use crate::history::{CarriedParts, LISTS};

/// A member on one line of at most this many bytes is shown, even if it is as before.
const SHORT: usize = 200;

/// The words of the notes.
#[derive(Clone, Copy, Debug)]
pub struct CarriedWords<'w> {
    /// The earlier call, in each note.
    pub earlier: &'w str,
    /// Further words for the note that stands for messages.
    pub hint: &'w str,
}

impl BodyLayout {
    /// Returns the new parts of a body as indented lines, with notes in place of the carried parts;
    /// `None` if it is not a JSON object with an unambiguous meaning, or is too large to be laid
    /// out.
    pub fn new_parts(
        &self,
        bytes: &[u8],
        carried: &CarriedParts,
        words: CarriedWords<'_>,
    ) -> Option<String> {
        if bytes.len() > self.body || loomrec_identity::parse(bytes).is_err() {
            return None;
        }
        let Value::Object(members) = serde_json::from_slice(bytes).ok()? else { return None };
        let mut out = "{".to_owned();
        for (at, (name, value)) in members.iter().enumerate() {
            begin_line(&mut out, at == 0, 1);
            out.push_str(&(self.clean)(&Value::from(name.as_str()).to_string()));
            out.push_str(": ");
            match (carried.carried_elements(name), value) {
                (Some(elements), Value::Array(items)) if elements.contains(&true) => {
                    self.new_elements(&mut out, name, items, elements, words);
                }
                _ => self.write_member(&mut out, value, carried.has_member(name), words),
            }
        }
        close_bracket(&mut out, 0, '}');
        Some(out)
    }

    /// Adds a member: a note if it is carried and longer than a short line.
    fn write_member(
        &self,
        out: &mut String,
        value: &Value,
        is_carried: bool,
        words: CarriedWords<'_>,
    ) {
        let mut text = String::new();
        self.write_value(&mut text, value, 1);
        if is_carried && (text.contains('\n') || text.len() > SHORT) {
            text = format!("… as in {}", words.earlier);
        }
        out.push_str(&text);
    }

    /// Adds the elements of a list, with a note for each run of carried ones.
    fn new_elements(
        &self,
        out: &mut String,
        name: &str,
        items: &[Value],
        elements: &[bool],
        words: CarriedWords<'_>,
    ) {
        out.push('[');
        let mut at = 0;
        let mut follows_note = true;
        for run in elements.chunk_by(|one, other| one == other) {
            let from = at;
            at += run.len();
            if run.first() == Some(&true) {
                begin_line(out, true, 2);
                out.push_str(&carried_note(name, run.len(), words));
                follows_note = true;
                continue;
            }
            for item in items.get(from..at).unwrap_or_default() {
                begin_line(out, follows_note, 2);
                self.write_value(out, item, 2);
                follows_note = false;
            }
        }
        close_bracket(out, 1, ']');
    }
}

/// Returns the note for elements of a list that are as before.
fn carried_note(name: &str, count: usize, words: CarriedWords<'_>) -> String {
    let is_history = LISTS.contains(&name);
    let noun = match (name, is_history) {
        ("input", _) => "item",
        (_, true) => "message",
        _ => "element",
    };
    let many = if count == 1 { "" } else { "s" };
    let hint = if is_history { words.hint } else { "" };
    format!("… {count} {noun}{many} as in {}{hint}", words.earlier)
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use serde_json::json;

    use super::*;
    use crate::history::ContinuedCall;

    const LAYOUT: BodyLayout = BodyLayout {
        body: usize::MAX,
        text: usize::MAX,
        row: usize::MAX,
        clean: |text| Cow::Borrowed(text),
    };

    #[test]
    fn note_stands_for_each_run_of_carried_elements() {
        let say = |text: &str| json!({ "content": text });
        let earlier = json!({
            "model": "m", "tools": [{ "name": "a" }], "system": [say("s"), say("t")],
            "messages": [say("a"), say("b"), say("c"), say("d")],
        });
        let now = json!({
            "model": "m", "tools": [{ "name": "a" }], "system": [say("new"), say("t")],
            "messages": [say("a"), say("B"), say("c"), say("d"), say("e")],
        });
        let (earlier, now) = (earlier.to_string(), now.to_string());
        let call = ContinuedCall { earlier: 0, turn: 2, is_stored: false };
        let carried = CarriedParts::of_bodies(call, earlier.as_bytes(), now.as_bytes()).unwrap();
        let words = CarriedWords { earlier: "k", hint: " (turn 1)" };
        let expected = r#"{
  "model": "m",
  "tools": … as in k,
  "system": [
    {
      "content": "new"
    }
    … 1 element as in k
  ],
  "messages": [
    … 1 message as in k (turn 1)
    {
      "content": "B"
    }
    … 2 messages as in k (turn 1)
    {
      "content": "e"
    }
  ]
}"#;
        assert_eq!(LAYOUT.new_parts(now.as_bytes(), &carried, words).unwrap(), expected);
        assert_eq!(LAYOUT.new_parts(b"[]", &carried, words), None);
        assert_eq!(LAYOUT.new_parts(b"{", &carried, words), None);
    }
}
