use http::HeaderMap;
use proptest::option::of;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::read::tests::faults as any_fault;

fn read(value: Value) -> ChaosRates {
    ChaosRates::from_value(&value).unwrap()
}

#[track_caller]
fn refused(value: Value, message: &str) {
    assert_eq!(
        ChaosRates::from_value(&value).expect_err("refused").to_string(),
        message,
        "{value}"
    );
}

fn headers(given: &[(&'static str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in given {
        headers.append(*name, value.parse().unwrap());
    }
    headers
}

#[test]
fn rates_are_read_under_either_name() {
    let ours = read(json!({ "drop": 0.5, "malformed": 0, "disconnect": 1, "rate_limit": 0.1 }));
    let theirs = read(json!({
        "dropRate": 0.5, "malformedRate": 0.0, "disconnectRate": 1.0, "rateLimitRate": 0.1,
        "latencyMs": 300,
    }));
    let formed = |rate, form| Some(FormedRate { rate, form });
    assert_eq!(ours.malformed, formed(0.0, ChaosForm::OfProvider));
    assert_eq!(ours.rate_limit, formed(0.1, ChaosForm::OfProvider));
    let expected = ChaosRates {
        malformed: formed(0.0, ChaosForm::Uniform),
        rate_limit: formed(0.1, ChaosForm::Uniform),
        delay_ms: Some(300),
        ..ours
    };
    assert_eq!(theirs, expected);
    let plain = read(json!({ "latency": 0.2 }));
    assert_eq!((plain.latency, plain.latency_ms), (Some(0.2), None));
    let slow = read(json!({ "latency": { "rate": 0.2, "delay_ms": 50 } }));
    assert_eq!((slow.latency, slow.latency_ms), (Some(0.2), Some(50)));
}

#[test]
fn refusal_names_the_place() {
    refused(json!({ "drop": 1.01 }), "/drop: expected a rate, from 0 to 1, not 1.01");
    refused(json!({ "drop": -0.1 }), "/drop: expected a rate, from 0 to 1, not -0.1");
    refused(json!({ "drop": "0.1" }), "/drop: expected a rate, from 0 to 1, not \"0.1\"");
    refused(
        json!({ "drop": 0, "dropRate": 1 }),
        "/dropRate: it cannot be combined with drop: give only one of them",
    );
    refused(
        json!({ "latency": { "rate": 0.5, "delay": 5 } }),
        "/latency/delay: unknown field of latency, \"delay\", did you mean \"delay_ms\"?; \
         there are: rate, delay_ms",
    );
    refused(
        json!({ "faults": [{ "rate": 0.5, "fault": "hang" }, { "rate": 2, "fault": "hang" }] }),
        "/faults/1/rate: expected a rate, from 0 to 1, not 2",
    );
    refused(json!({ "faults": [{ "rate": 1 }] }), "/faults/0/fault: a fault by chance needs it");
    refused(
        json!({ "faults": [{ "rate": 1, "fault": "slow" }] }),
        "/faults/0/fault/delay_ms: slow needs it: milliseconds, such as 5000",
    );
    refused(
        json!({ "faults": [{ "name": "drop", "rate": 1, "fault": "hang" }] }),
        "/faults/0/name: \"drop\" is an action of chaos itself: choose another",
    );
    let twice = json!({ "name": "a", "rate": 1, "fault": "hang" });
    refused(json!({ "faults": [twice, twice] }), "/faults/1/name: another is named \"a\" already");
    refused(
        json!({ "latencyMs": 30_001 }),
        "/latencyMs: expected whole milliseconds, from 0 to 30000, not 30001",
    );
    refused(json!(0.5), "expected an object of rates, not 0.5");
}

#[test]
fn faults_of_one_type_have_names_of_their_own() {
    let rates = read(json!({ "faults": [
        { "rate": 0.1, "fault": "http_error:500" },
        { "rate": 0.1, "fault": "http_error:503" },
        { "rate": 0.1, "fault": "drop" },
    ] }));
    let names: Vec<&str> = rates.faults.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["http_error", "http_error#2", "drop#2"]);
}

