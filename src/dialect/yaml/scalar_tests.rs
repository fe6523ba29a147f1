use super::*;

/// Scalars without quotes and the results of PyYAML 6.0.3 (`yaml.safe_load`), as JSON; `!` if JSON
/// cannot represent the result, or PyYAML rejects the scalar. PyYAML reads `=` as null and text
/// that looks like a date as a date. JSON has neither, and both stay texts here.
#[rustfmt::skip]
const PY_YAML_READS: &[(&str, &str)] = &[
    ("1e5", r#""1e5""#),
    ("12e3", r#""12e3""#),
    ("7E2", r#""7E2""#),
    ("1e-3", r#""1e-3""#),
    ("+1e3", r#""+1e3""#),
    ("1.5e3", r#""1.5e3""#),
    ("1.5e+3", "1500.0"),
    ("0o17", r#""0o17""#),
    ("0O17", r#""0O17""#),
    ("1234e567", r#""1234e567""#),
    ("1.0e+400", "!"),
    ("-.inf", "!"),
    (".inf", "!"),
    ("+.INF", "!"),
    (".nan", "!"),
    ("-.nan", r#""-.nan""#),
    ("nan", r#""nan""#),
    ("Infinity", r#""Infinity""#),
    ("0b2", r#""0b2""#),
    ("0b101", "5"),
    ("-0b11", "-3"),
    ("0b_", "!"),
    ("0b", r#""0b""#),
    ("1_000", "1000"),
    ("1__0", "10"),
    ("1_", "1"),
    ("_1", r#""_1""#),
    ("0x", r#""0x""#),
    ("0x1F", "31"),
    ("-0x1f", "-31"),
    ("0X1F", r#""0X1F""#),
    ("0xZ", r#""0xZ""#),
    ("0x_", "!"),
    ("012", "10"),
    ("-012", "-10"),
    ("08", r#""08""#),
    ("09", r#""09""#),
    ("0_7", "7"),
    ("00", "0"),
    ("0", "0"),
    ("-0", "0"),
    ("+0", "0"),
    ("+5", "5"),
    ("-5", "-5"),
    ("1.", "1.0"),
    (".5", "0.5"),
    ("5.", "5.0"),
    ("-.5", r#""-.5""#),
    ("+.5", r#""+.5""#),
    ("1.e+5", "100000.0"),
    ("1.0e+20", "1e+20"),
    ("1e+20", r#""1e+20""#),
    ("1.0E-7", "1e-07"),
    ("1_0.5_0e+1_0", r#""1_0.5_0e+1_0""#),
    ("-0.0", "-0.0"),
    ("0.1000000000000000055511151231257827", "0.1"),
    ("9007199254740993.0", "9007199254740992.0"),
    ("18446744073709551615", "18446744073709551615"),
    ("18446744073709551616", "18446744073709551616"),
    ("123456789012345678901234567890", "123456789012345678901234567890"),
    ("-9223372036854775809", "-9223372036854775809"),
    ("0xffffffffffffffffffffffffffffffff", "340282366920938463463374607431768211455"),
    ("12:30:45", "45045"),
    ("1:2", "62"),
    ("1:60", r#""1:60""#),
    ("190:20:30", "685230"),
    ("-1:30", "-90"),
    ("0:30", r#""0:30""#),
    ("1:30.5", "90.5"),
    ("190:20:30.15", "685230.15"),
    ("1:2:3:4", "223384"),
    ("2024-01-01", r#""2024-01-01""#),
    ("2024-01-01T00:00:00Z", r#""2024-01-01T00:00:00Z""#),
    ("~", "null"),
    ("null", "null"),
    ("Null", "null"),
    ("NULL", "null"),
    ("nULL", r#""nULL""#),
    ("yes", "true"),
    ("Yes", "true"),
    ("YES", "true"),
    ("yEs", r#""yEs""#),
    ("no", "false"),
    ("No", "false"),
    ("NO", "false"),
    ("on", "true"),
    ("On", "true"),
    ("ON", "true"),
    ("oN", r#""oN""#),
    ("off", "false"),
    ("Off", "false"),
    ("OFF", "false"),
    ("y", r#""y""#),
    ("n", r#""n""#),
    ("Y", r#""Y""#),
    ("N", r#""N""#),
    ("true", "true"),
    ("True", "true"),
    ("TRUE", "true"),
    ("tRUE", r#""tRUE""#),
    ("false", "false"),
    ("False", "false"),
    ("FALSE", "false"),
    ("=", r#""=""#),
    ("1,000", r#""1,000""#),
    ("1e5x", r#""1e5x""#),
    ("-x", r#""-x""#),
    ("+x", r#""+x""#),
    (".x", r#"".x""#),
    (".", r#"".""#),
    ("..", r#""..""#),
    ("0.0.0", r#""0.0.0""#),
    ("1.2.3", r#""1.2.3""#),
    ("127.0.0.1", r#""127.0.0.1""#),
    ("1-2", r#""1-2""#),
    ("gpt-4o", r#""gpt-4o""#),
];

#[test]
fn scalar_without_quotes_is_what_py_yaml_reads_in_it() {
    for (text, read) in PY_YAML_READS {
        let wanted = serde_json::from_str::<Value>(read).ok();
        let found = resolve_value(text, ScalarSchema::PyYaml).ok();
        let same = match (&found, &wanted) {
            // Floats are compared as numbers, whatever their spelling.
            (Some(Value::Number(a)), Some(Value::Number(b))) if read.contains(['.', 'e']) => {
                !a.is_i64() && !a.is_u64() && a.as_f64() == b.as_f64()
            }
            _ => found == wanted,
        };
        assert!(same, "{text}: {found:?}, and {wanted:?} by PyYAML");
    }
}

#[test]
fn scalar_without_quotes_is_what_yaml_1_2_and_json_read_in_it() {
    #[rustfmt::skip]
    let read = [
        ("1e5", "100000.0"), ("1e+21", "1e21"), ("0o17", "15"), ("0x1F", "31"), ("012", r#""012""#),
        ("yes", r#""yes""#), ("on", r#""on""#), ("1_000", r#""1_000""#), ("12:30", r#""12:30""#),
        ("18446744073709551616", "18446744073709551616"), ("-0", "0"), ("true", "true"),
        (".5", "0.5"), ("1.2.3", r#""1.2.3""#), ("e5", r#""e5""#), ("", "null"),
    ];
    for (text, read) in read {
        let wanted: Value = serde_json::from_str(read).unwrap();
        let found = resolve_value(text, ScalarSchema::Core).unwrap();
        let same = match (found.as_f64(), wanted.as_f64()) {
            (Some(a), Some(b)) if read.contains(['.', 'e']) => a == b,
            _ => found == wanted,
        };
        assert!(same, "{text}: {found:?}");
    }
    assert_eq!(resolve_value("1e999", ScalarSchema::Core), Err(UnrepresentableNumber));
    assert_eq!(resolve_value("-.inf", ScalarSchema::Core), Err(UnrepresentableNumber));
}
