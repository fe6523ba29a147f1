//! Calls whose arguments come in pieces, as Vertex streams them. Each piece names the place of a
//! value by a JSON path. An object without `willContinue` ends the call.

use serde_json::Value;

use crate::operation::ObjectView;

/// The deepest nesting that a path may create.
const DEEPEST: usize = 100;

/// What was done with a part of a chunk.
pub(super) enum PartHandling {
    /// It is not a piece of a call.
    Other(ObjectView),
    /// It continued the open call.
    Continued,
    /// It opens a call, which begins as this part.
    Opened(ObjectView),
    /// It is a piece that fits nowhere.
    Misplaced,
}

/// Takes a part; `open` is the part whose call has not ended yet. Also returns whether a call is
/// open afterwards.
pub(super) fn take_part(
    mut part: ObjectView,
    open: Option<&mut ObjectView>,
) -> (PartHandling, bool) {
    let Some(Value::Object(call)) = part.get_mut("functionCall") else {
        return (PartHandling::Other(part), open.is_some());
    };
    let more = call.shift_remove("willContinue") == Some(Value::Bool(true));
    let named = call.get("name").and_then(Value::as_str).is_some_and(|name| !name.is_empty());
    let pieces = match call.shift_remove("partialArgs") {
        Some(Value::Array(pieces)) => pieces,
        _ => vec![],
    };
    match open {
        Some(open) if !named => {
            let fits = add_pieces(open, pieces);
            for (name, value) in part {
                if name != "functionCall" {
                    open.insert(name, value);
                }
            }
            (if fits { PartHandling::Continued } else { PartHandling::Misplaced }, more)
        }
        // The call before was not ended, or there is no open call to continue.
        Some(_) => (PartHandling::Misplaced, false),
        None if more || !pieces.is_empty() => {
            let fits = add_pieces(&mut part, pieces);
            (if fits { PartHandling::Opened(part) } else { PartHandling::Misplaced }, more)
        }
        None => (PartHandling::Other(part), false),
    }
}

/// Adds pieces to the arguments of a part's call. Returns whether all of them fit.
fn add_pieces(part: &mut ObjectView, pieces: Vec<Value>) -> bool {
    let Some(Value::Object(call)) = part.get_mut("functionCall") else { return false };
    let args = call.entry("args").or_insert_with(|| Value::Object(ObjectView::new()));
    pieces.into_iter().all(|piece| put_piece(args, &piece).is_some())
}

/// Adds one piece at its place: text is appended to text.
fn put_piece(args: &mut Value, piece: &Value) -> Option<()> {
    let steps = parse_path(piece.get("jsonPath")?.as_str()?)?;
    let names = ["stringValue", "numberValue", "boolValue", "structValue", "listValue"];
    let value = match names.iter().find_map(|name| piece.get(*name)) {
        Some(value) => value.clone(),
        None if piece.get("nullValue").is_some() => Value::Null,
        // It only says that more will come.
        None => return Some(()),
    };
    let mut slot = args;
    for step in steps {
        slot = step.enter_value(slot)?;
    }
    match (&mut *slot, value) {
        (Value::String(text), Value::String(more)) => text.push_str(&more),
        (_, value) => *slot = value,
    }
    Some(())
}

/// A step of a path.
enum PathStep<'a> {
    Name(&'a str),
    Index(usize),
}

impl PathStep<'_> {
    /// Returns the place that a step leads to, and creates it if necessary. Lists can only grow by
    /// one element at their end.
    fn enter_value<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value> {
        match self {
            Self::Name(name) => {
                if value.is_null() {
                    *value = Value::Object(ObjectView::new());
                }
                Some(value.as_object_mut()?.entry(*name).or_insert(Value::Null))
            }
            Self::Index(index) => {
                if value.is_null() {
                    *value = Value::Array(vec![]);
                }
                let list = value.as_array_mut()?;
                if *index == list.len() {
                    list.push(Value::Null);
                }
                list.get_mut(*index)
            }
        }
    }
}

/// The steps of a path such as `$.foo.bar[0]['data']`.
fn parse_path(path: &str) -> Option<Vec<PathStep<'_>>> {
    let mut rest = path.strip_prefix('$')?;
    let mut steps = vec![];
    while !rest.is_empty() {
        if steps.len() >= DEEPEST {
            return None;
        }
        if let Some(name) = rest.strip_prefix('.') {
            let end = name.find(['.', '[']).unwrap_or(name.len());
            let (name, behind) = name.split_at(end);
            steps.push(PathStep::Name(Some(name).filter(|name| !name.is_empty())?));
            rest = behind;
            continue;
        }
        let inside = rest.strip_prefix('[')?;
        let quote = inside.chars().next().filter(|first| matches!(first, '\'' | '"'));
        if let Some(quote) = quote {
            let (name, behind) = inside[1..].split_once(quote)?;
            steps.push(PathStep::Name(name));
            rest = behind.strip_prefix(']')?;
        } else {
            let (index, behind) = inside.split_once(']')?;
            steps.push(PathStep::Index(index.parse().ok()?));
            rest = behind;
        }
    }
    (!steps.is_empty()).then_some(steps)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn built(pieces: Value) -> Option<Value> {
        let mut args = json!({});
        for piece in pieces.as_array().unwrap() {
            put_piece(&mut args, piece)?;
        }
        Some(args)
    }

    #[test]
    fn pieces_are_put_where_their_path_leads() {
        let pieces = json!([
            {"jsonPath": "$.place", "stringValue": "New ", "willContinue": true},
            {"jsonPath": "$.place", "stringValue": "Delhi", "willContinue": true},
            {"jsonPath": "$.place", "willContinue": true},
            {"jsonPath": "$.place", "stringValue": ""},
            {"jsonPath": "$.days[0].on", "boolValue": true},
            {"jsonPath": "$.days[1]", "numberValue": 0.5},
            {"jsonPath": "$['a b'][\"c.d\"]", "nullValue": "NULL_VALUE"}
        ]);
        let expected = json!({
            "place": "New Delhi", "days": [{"on": true}, 0.5], "a b": {"c.d": null}
        });
        assert_eq!(built(pieces), Some(expected));
    }

    #[test]
    fn a_path_that_leads_nowhere_is_refused() {
        let deep = format!("$.{}", vec!["a"; 200].join("."));
        for path in
            ["", "x", "$", "$.", "$..a", "$[", "$[x]", "$.a[7]", "$.a[99999999999]", "$['a", &deep]
        {
            let piece = json!([{"jsonPath": path, "stringValue": "x"}]);
            assert_eq!(built(piece), None, "{path}");
        }
        let through = json!([
            {"jsonPath": "$.a", "stringValue": "x"}, {"jsonPath": "$.a.b", "stringValue": "y"}
        ]);
        assert_eq!(built(through), None);
    }
}
