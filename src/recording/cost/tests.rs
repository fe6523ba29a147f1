use super::*;

fn usage(prompt: u64, completion: u64) -> TokenUsage {
    TokenUsage {
        prompt_tokens: prompt,
        completion_tokens: completion,
        total_tokens: prompt + completion,
        ..TokenUsage::default()
    }
}

#[test]
fn the_builtin_table_parses_and_names_its_date_and_sources() {
    let text = include_str!("../prices.json");
    assert_eq!(PriceTable::parse(text).unwrap(), PriceTable::built_in());
    assert!(PriceTable::built_in().models.len() > 20);
    let file: serde_json::Value = serde_json::from_str(text).unwrap();
    assert!(file["date"].is_string() && file["sources"][0].is_string());
}

#[test]
fn the_price_is_found_when_the_name_is_listed_or_dated() {
    let table = PriceTable::built_in();
    let cost = |model| table.call_cost(Some("openai"), model, &usage(1_000_000, 100_000));
    assert_eq!(cost("gpt-4o"), Some(3.5));
    assert_eq!(cost("gpt-4o-2024-08-06"), Some(3.5));
    assert_eq!(cost("gpt-4o-2024-05-13"), Some(6.5), "listed by itself");
    assert_eq!(cost("gpt-4o-mini"), Some(0.21));
    assert_eq!(cost("gpt-4o-mini-2024-07-18"), Some(0.21));
    let claude = |model| table.call_cost(Some("anthropic"), model, &usage(1000, 100));
    assert_eq!(claude("claude-sonnet-4-20250514"), Some(0.0045));
    assert_eq!(claude("claude-sonnet-4@20250514"), Some(0.0045));
    assert_eq!(claude("claude-opus-4-5-20251101"), Some(0.0075));
    assert_eq!(claude("claude-opus-4-1-20250805"), Some(0.0225));
}

#[test]
fn the_price_is_unknown_when_only_the_beginning_matches() {
    let table = PriceTable::built_in();
    for model in [
        "",
        "gpt-4o-audio-preview",
        "gpt-4o-",
        "gpt-4.",
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
        assert_eq!(table.call_cost(None, model, &usage(1, 1)), None, "{model}");
    }
}

#[test]
fn the_price_is_unknown_when_another_upstream_sells_the_model() {
    let table = PriceTable::built_in();
    assert_eq!(table.call_cost(Some("openrouter"), "gpt-4o", &usage(1, 1)), None);
    assert!(table.call_cost(None, "gpt-4o", &usage(1, 1)).is_some());
    assert_eq!(table.call_cost(Some("ollama"), "qwen3", &usage(9, 9)), Some(0.0));
}

#[test]
fn cached_tokens_have_their_own_rates() {
    let table = PriceTable::built_in();
    let told = TokenUsage { cached_tokens: 600, cache_write_tokens: 300, ..usage(1000, 0) };
    // 100 at 3, 600 at 0.30, 300 at 3.75 dollars per million.
    let cost = table.call_cost(Some("anthropic"), "claude-sonnet-4-5", &told);
    assert_eq!(cost, Some(0.001605));
    let absurd =
        TokenUsage { cached_tokens: u64::MAX, cache_write_tokens: u64::MAX, ..usage(1000, 0) };
    let cost = table.call_cost(Some("openai"), "gpt-4o", &absurd);
    assert_eq!(cost, Some(0.00125));
}

#[test]
fn long_prompts_have_their_own_rates() {
    let table = PriceTable::built_in();
    let cost = |prompt| table.call_cost(Some("gemini"), "gemini-2.5-pro", &usage(prompt, 1000));
    assert_eq!(cost(200_000), Some(0.26));
    assert_eq!(cost(200_001), Some(0.5150025));
}

#[test]
fn costs_are_free_of_float_noise() {
    let table = PriceTable::built_in();
    let cost = table.call_cost(Some("openai"), "gpt-4o-mini", &usage(3, 1));
    assert_eq!(cost.map(|cost| cost.to_string()).as_deref(), Some("0.00000105"));
}

