use serde_json::json;

use super::*;

const STRICT: FieldStyle =
    FieldStyle { place: PlaceForm::Path, null: NullRule::Value, shown: ShownValue::Always };
const TOLERANT: FieldStyle =
    FieldStyle { place: PlaceForm::Pointer, null: NullRule::Absent, shown: ShownValue::Never };

fn reader(value: &Value, style: FieldStyle) -> FieldReader<'_> {
    FieldReader::from_value(value, "", "an object", style).unwrap()
}

#[test]
fn each_type_is_read_as_it_is() {
    let value = json!({ "text": "a", "flag": true, "list": [1], "object": {}, "number": 0.5 });
    let fields = reader(&value, STRICT);
    assert_eq!(fields.read_text("text"), Ok(Some("a".to_owned())));
    assert_eq!(fields.read_flag("flag"), Ok(Some(true)));
    assert_eq!(fields.read_list("list", "a list"), Ok(Some(&[json!(1)][..])));
    assert_eq!(fields.read_object("object", "an object"), Ok(Some(&Map::new())));
    assert_eq!(fields.read_number("number", 0.0..=1.0, "a rate"), Ok(Some(0.5)));
    assert_eq!(fields.read_word("text", &[("a", 1), ("b", 2)]), Ok(Some(1)));
    assert_eq!((fields.read_text("absent"), fields.read_flag("absent")), (Ok(None), Ok(None)));
    assert_eq!(fields.read_word("absent", &[("a", 1)]), Ok(None));
}

#[test]
fn whole_numbers_may_be_written_as_floats_and_digits_may_not() {
    for text in ["3", "3.0", "3e0", "30e-1"] {
        let value = json!({ "n": serde_json::from_str::<Value>(text).unwrap() });
        let fields = reader(&value, STRICT);
        assert_eq!(fields.read_whole_number("n", 0..=3, "a count"), Ok(Some(3)), "{text}");
        assert_eq!(fields.read_integer("n", 0..=3, "a count").is_ok(), text == "3", "{text}");
        assert!(fields.read_whole_number("n", 0..=2, "a count").is_err(), "{text}");
    }
    for text in ["-1", "0.5", "9007199254740994.0", "1e999", "\"3\"", "null"] {
        let value = json!({ "n": serde_json::from_str::<Value>(text).unwrap() });
        assert!(
            reader(&value, STRICT).read_whole_number("n", 0..=u64::MAX, "a count").is_err(),
            "{text}"
        );
    }
    let most = json!({ "n": u64::MAX });
    assert_eq!(
        reader(&most, STRICT).read_whole_number("n", 0..=u64::MAX, "a count"),
        Ok(Some(u64::MAX))
    );
}

#[test]
fn null_is_absent_or_a_value_as_the_style_says() {
    let value = json!({ "a": null });
    assert_eq!(reader(&value, TOLERANT).read_text("a"), Ok(None));
    assert_eq!(reader(&value, TOLERANT).value_or_null("a"), Some(&Value::Null));
    let error = reader(&value, STRICT).read_text("a").unwrap_err();
    assert_eq!(error.to_string(), "a: expected a string, not nothing");
}

#[test]
fn errors_name_the_place_in_the_form_of_the_style() {
    let value = json!({ "a/b~": 1 });
    let Value::Object(map) = &value else { unreachable!() };
    let place = |place, style| FieldReader::new(map, place, style).field_place("a/b~");
    assert_eq!(place("", TOLERANT), "/a~1b~0");
    assert_eq!(place("/x", TOLERANT), "/x/a~1b~0");
    assert_eq!(place("", STRICT), "a/b~");
    assert_eq!(place("x", STRICT), "x.a/b~");
    let error = FieldReader::from_value(&value["a/b~"], "/x", "a plan", TOLERANT).unwrap_err();
    assert_eq!(error.clone().under("/y").to_string(), "/y/x: expected a plan, not a number");
    assert_eq!(error.problem.requirement(), "must be a plan, but is a number");
}

#[test]
fn errors_show_no_more_of_a_value_than_the_style_allows() {
    let long = "é".repeat(61);
    let value = json!({ "n": 5, "s": "secret", "long": long });
    let found = |name, shown| {
        let fields = reader(&value, FieldStyle { shown, ..STRICT });
        match fields.wrong_value(name, "").problem {
            FieldProblem::Unexpected { found, .. } => found,
            other => panic!("{other}"),
        }
    };
    assert_eq!(found("n", ShownValue::Never), "a number");
    assert_eq!(found("n", ShownValue::Number), "5");
    assert_eq!(found("s", ShownValue::Number), "a string");
    assert_eq!(found("s", ShownValue::Always), "\"secret\"");
    assert_eq!(found("long", ShownValue::Always), format!("\"{}\"…", "é".repeat(60)));
    assert_eq!(found("absent", ShownValue::Always), "missing");
    let digits: Value = serde_json::from_str(&"9".repeat(41)).unwrap();
    assert_eq!(shown_value(&digits), "a number of many digits");
    let error = reader(&value, TOLERANT).read_word("s", &[("word", ())]).unwrap_err();
    assert_eq!(error.to_string(), "/s: expected one of word, not another string");
}

#[test]
fn unknown_names_come_with_a_hint_and_all_there_are() {
    let value = json!({ "Max-Ms": "wrod" });
    let error =
        |known| reader(&value, STRICT).refuse_unknown("a plan", known).unwrap_err().to_string();
    let unknown = "Max-Ms: unknown field of a plan, \"Max-Ms\"";
    assert_eq!(
        error(&["max_ms", "name"]),
        format!("{unknown}, did you mean \"max_ms\"?; there are: max_ms, name")
    );
    assert_eq!(error(&["zzz"]), format!("{unknown}; there are: zzz"));
    assert_eq!(error(&[]), format!("{unknown}; none is known"));
    let error = reader(&value, STRICT).refuse_unknown("a plan", &["max_ms"]).unwrap_err();
    let requirement = "is not a field of a plan, did you mean \"max_ms\"?; there are: max_ms";
    assert_eq!(error.problem.requirement(), requirement);
    assert_eq!(reader(&value, STRICT).refuse_unknown("a plan", &["Max-Ms"]), Ok(()));
    let error =
        reader(&value, STRICT).read_word("Max-Ms", &[("word", ()), ("other", ())]).unwrap_err();
    let told = "Max-Ms: unknown word \"wrod\", did you mean \"word\"?; there are: word, other";
    assert_eq!(error.to_string(), told);
}
