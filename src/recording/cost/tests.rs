use super::*;

fn usage(prompt: u64, completion: u64) -> Usage {
    Usage {
        prompt_tokens: prompt,
        completion_tokens: completion,
        total_tokens: prompt + completion,
        ..Usage::default()
    }
}

#[test]
fn the_builtin_table_parses_and_names_its_date_and_sources() {
    let text = include_str!("../prices.json");
    assert_eq!(PriceTable::parse(text).unwrap(), PriceTable::builtin());
    assert!(PriceTable::builtin().models.len() > 20);
    let file: serde_json::Value = serde_json::from_str(text).unwrap();
    assert!(file["date"].is_string() && file["sources"][0].is_string());
}

#[test]
fn the_price_is_found_when_the_name_is_listed_or_dated() {
    let table = PriceTable::builtin();
    let cost = |model| table.cost(Some("openai"), model, &usage(1_000_000, 100_000));
    assert_eq!(cost("gpt-4o"), Some(3.5));
    assert_eq!(cost("gpt-4o-2024-08-06"), Some(3.5));
    assert_eq!(cost("gpt-4o-2024-05-13"), Some(6.5), "listed by itself");
    assert_eq!(cost("gpt-4o-mini"), Some(0.21));
    assert_eq!(cost("gpt-4o-mini-2024-07-18"), Some(0.21));
    let claude = |model| table.cost(Some("anthropic"), model, &usage(1000, 100));
    assert_eq!(claude("claude-sonnet-4-20250514"), Some(0.0045));
    assert_eq!(claude("claude-sonnet-4@20250514"), Some(0.0045));
    assert_eq!(claude("claude-opus-4-5-20251101"), Some(0.0075));
    assert_eq!(claude("claude-opus-4-1-20250805"), Some(0.0225));
}

#[test]
fn the_price_is_unknown_when_only_the_beginning_matches() {
    let table = PriceTable::builtin();
    for model in [
        "",
        "gpt-4o-audio-preview",
        "gpt-4o-",
        "gpt-4",
        "gpt-4o-2024",
        "gpt-4o-2024-13-06",
        "gpt-4o-20249999",
        "gpt-4o-mini-2024-07-18-x",
        "gpt-4o:2024-08-06",
        "-2024-08-06",
        "gpt-4ö-2024-08-06",
        "ö2024-08-06",
        "@20250514",
    ] {
        assert_eq!(table.cost(None, model, &usage(1, 1)), None, "{model}");
    }
}

#[test]
fn the_price_is_unknown_when_another_upstream_sells_the_model() {
    let table = PriceTable::builtin();
    assert_eq!(table.cost(Some("openrouter"), "gpt-4o", &usage(1, 1)), None);
    assert!(table.cost(None, "gpt-4o", &usage(1, 1)).is_some());
    assert_eq!(table.cost(Some("ollama"), "qwen3", &usage(9, 9)), Some(0.0));
}

#[test]
fn cached_tokens_have_their_own_rates() {
    let table = PriceTable::builtin();
    let told = Usage { cached_tokens: 600, cache_write_tokens: 300, ..usage(1000, 0) };
    // 100 at 3, 600 at 0.30, 300 at 3.75 dollars per million.
    let cost = table.cost(Some("anthropic"), "claude-sonnet-4-5", &told);
    assert_eq!(cost, Some(0.001605));
    let absurd = Usage { cached_tokens: u64::MAX, cache_write_tokens: u64::MAX, ..usage(1000, 0) };
    let cost = table.cost(Some("openai"), "gpt-4o", &absurd);
    assert_eq!(cost, Some(0.00125));
}

#[test]
fn long_prompts_have_their_own_rates() {
    let table = PriceTable::builtin();
    let cost = |prompt| table.cost(Some("gemini"), "gemini-2.5-pro", &usage(prompt, 1000));
    assert_eq!(cost(200_000), Some(0.26));
    assert_eq!(cost(200_001), Some(0.5150025));
}

#[test]
fn costs_are_free_of_float_noise() {
    let table = PriceTable::builtin();
    let cost = table.cost(Some("openai"), "gpt-4o-mini", &usage(3, 1));
    assert_eq!(cost.map(|cost| cost.to_string()).as_deref(), Some("0.00000105"));
}

#[test]
fn a_table_is_refused_when_it_is_wrong() {
    let of = |models: &str| PriceTable::parse(&format!("{{\"models\":[{models}]}}"));
    assert!(of(r#"{"names":["m"],"input":1,"output":2}"#).is_ok());
    let shape = |error| matches!(error, Err(PriceError::Shape { .. }));
    assert!(shape(PriceTable::parse("[]")));
    assert!(shape(PriceTable::parse("")));
    assert!(shape(of(r#"{"names":["m"],"output":2}"#)));
    assert!(shape(of(r#"{"names":["m"],"input":"1"}"#)));
    assert!(shape(of(r#"{"names":["m"],"input":1,"cache_input":1}"#)));
    let rate = of(r#"{"names":["m"],"input":1,"output":-2}"#);
    assert!(matches!(rate, Err(PriceError::Rate { model }) if model == "m"));
    let name = |error| matches!(error, Err(PriceError::Name { .. }));
    assert!(name(of(r#"{"names":[],"input":1}"#)));
    assert!(name(of(r#"{"names":["m","m"],"input":1}"#)));
}

#[test]
fn a_table_of_the_users_own_replaces_the_builtin() {
    let table = PriceTable::parse(r#"{"models":[{"names":["m"],"input":1,"output":2}]}"#).unwrap();
    assert_eq!(table.cost(Some("any"), "m", &usage(500_000, 0)), Some(0.5));
    assert_eq!(table.cost(Some("openai"), "gpt-4o", &usage(1, 1)), None);
}
