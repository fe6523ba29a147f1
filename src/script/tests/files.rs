//! Tests of scripts that are several files.

use crate::{Script, ScriptBuilder, ScriptNotation};

fn build(files: &[&str]) -> Result<Script, String> {
    let mut builder = ScriptBuilder::default();
    for file in files {
        let added = builder.add_file(file.as_bytes(), ScriptNotation::Json);
        added.map_err(|error| error.to_string())?;
    }
    Ok(Script::new(builder))
}

#[test]
fn rules_of_files_come_in_their_order_and_are_numbered_through() {
    let fixture = |text: &str| {
        let fixture = format!(
            r#"{{"match":{{"userMessage":"{text}","sequenceIndex":0}},"response":{{"content":"{text}"}}}}"#
        );
        format!(r#"{{"fixtures":[{fixture}]}}"#)
    };
    let rule = r#"{"rules":[{"answer":"a"}]}"#;
    let script = build(&[&fixture("a"), rule, &fixture("b"), rule, "[[]]"]).unwrap();
    assert_eq!(script.unused_rules(), ["fixture#1", "rule#1", "fixture#2", "rule#2"]);
    assert_eq!((script.rule_count(), script.len()), (4, 1));
}

#[test]
fn what_only_one_file_can_have_is_refused() {
    let named = r#"{"rules":[{"name":"one","answer":"a"}]}"#;
    let error = build(&[named, named]).unwrap_err();
    assert!(error.contains(r#"another file has a rule named "one": rename one"#), "{error}");
    let error = build(&["[[]]", "[[]]"]).unwrap_err();
    assert!(error.contains("write the calls into one file"), "{error}");
    assert!(build(&[named, "[[]]"]).is_ok());
}
