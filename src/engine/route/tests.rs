use super::*;

fn routes() -> RouteTable {
    let upstream = |name: &str, base: &str| {
        MountedUpstream::new(name, Url::parse(base).ok(), Provider::OPEN_AI)
    };
    RouteTable {
        named: vec![
            upstream("openai", "https://api.openai.com"),
            upstream("anthropic", "https://api.anthropic.com"),
        ],
        ..RouteTable::default()
    }
}

fn place(routes: &RouteTable, uri: &str) -> Result<Route, RouteError> {
    routes.find_route(&Method::POST, &uri.parse().unwrap(), &HeaderMap::new())
}

#[test]
fn name_and_session_are_taken_off_and_the_rest_is_kept_raw() {
    let place = place(&routes(), "/@a%20b/openai/v1/x%2Fy%3Az?b=%31&a").unwrap();
    assert_eq!(place.upstream, "openai");
    assert_eq!(place.session.as_deref(), Some("a b"));
    assert_eq!((place.path.as_str(), place.query.as_str()), ("/v1/x%2Fy%3Az", "b=%31&a"));
}

#[test]
fn upstream_of_a_routed_call_is_marked_as_used() {
    let routes = routes();
    let copy = routes.clone();
    place(&routes, "/anthropic/v1/messages").unwrap();
    place(&routes, "/nowhere").unwrap_err();
    let used = |routes: &RouteTable| routes.named.iter().map(|one| one.is_used()).collect();
    let both: [Vec<bool>; 2] = [used(&routes), used(&copy)];
    assert_eq!(both, [[false, true], [false, true]]);
}

#[test]
fn host_tells_the_upstream_of_a_connection() {
    let gateway = MountedUpstream::new("gateway", Url::parse("http://gw").ok(), Provider::UNKNOWN);
    let mut routes = routes();
    routes.named.push(gateway);
    routes.single = Url::parse("https://all.example:8443/llm").ok();
    for (host, port, expected) in [
        ("API.openai.com", 443, Some("openai")),
        ("GW", 80, Some("gateway")),
        ("gw", 443, None),
        ("all.example", 8443, Some(UNNAMED)),
        ("all.example", 443, None),
        ("openai.com", 443, None),
    ] {
        let target = format!("{host}:{port}").parse().unwrap();
        assert_eq!(routes.own_upstream_at_host(&target), expected, "{target}");
    }
}

#[test]
fn shape_tells_when_the_first_segment_does_not() {
    let place = place(&routes(), "/v1/chat/completions").unwrap();
    assert_eq!((place.upstream.as_str(), place.path.as_str()), ("openai", "/v1/chat/completions"));
}

#[test]
fn single_upstream_takes_unprefixed_paths_and_keeps_the_name_of_their_shape() {
    let mut routes = routes();
    routes.single = Url::parse("http://127.0.0.1:9").ok();
    let chat = place(&routes, "/v1/chat/completions").unwrap();
    assert_eq!(
        (chat.upstream.as_str(), routes.upstream_address(&chat)),
        ("openai", routes.single.as_ref())
    );
    assert_eq!(place(&routes, "/what/ever").unwrap().upstream, UNNAMED);
}

#[test]
fn absolute_form_is_placed_by_its_host_alone() {
    let by_host = place(&routes(), "http://api.openai.com/v1/anything").unwrap();
    assert_eq!((by_host.upstream.as_str(), by_host.path.as_str()), ("openai", "/v1/anything"));
    let mounted = place(&routes(), "http://API.anthropic.com:443/openai/v1/x").unwrap();
    assert_eq!((mounted.upstream.as_str(), mounted.path.as_str()), ("anthropic", "/openai/v1/x"));
    for target in [
        "http://evil.example/openai/v1/x",
        "http://127.0.0.1:4141/openai/v1/x",
        "http://api.openai.com.evil.example/openai/v1/x",
        "http://api.openai.com:8080/openai/v1/x",
    ] {
        let error = place(&routes(), target).unwrap_err();
        assert!(matches!(error, RouteError::Host { .. }), "{target}: {error}");
    }
}

#[test]
fn absolute_form_to_a_host_that_is_no_upstream_is_not_placed_by_its_shape() {
    let chat = "http://gateway.internal/v1/chat/completions";
    let error = place(&routes(), chat).unwrap_err().to_string();
    assert!(error.contains("gateway.internal"), "{error}");
    let mut single = routes();
    single.single = Url::parse("http://gateway.internal").ok();
    assert!(place(&single, chat).is_ok());
}

#[test]
fn absolute_form_with_a_public_host_reaches_a_repointed_upstream() {
    let mut routes = routes();
    routes.named[0].base = Url::parse("http://127.0.0.1:9").ok();
    let place = place(&routes, "http://api.openai.com/v1/anything").unwrap();
    let base = routes.named[0].base.as_ref();
    assert_eq!((place.upstream.as_str(), routes.upstream_address(&place)), ("openai", base));
}