#[test]
fn headers_ask_for_rates() {
    let mut others = Vec::new();
    let given = headers(&[
        ("x-loomrec-chaos-drop", " 0.5 "),
        ("x-loomrec-chaos-rate-limit", "0"),
        ("x-loomrec-chaos-latency", "1e-1"),
        ("x-loomrec-chaos-latency-ms", "20"),
        ("x-loomrec-chaos-fault", "0.1=http_error:503"),
        ("x-loomrec-chaos-fault", "0.2=slow;delay_ms=5"),
        ("x-loomrec-fault", "hang"),
        ("authorization", "Bearer x"),
    ]);
    let rates = ChaosRates::from_headers(&given, |name| others.push(name.to_string())).unwrap();
    others.sort();
    assert_eq!(others, ["authorization", "x-loomrec-fault"]);
    let expected = json!({
        "drop": 0.5, "rate_limit": 0.0, "latency": { "rate": 0.1, "delay_ms": 20 },
        "faults": [{ "rate": 0.1, "fault": "http_error:503" }, { "rate": 0.2, "fault": "slow:5" }],
    });
    assert_eq!(rates, read(expected));
}

#[test]
fn uniform_actions_have_their_own_faults_and_wait_first() {
    let rates = read(json!({ "malformedRate": 1, "latencyMs": 20 }));
    let rolled = rates.roll_fault(|_| 0.0).unwrap();
    assert_eq!((rolled.fault, rolled.delay_ms), (Fault::Malformed { whole: true }, 20));
    let rates = read(json!({ "disconnectRate": 1, "rateLimitRate": 1 }));
    assert_eq!(rates.roll_fault(|_| 0.0).unwrap().fault, Fault::RateLimit);
    let rates = read(json!({ "dropRate": 0, "latencyMs": 20 }));
    let expected =
        RolledChaos { fault: Fault::Slow { delay_ms: 20 }, action: "latency", delay_ms: 0 };
    assert_eq!(rates.roll_fault(|_| 0.0), Some(expected));
    assert_eq!(read(json!({ "latencyMs": 0 })).roll_fault(|_| 0.0), None);
    // What is given above decides the form, too.
    let high = read(json!({ "malformedRate": 1 }));
    let low = read(json!({ "malformed": 1, "latencyMs": 5 }));
    let rolled =
        high.layered_over(&low).roll_fault(|_| 0.0).map(|rolled| (rolled.fault, rolled.delay_ms));
    assert_eq!(rolled, Some((Fault::Malformed { whole: true }, 5)));
}

