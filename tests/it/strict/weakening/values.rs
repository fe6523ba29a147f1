//! The values to try for each flag: by the type of its value, or by its name.

use std::any::TypeId;
use std::path::Path;

use clap::{Arg, ArgAction};

/// A value that could weaken a strict replay, for flags whose type does not give one.
const VALUES: &[(&str, &[&str])] = &[
    ("recordings", &["other.json"]),
    ("script", &["script.json"]),
    ("speed", &["2"]),
    ("pending", &["missed.json"]),
    ("max_age", &["1s"]),
    ("listen", &["127.0.0.1:0", "0.0.0.0:0"]),
    ("public_url", &["http://127.0.0.1:1"]),
    ("tls_cert", &["cert.pem"]),
    ("tls_key", &["key.pem"]),
    ("pass", &["gateway.example"]),
    ("allow_origin", &["http://localhost:3000"]),
    ("upstream", &["openai=http://127.0.0.1:1", "http://127.0.0.1:1"]),
    ("ignore", &["/messages", "/user", "header:openai-beta"]),
    ("identity_header", &["x-tenant"]),
    ("normalize", &["user: umbrella in /city/Paris {{uuid}}"]),
    ("preset", &["aider", "none"]),
    ("credential_param", &["customer"]),
    ("vars", &["city=/city/Oslo"]),
    ("redact", &["Paris|Oslo", ".+"]),
    ("step_id_header", &["x-step"]),
    ("journal", &["journal.jsonl"]),
    ("receipt", &["receipt.json"]),
    ("summary", &["summary.md"]),
    ("max_body", &["1000000"]),
    ("client_timeout", &["20"]),
    ("session_idle", &["1"]),
    ("control_token", &["token"]),
    ("faults", &["plan.json"]),
    ("fault", &[r#"malformed_response;raw="{\"made\":\"up\"}""#, "nowhere=slow:1"]),
    ("seed", &["1"]),
    ("chaos", &["1=slow:1", "1=drop"]),
    ("recovery", &["max_detection_ms=60000"]),
    ("junit", &["junit.xml"]),
    ("virtual_time", &["30s"]),
];

/// More values, for flags whose type gives none.
const MORE: &[(&str, &[&str])] = &[
    ("no_env", &["OPENAI_BASE_URL", "HTTPS_PROXY"]),
    ("log", &["info"]),
    ("config", &["weak.toml"]),
    ("trust", &["0000000000000000000000000000000000000000000000000000000000000000"]),
    ("cmd", &[]),
];

/// Writes the files that the values name.
pub(super) fn write_files(dir: &Path) {
    let write = |name: &str, text: &str| std::fs::write(dir.join(name), text).unwrap();
    let answers = r#"{"calls": [{"content": "made up"}, {"content": "made up"}]}"#;
    write("script.json", answers);
    write(
        "plan.json",
        r#"{"rules": [{"name": "made up", "fault": {"type": "partial_response"}}]}"#,
    );
    write(
        "weak.toml",
        "ignore = [\"/messages\"]\n[replay]\nrepeat = \"cycle\"\nvar = [\"city=/city/Oslo\"]\n",
    );
}

/// Returns the values to try for a flag. Those of a switch are `true`.
pub(super) fn of(arg: &Arg) -> Vec<String> {
    let id = arg.get_id().as_str();
    if matches!(arg.get_action(), ArgAction::SetTrue) {
        return vec!["true".to_owned()];
    }
    let words = arg.get_possible_values();
    if !words.is_empty() {
        return words.iter().map(|word| word.get_name().to_owned()).collect();
    }
    let special = VALUES.iter().chain(MORE).find(|(known, _)| *known == id);
    if let Some((_, values)) = special {
        return values.iter().map(|value| (*value).to_owned()).collect();
    }
    let kind = arg.get_value_parser().type_id();
    let is_number = [TypeId::of::<u64>(), TypeId::of::<u32>(), TypeId::of::<usize>()]
        .iter()
        .any(|number| kind == *number);
    assert!(is_number, "there is no value to try for --{id}: add one to VALUES");
    vec!["1".to_owned()]
}