#[test]
fn absolute_form_for_a_host_that_is_no_upstream_is_never_placed_by_its_shape() {
    let mut routes = routes();
    routes.single = Url::parse("http://127.0.0.1:9").ok();
    let error = place(&routes, "http://gateway.test:81/v1/chat/completions").unwrap_err();
    assert!(error.to_string().contains("--upstream NAME=http://gateway.test:81"), "{error}");
}

#[test]
fn unplaced_path_names_the_upstreams() {
    let error = place(&routes(), "/what/ever").unwrap_err().to_string();
    assert!(error.contains("openai, anthropic"), "{error}");
}

#[test]
fn absolute_form_is_placed_below_the_path_of_an_address() {
    let mut routes = routes();
    let llm = |name: &str, base: &str| {
        MountedUpstream::new(name, Url::parse(base).ok(), Provider::UNKNOWN)
    };
    routes.named.push(llm("gw", "https://gw.example/llm"));
    routes.named.push(llm("gw-v2", "https://gw.example/llm/v2/"));
    for (target, upstream, path) in [
        ("https://gw.example/llm/x?a=b", "gw", "/x"),
        ("https://gw.example/llm/v2/x", "gw-v2", "/x"),
        ("https://gw.example/llm/v22/x", "gw", "/v22/x"),
        ("https://gw.example/llm", "gw", "/"),
    ] {
        let place = place(&routes, target).unwrap();
        assert_eq!((place.upstream.as_str(), place.path.as_str()), (upstream, path), "{target}");
    }
    let error = place(&routes, "https://gw.example/other/x").unwrap_err().to_string();
    assert!(error.ends_with("add one with --upstream NAME=https://gw.example"), "{error}");
    assert!(routes.has_upstream_at(&"gw.example:443".parse().unwrap()));
    assert!(!routes.has_upstream_at(&"gw.example:8443".parse().unwrap()));
}

#[test]
fn upstreams_of_hosts_are_named_by_absolute_targets_alone() {
    let mut routes = routes();
    routes.named.push(MountedUpstream::new("azure", None, Provider::OPEN_AI));
    for host in ["one.openai.azure.com", "two.openai.azure.com"] {
        let base = Url::parse(&format!("https://{host}")).ok();
        routes.by_host.push(MountedUpstream::new("azure", base, Provider::OPEN_AI));
    }
    for host in ["one.openai.azure.com", "two.openai.azure.com"] {
        let place = place(&routes, &format!("https://{host}/openai/x")).unwrap();
        assert_eq!((place.upstream.as_str(), place.path.as_str()), ("azure", "/openai/x"));
        // Its calls go to the host that the program named.
        assert_eq!(routes.upstream_address(&place).and_then(Url::host_str), Some(host));
    }
    let mounted = place(&routes, "/azure/openai/x").unwrap();
    assert_eq!((mounted.upstream.as_str(), routes.upstream_address(&mounted)), ("azure", None));
}

#[test]
fn given_upstream_of_a_provider_has_the_host_of_that_provider() {
    let mut routes = routes();
    let chatgpt = || Authority::from_static("chatgpt.com:443");
    assert!(!routes.has_upstream_at(&chatgpt()));
    let here = Url::parse("http://127.0.0.1:9").ok();
    routes.named.push(MountedUpstream::new("chatgpt", here, Provider::OPEN_AI));
    assert!(routes.has_upstream_at(&chatgpt()));
    assert!(!routes.has_upstream_at(&Authority::from_static("chatgpt.com:8443")));
    assert!(!routes.has_upstream_at(&Authority::from_static("notchatgpt.com")));
    let place = place(&routes, "https://chatgpt.com/backend-api/x").unwrap();
    assert_eq!((place.upstream.as_str(), place.path.as_str()), ("chatgpt", "/backend-api/x"));
    assert_eq!(routes.upstream_address(&place).and_then(Url::port), Some(9));
}

#[test]
fn given_upstream_of_a_provider_has_none_of_the_hosts_of_its_regions_and_customers() {
    let mut routes = routes();
    let own = "aaa.endpoints.huggingface.cloud";
    for (name, base) in [
        ("huggingface-inference", Some(format!("https://{own}"))),
        ("elevenlabs", None),
        ("azure-ai", Some("http://127.0.0.1:9".to_owned())),
    ] {
        let base = base.and_then(|base| Url::parse(&base).ok());
        routes.named.push(MountedUpstream::new(name, base, Provider::UNKNOWN));
    }
    for (host, is_here) in [
        (own, true),
        ("bbb.endpoints.huggingface.cloud", false),
        ("api-inference.huggingface.co", true),
        ("api.elevenlabs.io", true),
        ("API.elevenlabs.io", true),
        ("api.eu.residency.elevenlabs.io", false),
        ("mine.models.ai.azure.com", false),
    ] {
        let target = format!("{host}:443").parse().unwrap();
        assert_eq!(routes.has_upstream_at(&target), is_here, "{host}");
        assert_eq!(place(&routes, &format!("https://{host}/x")).is_ok(), is_here, "{host}");
    }
}