#[test]
fn header_that_cannot_be_is_named() {
    let told = |given: &[(&'static str, &str)]| {
        ChaosRates::from_headers(&headers(given), |_| {}).expect_err("refused").to_string()
    };
    let rate = "a rate, from 0 to 1 or from 0% to 100%";
    for value in ["1.5", "-0.1", "101%", "%", "NaN", "inf", "", "half", "0,5"] {
        let expected = format!("header x-loomrec-chaos-drop: expected {rate}, not {value:?}");
        assert_eq!(told(&[("x-loomrec-chaos-drop", value)]), expected);
    }
    assert_eq!(
        told(&[("x-loomrec-chaos-dorp", "1")]),
        "header x-loomrec-chaos-dorp: unknown action \"dorp\", did you mean \"drop\"?; there are: \
         drop, malformed, disconnect, rate-limit, latency, latency-ms, fault"
    );
    assert_eq!(
        told(&[("x-loomrec-chaos-drop", "1"), ("x-loomrec-chaos-drop", "0")]),
        "header x-loomrec-chaos-drop: it is given twice"
    );
    assert!(told(&[("x-loomrec-chaos-latency-ms", "86400001")]).contains("a day"));
    assert!(told(&[("x-loomrec-chaos-fault", "hang")]).contains("expected RATE=FAULT"));
    assert!(told(&[("x-loomrec-chaos-fault", "0.1=hangg")]).contains("did you mean \"hang\"?"));
}

#[test]
fn actions_are_drawn_in_their_order_until_one_happens() {
    let rates = read(json!({
        "faults": [{ "rate": 0.5, "fault": "hang:1" }],
        "latency": 0.5, "rate_limit": 0.5, "disconnect": 0.5, "malformed": 0.5, "drop": 0.5,
    }));
    let order = ["drop", "malformed", "disconnect", "rate_limit", "latency", "hang"];
    let error = HttpError { status_code: 429, retry_after: Some(1.0), ..HttpError::default() };
    let faults = [
        Fault::Drop,
        Fault::Malformed { whole: false },
        Fault::Disconnect,
        Fault::HttpError(error),
        Fault::Slow { delay_ms: LATENCY_MS },
        Fault::Hang { max_ms: 1 },
    ];
    for (at, (action, fault)) in order.iter().zip(faults).enumerate() {
        let mut asked = Vec::new();
        let rolled = rates.roll_fault(|name| {
            asked.push(name.to_owned());
            if name == *action { 0.49 } else { 0.5 }
        });
        assert_eq!(rolled, Some(RolledChaos { fault, action, delay_ms: 0 }));
        assert_eq!(asked, order[..=at]);
    }
    assert_eq!(rates.roll_fault(|_| 0.5), None);
}

fn rates() -> impl Strategy<Value = ChaosRates> {
    let rate = || of(prop_oneof![Just(0.0), Just(1.0), 0.0..1.0]);
    let form = prop_oneof![Just(ChaosForm::OfProvider), Just(ChaosForm::Uniform)];
    let formed = move || {
        (rate(), form.clone()).prop_map(|(rate, form)| rate.map(|rate| FormedRate { rate, form }))
    };
    let ms = || of(0..9_999_u64);
    let faults = prop::collection::vec((0.0..=1.0, any_fault()), 0..3);
    ((rate(), formed(), rate(), formed()), rate(), (ms(), ms()), faults).prop_map(
        |((drop, malformed, disconnect, rate_limit), latency, (latency_ms, delay_ms), faults)| {
            let mut rates = ChaosRates {
                drop,
                malformed,
                disconnect,
                rate_limit,
                latency,
                latency_ms,
                delay_ms,
                faults: Vec::new(),
            };
            faults.into_iter().for_each(|(rate, fault)| rates.add(rate, fault));
            rates
        },
    )
}

proptest! {
    #[test]
    fn rates_read_back_when_they_are_written(rates in rates()) {
        prop_assert_eq!(ChaosRates::from_value(&rates.to_json()), Ok(rates));
    }

    #[test]
    fn what_is_said_above_stands(high in rates(), low in rates()) {
        let merged = high.layered_over(&low);
        prop_assert_eq!(high.layered_over(&ChaosRates::default()), high.clone());
        prop_assert_eq!(ChaosRates::default().layered_over(&low), low.clone());
        prop_assert_eq!(merged.layered_over(&low), merged.clone());
        prop_assert_eq!(high.layered_over(&merged), merged.clone());
        prop_assert_eq!(merged.drop, high.drop.or(low.drop));
        prop_assert_eq!(merged.latency_ms, high.latency_ms.or(low.latency_ms));
    }

    #[test]
    fn rate_of_one_always_happens_and_of_zero_never(draw in 0.0..=1.0_f64, name in 0..3_usize) {
        let mut rates = ChaosRates::default();
        *[&mut rates.drop, &mut rates.disconnect, &mut rates.latency][name] = Some(0.0);
        prop_assert_eq!(rates.roll_fault(|_| draw), None);
        *[&mut rates.drop, &mut rates.disconnect, &mut rates.latency][name] = Some(1.0);
        prop_assert!(rates.roll_fault(|_| draw).is_some());
    }
}
