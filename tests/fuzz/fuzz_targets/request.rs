//! Fuzz target for recorded requests: what a request asks for, its key, and the same after it is
//! read again. The input is a method, a path, a query and headers, one on each line, a blank line,
//! and the body.

#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use loomrec_identity::query::QueryRules;
use loomrec_identity::{IdentityRules, canonical_text, parse};
use loomrec_provider::ResponseFormat;
use loomrec_recording::{Entry, RecordedRequest};

fuzz_target!(|data: &[u8]| -> Corpus {
    let Some(request) = request(data) else { return Corpus::Reject };
    let rules = IdentityRules::default();
    let (call, key) = request.recognise_with_key(&rules);
    assert_eq!(call, request.recognise_call(), "a request always asks for the same");
    assert_eq!(key, request.compute_key(&call, &rules));
    let text = canonical_text(&request.key_parts(&call), &rules);
    // Python writes a number that is too large as `Infinity`, which is not JSON.
    let is_json = parse(&text).is_ok() || text.windows(8).any(|eight| eight == b"Infinity");
    assert!(text.is_ascii() && is_json, "what is hashed is one line of JSON");
    let _ = ResponseFormat::from_call(&call, "upstream", &request.query, &request.body);
    for rules in [QueryRules::KNOWN, QueryRules { is_known: false, named: &[] }] {
        let query = rules.without_credentials(&request.query);
        assert_eq!(
            rules.without_credentials(&query),
            query,
            "nothing is left to be removed from a query"
        );
        assert_eq!(rules.credentials(&query).next(), None, "no credential is left in a query");
    }
    let entry = Entry { request: Some(request), ..Entry::default() };
    let value = serde_json::from_slice(&entry.to_text()).expect("an entry is JSON");
    let again = Entry::parse(&value).expect("an entry is read again").request.expect("is there");
    assert_eq!(again, entry.request.expect("is there"), "a stored request comes back as it was");
    Corpus::Keep
});

fn request(data: &[u8]) -> Option<RecordedRequest> {
    let end = data.windows(2).position(|two| two == b"\n\n")?;
    let head = std::str::from_utf8(&data[..end]).ok()?;
    let mut lines = head.split('\n');
    let (method, path, query) = (lines.next()?, lines.next()?, lines.next()?);
    let header = |line: &str| {
        let (name, value) = line.split_once(':')?;
        Some((name.to_ascii_lowercase(), value.trim().to_owned()))
    };
    Some(RecordedRequest {
        method: method.to_ascii_uppercase(),
        path: path.to_owned(),
        query: query.to_owned(),
        headers: lines.filter_map(header).collect(),
        other_headers: Default::default(),
        packed: None,
        body: data[end + 2..].to_vec().into(),
    })
}
