//! The canonical text against Python's own.

use std::cell::RefCell;

use proptest::prelude::*;

use super::key::chat_key;
use super::oracle::Oracle;
use super::source;
use crate::{canonical, parse, python_float};

fn canonical_of(source: &[u8]) -> Option<String> {
    parse(source).ok().map(|value| canonical::value_text(&value))
}

fn check<S: Strategy>(
    cases: u32,
    strategy: S,
    test: impl Fn(&mut Oracle, S::Value) -> Result<(), TestCaseError>,
) {
    let oracle = RefCell::new(Oracle::start());
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let outcome = runner.run(&strategy, |input| test(&mut oracle.borrow_mut(), input));
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn text_equals_pythons_when_values_are_of_every_shape() {
    check(3000, source::value(), |oracle, text| {
        let expected = oracle.dump(text.as_bytes());
        prop_assert!(expected.is_some(), "Python refused {text:?}");
        prop_assert_eq!(canonical_of(text.as_bytes()), expected, "{}", text);
        Ok(())
    });
}

#[test]
fn text_equals_pythons_when_numbers_are_at_the_edges() {
    check(6000, source::number(), |oracle, text| {
        prop_assert_eq!(canonical_of(text.as_bytes()), oracle.dump(text.as_bytes()), "{}", text);
        Ok(())
    });
}

#[test]
fn reader_takes_what_strict_python_takes_when_input_is_damaged() {
    check(6000, source::mutated(), |oracle, bytes| {
        let lossy = String::from_utf8_lossy(&bytes);
        prop_assert_eq!(canonical_of(&bytes), oracle.dump(&bytes), "{:?}", lossy);
        Ok(())
    });
}

#[test]
fn chat_key_equals_pythons_when_bodies_are_random() {
    check(1500, source::chat_body(), |oracle, text| {
        prop_assert_eq!(Some(chat_key(&text)), oracle.chat(text.as_bytes()), "{}", text);
        Ok(())
    });
}

#[test]
fn text_reads_back_to_itself_when_it_is_canonical_already() {
    check(500, source::value(), |_, text| {
        let once = canonical_of(text.as_bytes()).unwrap_or_default();
        // Python's text of an infinite float is not JSON.
        prop_assume!(!once.contains("Infinity"));
        prop_assert_eq!(canonical_of(once.as_bytes()), Some(once.clone()));
        Ok(())
    });
}

#[test]
fn keys_sort_by_code_point_when_utf16_would_not() {
    let text = canonical_of("{\"😀\":1,\"\u{ffff}\":2,\"\\u0061\":3,\"B\":4}".as_bytes());
    assert_eq!(text.unwrap(), r#"{"B": 4, "a": 3, "\uffff": 2, "\ud83d\ude00": 1}"#);
}

#[test]
fn integer_is_plain_when_python_would_read_it() {
    let mut oracle = Oracle::start();
    for (digits, plain) in [("1".repeat(4300), true), ("1".repeat(4301), false)] {
        for text in [digits.clone(), format!("-{digits}")] {
            assert_eq!(canonical_of(text.as_bytes()), plain.then(|| text.clone()));
            assert_eq!(oracle.dump(text.as_bytes()).is_some(), plain);
        }
        assert!(canonical_of(format!("{digits}.5").as_bytes()).is_some());
    }
}

#[test]
fn float_equals_pythons_when_it_is_a_power_of_two() {
    let mut oracle = Oracle::start();
    let normal = (1..2047_u64).map(|exponent| exponent << 52);
    for bits in (0..52).map(|bit| 1_u64 << bit).chain(normal) {
        // The gaps on the two sides of a power of two differ.
        let power = f64::from_bits(bits);
        for value in [power.next_down(), power, power.next_up(), -power] {
            let exact = format!("{value:e}");
            assert_eq!(Some(python_float(value)), oracle.dump(exact.as_bytes()), "{exact}");
        }
    }
}

#[test]
fn float_equals_pythons_when_it_is_midway_between_two_texts() {
    let mut oracle = Oracle::start();
    for source in
        ["1130000000000000.25", "1130000000000000.75", "4503599627370497.5", "-2251799813685249.75"]
    {
        assert_eq!(canonical_of(source.as_bytes()), oracle.dump(source.as_bytes()), "{source}");
    }
    assert_eq!(python_float(4_520_000_000_000_001.0 / 4.0), "1130000000000000.2");
}

#[test]
fn float_is_pythons_name_when_it_is_not_finite() {
    assert_eq!(python_float(f64::INFINITY), "Infinity");
    assert_eq!(python_float(f64::NEG_INFINITY), "-Infinity");
    assert_eq!(python_float(f64::NAN), "NaN");
    assert_eq!(python_float(-0.0), "-0.0");
    assert_eq!(python_float(1e16), "1e+16");
    assert_eq!(python_float(1843.2), "1843.2");
}
