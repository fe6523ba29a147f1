//! Fuzz target for scripts of answers, in JSON and YAML, and their answers in each provider's
//! format.

#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use loomrec_engine::RunStrictness;
use loomrec_engine::replay::{Latency, Matcher, ReplayEngine};
use loomrec_identity::IdentityRules;
use loomrec_recording::RecordedRequest;
use loomrec_recording::normalized_request::NormalizedRequest;
use loomrec_script::{Script, ScriptNotation};

const ASKED: [(&str, &str); 8] = [
    ("/v1/chat/completions", r#"{"model":"m","messages":[{"role":"user","content":"a"}]}"#),
    ("/v1/chat/completions", r#"{"model":"m","messages":[],"stream":true}"#),
    ("/v1/responses", r#"{"model":"m","input":"a","stream":true}"#),
    ("/v1/messages", r#"{"model":"m","messages":[],"max_tokens":1}"#),
    ("/v1/messages", r#"{"model":"m","messages":[],"max_tokens":1,"stream":true}"#),
    ("/v1beta/models/m:streamGenerateContent", r#"{"contents":[]}"#),
    ("/model/m/converse-stream", r#"{"messages":[]}"#),
    ("/api/chat", r#"{"model":"m","messages":[]}"#),
];

fuzz_target!(|data: &[u8]| -> Corpus {
    let Some((&kind, text)) = data.split_first() else { return Corpus::Reject };
    let notation = if kind % 2 == 0 { ScriptNotation::Json } else { ScriptNotation::Yaml };
    let script = match Script::parse(text, notation) {
        Ok(script) => script,
        Err(error) => {
            assert!(error.to_string().len() < 4096, "what is wrong is said in a few words");
            return Corpus::Keep;
        }
    };
    let calls = script.len() + script.rule_count();
    let replayer = ReplayEngine::new(Matcher::default(), Latency::None).with_script(Some(script));
    let admission = RunStrictness::default().admit_harmless();
    for (path, body) in ASKED {
        replayer.reset(None, admission);
        let request = RecordedRequest {
            method: "POST".to_owned(),
            path: path.to_owned(),
            query: String::new(),
            headers: vec![("content-type".to_owned(), "application/json".to_owned())],
            other_headers: Default::default(),
            packed: None,
            body: body.into(),
        };
        let observed =
            NormalizedRequest::new("any".to_owned(), request, &[IdentityRules::default()]);
        for _ in 0..calls.min(20) {
            answer(&replayer, &observed);
        }
    }
    Corpus::Keep
});

fn answer(replayer: &ReplayEngine, observed: &NormalizedRequest) {
    let shape = observed.call.provider;
    let now = std::time::Instant::now().into();
    let answered = replayer.scripted_answer(observed, shape, now, Default::default());
    if let Some(Ok(scripted)) = answered {
        assert!((100..600).contains(&scripted.response.status().as_u16()));
    }
}
