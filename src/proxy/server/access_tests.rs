use http::HeaderName;

use super::*;

/// Returns what a policy decides about a request with these headers.
fn admit(
    policy: &AccessPolicy,
    target: &str,
    headers: &[(&'static str, &str)],
) -> Result<Option<String>, (u16, String)> {
    let pair = |(name, value): &(&'static str, &str)| {
        (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
    };
    let mut map = HeaderMap::new();
    headers.iter().map(pair).for_each(|(name, value)| {
        map.append(name, value);
    });
    let admitted = policy.admit_request(&target.parse().unwrap(), &map);
    admitted
        .map(|origin| origin.map(|origin| origin.to_str().unwrap().to_owned()))
        .map_err(|denial| (denial.status.as_u16(), denial.message))
}

fn policy(hosts: &[&str], origins: &[&str]) -> AccessPolicy {
    let texts = |values: &[&str]| values.iter().map(|v| (*v).to_owned()).collect::<Vec<_>>();
    let listener = "127.0.0.1:4141".parse().ok();
    AccessPolicy::from_flags(texts(hosts), &texts(origins)).unwrap().listening_at(listener)
}

fn status(policy: &AccessPolicy, headers: &[(&'static str, &str)]) -> u16 {
    admit(policy, "/openai/v1/x", headers).map_or_else(|(status, _)| status, |_| 200)
}

#[test]
fn programs_are_admitted_by_any_address_and_by_the_names_that_are_served() {
    let policy = policy(&["loomrec"], &[""]);
    for host in [
        "127.0.0.1:4141",
        "localhost:4141",
        "LOCALHOST",
        "[::1]:9",
        "10.1.2.3:80",
        "loomrec:4141",
        "LoomRec",
    ] {
        assert_eq!(status(&policy, &[("host", host)]), 200, "{host}");
    }
    assert_eq!(status(&policy, &[]), 200);
}

#[test]
fn names_that_lead_here_are_refused_and_what_is_no_host_is_malformed() {
    let policy = policy(&["gateway"], &[]);
    for host in [
        "evil.example",
        "evil.example:4141",
        "localhost.evil.example",
        "loomrec",
        "0.0.0.0:4141",
        "[::]",
        "[::ffff:0:0]:4141",
        "[::ffff:0.0.0.0]",
        "[::ffff:127.0.0.1]:4141",
        "[::FFFF:7f00:2]",
        "[0:0:0:0:0:ffff:10.1.2.3]",
    ] {
        assert_eq!(status(&policy, &[("host", host)]), 403, "{host}");
    }
    for host in ["", "a b", "u@localhost", "localhost/x", "localhost:1:2", "ä"] {
        assert_eq!(status(&policy, &[("host", host)]), 400, "{host}");
    }
    assert_eq!(status(&policy, &[("host", "localhost"), ("host", "localhost")]), 400);
    let (_, why) = admit(&policy, "/x", &[("host", "evil.example:4141")]).unwrap_err();
    assert!(why.contains("--public-url http://evil.example"), "{why}");
}

#[test]
fn pages_are_refused_unless_loomrec_served_them() {
    let policy = policy(&[], &[]);
    let host = ("host", "localhost:4141");
    assert_eq!(status(&policy, &[host, ("origin", "http://localhost:4141")]), 200);
    for origin in [
        "https://evil.example",
        "null",
        "",
        "file://",
        "http://localhost:3000",
        "http://localhost",
        "http://127.0.0.1:4141",
        "http://localhost:4141.evil.example",
        "vscode-webview://1",
    ] {
        assert_eq!(status(&policy, &[host, ("origin", origin)]), 403, "{origin}");
        let (_, why) = admit(&policy, "/x", &[host, ("origin", origin)]).unwrap_err();
        assert!(why.contains(&format!("--allow-origin {origin}")), "{why}");
    }
    let twice = [host, ("origin", "http://localhost:4141"), ("origin", "http://localhost:4141")];
    assert_eq!(status(&policy, &twice), 403);
    for (site, expected) in [
        ("cross-site", 403),
        ("same-site", 403),
        ("other", 403),
        ("same-origin", 200),
        ("none", 200),
    ] {
        assert_eq!(status(&policy, &[host, ("sec-fetch-site", site)]), expected, "{site}");
    }
}

#[test]
fn pages_of_allowed_origins_are_admitted_and_told() {
    let policy = policy(&[], &["http://localhost:3000"]);
    let headers =
        |origin| [("host", "localhost:4141"), ("origin", origin), ("sec-fetch-site", "same-site")];
    let admitted = admit(&policy, "/x", &headers("http://localhost:3000"));
    assert_eq!(admitted, Ok(Some("http://localhost:3000".to_owned())));
    assert!(admit(&policy, "/x", &headers("http://localhost:3001")).is_err());
    let any = self::policy(&[], &["*"]);
    assert_eq!(status(&any, &[("host", "localhost"), ("sec-fetch-site", "cross-site")]), 200);
    assert_eq!(status(&any, &[("host", "evil.example"), ("origin", "http://evil.example")]), 403);
}

#[test]
fn absolute_target_may_be_repeated_in_host_and_no_other_name_may_stand_there() {
    let policy = policy(&[], &[]);
    let target = "http://api.openai.com/v1/x";
    let with = |headers: &[(&'static str, &str)]| {
        admit(&policy, target, headers).map_or_else(|(status, _)| status, |_| 200)
    };
    assert_eq!(with(&[("host", "api.openai.com")]), 200);
    assert_eq!(with(&[("host", "127.0.0.1:4141")]), 200);
    assert_eq!(with(&[("host", "evil.example")]), 403);
    // A page of the upstream's own name is a page like any other.
    assert_eq!(with(&[("host", "api.openai.com"), ("origin", "http://api.openai.com")]), 403);
    let user = admit(&policy, "http://u:p@api.openai.com/v1/x", &[("host", "api.openai.com")]);
    assert_eq!(user.unwrap_err().0, 400);
}

#[test]
fn target_with_a_user_name_is_malformed_also_where_it_names_loomrec() {
    let policy = policy(&["loomrec"], &[]);
    for target in ["http://u:p@127.0.0.1:4141/openai/v1/x", "http://u@loomrec/openai/v1/x"] {
        let (mut parts, ()) = http::Request::post(target).body(()).unwrap().into_parts();
        assert!(!policy.is_for_us(&mut parts), "{target}");
        let denied = policy.admit_request(&parts.uri, &HeaderMap::new()).unwrap_err();
        assert_eq!(denied.status, 400, "{target}");
        assert!(!denied.message.contains("u:p"), "{}", denied.message);
    }
}

#[test]
fn absolute_target_is_ours_only_by_our_address_and_port() {
    let policy = policy(&["loomrec"], &[]);
    let own = |target: &str| policy.is_own_target(&target.parse().unwrap());
    assert!(
        own("127.0.0.1:4141") && own("localhost:4141") && own("[::1]:4141") && own("loomrec:1")
    );
    assert!(!own("127.0.0.1:11434") && !own("localhost") && !own("10.0.0.1:4141"));
    assert!(!own("evil.example:4141") && !own("api.openai.com"));
}
