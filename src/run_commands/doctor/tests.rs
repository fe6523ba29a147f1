use std::collections::BTreeMap;

use super::*;

fn environment(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn found(
    look: fn(&BTreeMap<String, String>, &mut Vec<DoctorFinding>),
    pairs: &[(&str, &str)],
) -> Vec<DoctorFinding> {
    let mut findings = Vec::new();
    look(&environment(pairs), &mut findings);
    findings
}

#[test]
fn credentials_are_never_shown() {
    let all = environment(&[
        ("OPENAI_BASE_URL", "https://user:SECRET@gateway.example.com/v1?key=SECRET"),
        ("OPENAI_API_KEY", "SECRET "),
        ("HTTP_PROXY", "http://user:SECRET@proxy.example.com:8080"),
        ("HTTPS_PROXY", "http://user:SECRET@proxy.example.com:8080"),
        ("GROQ_BASE_URL", "SECRET@:::not an address"),
    ]);
    let mut findings = Vec::new();
    environment::report_base_urls(&all, &mut findings);
    environment::report_keys(&all, &mut findings);
    environment::report_proxies(&all, &mut findings);
    assert!(findings.len() >= 5, "{findings:?}");
    for text in [findings_text(&findings), findings_json(&findings)] {
        assert!(!text.contains("SECRET"), "{text}");
        assert!(text.contains("gateway.example.com"), "{text}");
    }
}

#[test]
fn credentials_are_not_shown_when_the_address_has_no_scheme() {
    let findings = [
        found(
            environment::report_proxies,
            &[("HTTPS_PROXY", "user:SECRET@proxy.example.com:8080")],
        ),
        found(environment::report_base_urls, &[("OLLAMA_HOST", "user:SECRET@127.0.0.1:4141")]),
        found(environment::report_base_urls, &[("OPENAI_BASE_URL", "user:SECRET@[nowhere")]),
    ];
    for finding in findings.iter().flatten() {
        assert!(!finding.text.contains("SECRET"), "{finding:?}");
    }
    assert!(findings[0][0].text.contains("proxy.example.com:8080"), "{findings:?}");
    assert_eq!(findings[2][0].level, FindingLevel::Wrong);
}

#[test]
fn a_proxy_that_takes_local_calls_is_named_unless_they_are_spared() {
    let proxy = ("HTTP_PROXY", "http://proxy.example.com:8080");
    let findings = found(environment::report_proxies, &[proxy]);
    assert_eq!(findings[0].level, FindingLevel::Warning);
    assert!(findings[0].remedy.as_ref().unwrap().contains("NO_PROXY"));
    assert!(
        found(environment::report_proxies, &[proxy, ("no_proxy", "localhost, 127.0.0.1")])
            .is_empty()
    );
    assert!(found(environment::report_proxies, &[("NO_PROXY", "x")]).is_empty());
}

#[test]
fn a_key_with_a_line_break_is_wrong() {
    let findings = found(environment::report_keys, &[("OPENAI_API_KEY", "sk-1\n")]);
    assert_eq!(findings[0].level, FindingLevel::Wrong);
    let findings =
        found(environment::report_keys, &[("OPENAI_API_KEY", "sk-1"), ("GROQ_API_KEY", " ")]);
    assert_eq!((findings.len(), findings[0].level), (1, FindingLevel::Fine));
    assert_eq!(findings[0].text, "set: OPENAI_API_KEY");
}

#[test]
fn both_ways_to_write_anthropics_address_are_told_apart() {
    let level = |url| found(environment::report_base_urls, &[("ANTHROPIC_BASE_URL", url)])[0].level;
    assert_eq!(level("https://api.anthropic.com"), FindingLevel::Fine);
    assert_eq!(level("https://api.anthropic.com/v1/"), FindingLevel::Warning);
    assert_eq!(level("http://[nowhere"), FindingLevel::Wrong);
}

#[test]
fn certificates_that_are_not_there_are_wrong() {
    let findings = found(environment::check_machine, &[("SSL_CERT_FILE", "/no/such/file.pem")]);
    assert_eq!(findings[0].level, FindingLevel::Wrong);
    assert!(findings[0].text.contains("/no/such/file.pem"));
}