#[test]
fn reasoning_has_a_rate_of_its_own_where_it_is_priced_apart() {
    let of = |more: &str| {
        let text = format!(r#"{{"models":[{{"names":["m"],"input":1,"output":2{more}}}]}}"#);
        let told = TokenUsage { reasoning_tokens: 300_000, ..usage(0, 1_000_000) };
        PriceTable::parse(&text).unwrap().call_cost(None, "m", &told)
    };
    assert_eq!(of(""), Some(2.0));
    assert_eq!(of(r#","reasoning":4"#), Some(2.6));
}

#[test]
fn a_table_is_refused_with_model_field_and_what_belongs_there() {
    let of = |models: &str| PriceTable::parse(&format!("{{\"models\":[{models}]}}"));
    let said = |models: &str| of(models).unwrap_err().to_string();
    for (models, expected) in [
        (
            r#"{"names":["m"],"output":2}"#,
            "m: `input` must be a number from 0 up, in dollars per million tokens, but is missing",
        ),
        (
            r#"{"names":["m"],"input":"1"}"#,
            "m: `input` must be a number from 0 up, in dollars per million tokens, but is a string",
        ),
        (
            r#"{"names":["m"],"input":1,"output":-2}"#,
            "m: `output` must be a number from 0 up, in dollars per million tokens, but is -2",
        ),
        (r#"{"names":["m"],"input":1e999}"#, "m: `input` must be a number from 0 up"),
        (
            r#"{"names":["m"],"input":1,"reasoning":null}"#,
            "m: `reasoning` must be a number from 0 up",
        ),
        (
            r#"{"names":["m"],"input":1,"cache_input":1}"#,
            "m: `cache_input` is not a field of a price, did you mean \"cached_input\"?; there are: upstream, names, input, output, cached_input, cache_write, reasoning, long",
        ),
        (
            r#"{"names":["m"],"input":1,"long":{"input":1}}"#,
            "m: `long.over` must be a whole number of tokens, but is missing",
        ),
        (r#"{"names":["m"],"input":1,"long":{"over":1,"input":true}}"#, "m: `long.input` must be"),
        (r#"{"names":["m"],"input":1,"long":{"over":1,"input":1}}"#, "m: `long.output` must be"),
        (
            r#"{"names":["m"],"input":1,"long":{"over":1,"input":1,"to":2}}"#,
            "m: `long.to` is not a field",
        ),
        (
            r#"{"names":["m"],"input":1,"long":200000}"#,
            "m: `long` must be an object with `over` and rates, but is 200000",
        ),
        (
            r#"{"names":["m"],"input":1,"upstream":7}"#,
            "m: `upstream` must be an upstream's name, but is 7",
        ),
        (
            r#"{"names":["a"],"input":1},{"input":1}"#,
            "entry 2: `names` must be a list of models' names, but is missing",
        ),
        (r#"{"names":[],"input":1}"#, "entry 1: `names` must be a list"),
        (r#"{"names":["m",1],"input":1}"#, "m: `names` must be a list"),
        (r#"{"names":["m","m"],"input":1}"#, "the name \"m\" must not be empty or given twice"),
        (r#"{"names":["m"],"input":1},{"names":["m"],"input":2}"#, "the name \"m\""),
        (r#"{"names":[""],"input":1}"#, "the name \"\""),
        ("1", "each of `models` must be an object, but is 1"),
    ] {
        assert!(said(models).contains(expected), "{models}: {}", said(models));
    }
}

#[test]
fn a_name_may_stand_under_several_upstreams() {
    let text = r#"{"models":[{"names":["m"],"input":1},
        {"upstream":"u","names":["m"],"input":2}]}"#;
    assert!(PriceTable::parse(text).is_ok());
}

#[test]
fn a_text_that_is_no_table_is_refused_with_what_belongs_there() {
    let said = |text: &str| PriceTable::parse(text).unwrap_err().to_string();
    assert!(said("{\n\"models\": [}").contains("line 2"));
    assert!(said("[]").contains("all of it must be an object"));
    assert!(said("{}").contains("`models` must be a list of prices, but is missing"));
    assert!(
        said(r#"{"models":[],"replace":1}"#).contains("`replace` must be true or false, but is 1")
    );
}

#[test]
fn a_table_of_the_users_own_stands_above_the_builtin() {
    let text = r#"{"models":[{"names":["m"],"input":1},
        {"upstream":"openai","names":["gpt-4o"],"input":7}]}"#;
    let table = PriceTable::with_user_prices(text).unwrap();
    let million = usage(1_000_000, 0);
    assert_eq!(table.call_cost(Some("any"), "m", &million), Some(1.0));
    assert_eq!(table.call_cost(Some("openai"), "gpt-4o", &million), Some(7.0));
    assert_eq!(table.call_cost(Some("openai"), "gpt-4o-2024-08-06", &million), Some(7.0));
    assert_eq!(table.call_cost(Some("openai"), "gpt-4o-mini", &million), Some(0.15));
}

#[test]
fn a_table_of_the_users_own_stands_alone_when_it_says_so() {
    let text = r#"{"replace":true,"models":[{"names":["m"],"input":1,"output":2}]}"#;
    let table = PriceTable::with_user_prices(text).unwrap();
    assert_eq!(table.call_cost(Some("any"), "m", &usage(500_000, 0)), Some(0.5));
    assert_eq!(table.call_cost(Some("openai"), "gpt-4o", &usage(1, 1)), None);
}

#[test]
fn every_upstream_with_prices_is_one_that_is_known_by_name() {
    for price in PriceTable::built_in().models {
        let name = price.upstream.unwrap();
        assert!(loomrec_provider::KnownUpstream::find(&name).is_some(), "{name}");
    }
}

#[test]
fn bedrocks_model_is_priced_by_the_path_which_names_the_region() {
    let table = PriceTable::built_in();
    let asked = "us.anthropic.claude-haiku-4-5-20251001-v1:0";
    let priced = priced_model(Some("bedrock"), Some(asked), Some("claude-haiku-4-5-20251001"));
    assert_eq!(priced, Some(asked));
    let usage = usage(1000, 1000);
    assert_eq!(table.call_cost(Some("bedrock"), asked, &usage), Some(0.0066));
    let arn = format!("arn:aws:bedrock:us-east-1:123456789012:inference-profile/{asked}");
    assert_eq!(table.call_cost(Some("bedrock"), &arn, &usage), Some(0.0066));
    let own = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc";
    assert_eq!(table.call_cost(Some("bedrock"), own, &usage), None);
    let answered = priced_model(Some("openai"), Some("gpt-4o"), Some("gpt-4o-2024-05-13"));
    assert_eq!(answered, Some("gpt-4o-2024-05-13"));
}
