use super::super::super::journal::tests::call;
use super::*;

#[test]
fn sums_are_right_whatever_the_order_and_bounded_in_groups() {
    let mut totals = JournalTotals::default();
    for ms in (1..=1000).rev() {
        let more =
            json!({ "total_ms": ms, "input_tokens": 2, "output_tokens": 3, "cost_usd": 0.5 });
        totals.add(&call(&more));
    }
    totals.add(&call(&json!({ "status": 500, "total_ms": 1e9 })));
    totals.add(&call(&json!({ "outcome": "missed", "status": 422, "source": null,
                           "mismatch": { "reason": "drifted" } })));
    let told: Value = serde_json::from_str(&totals.to_json_text()).unwrap();
    assert_eq!((&told["calls"], &told["failed"]), (&json!(1002), &json!(2)));
    assert_eq!((&told["input_tokens"], &told["cost_usd"]), (&json!(2000), &json!(500.0)));
    assert_eq!(told["mismatches"], json!({ "drifted": 1 }));
    assert_eq!(told["sources"], json!({ "none": 1, "recording": 1001 }));
    for (name, exact) in [("p50", 500.0), ("p90", 900.0), ("p99", 990.0)] {
        let near = told["total_ms"][name].as_f64().unwrap();
        assert!((near / exact - 1.0).abs() <= 0.01, "{name}: {near}");
    }
    for model in 0..20_000 {
        totals.add(&call(&json!({ "model": model.to_string(), "outcome": model.to_string() })));
    }
    let told: Value = serde_json::from_str(&totals.to_json_text()).unwrap();
    assert!(told["groups"].as_array().unwrap().len() <= 10_001);
    assert!(told["outcomes"].as_object().unwrap().len() <= 201);
    assert_eq!(told["calls"], 21_002);
}
