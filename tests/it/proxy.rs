//! Tests of proxies in the environment: which calls use one, and what it receives.

use crate::support::loomrec::command;
use crate::support::proxy::ProxyServer;
use crate::support::shape::{chat, chat_answer};
use crate::support::socks::SocksServer;
use crate::support::tls::{Authority, REMOTE_HOST, server_params, trusted_config};
use crate::support::tls_front::TlsFront;
use crate::support::{Answer, Response, Scene, Server, Upstream};

/// A recorder of the upstream at `url`, in this environment.
#[track_caller]
fn recorder(scene: &Scene, url: &str, environment: &[(&str, String)]) -> Server {
    let mut command = command(scene.dir(), &scene.record_args(url, &[]));
    command.args(["--listen", "127.0.0.1:0"]);
    command.env("SSL_CERT_FILE", Authority::trusted().write(scene.dir()));
    Server::spawn(command.envs(environment.iter().map(|(name, value)| (name, value))))
}

/// The answer to one call in this environment.
#[track_caller]
fn answer(url: &str, environment: &[(&str, String)]) -> Response {
    let scene = Scene::new();
    let server = recorder(&scene, url, environment);
    let answer = server.call(&chat("hi"));
    server.stop();
    answer
}

fn upstream(is_tls: bool) -> Upstream {
    Upstream::always_over(is_tls.then(trusted_config), Answer::json(200, chat_answer("Hello")))
}

/// An address of the upstream that only a proxy can resolve.
fn remote(scheme: &str, upstream: &Upstream) -> String {
    format!("{scheme}://{REMOTE_HOST}:{}", upstream.address().port())
}

/// An address of the upstream that is on this machine, but does not look like it.
fn disguised(upstream: &Upstream) -> String {
    format!("http://0.0.0.0:{}", upstream.address().port())
}

#[test]
fn the_credentials_of_a_proxy_go_to_the_proxy_alone() {
    for (scheme, name) in [("http", "HTTP_PROXY"), ("https", "HTTPS_PROXY")] {
        let upstream = upstream(scheme == "https");
        let proxy = ProxyServer::start(upstream.address());
        let address = format!("http://me:p%40ss@{}", proxy.address());
        answer(&remote(scheme, &upstream), &[(name, address)]).expect(200);
        let head = proxy.heads().remove(0);
        assert_eq!(head.all("proxy-authorization"), ["Basic bWU6cEBzcw=="], "{name}");
        if scheme == "https" {
            assert_eq!(upstream.received()[0].header("proxy-authorization"), None);
        }
    }
}

#[test]
fn each_variable_is_read_in_upper_and_in_lower_case() {
    for (scheme, name) in [
        ("http", "http_proxy"),
        ("https", "https_proxy"),
        ("http", "ALL_PROXY"),
        ("https", "all_proxy"),
    ] {
        let upstream = upstream(scheme == "https");
        let proxy = ProxyServer::start(upstream.address());
        answer(&remote(scheme, &upstream), &[(name, proxy.url())]).expect(200);
        assert_eq!(proxy.heads().len(), 1, "{name}");
    }
}

#[test]
fn what_is_left_out_of_proxies_is_called_directly() {
    let upstream = upstream(false);
    let proxy = ProxyServer::start(upstream.address());
    let set = || ("HTTP_PROXY", proxy.url());
    answer(&upstream.url(), &[set()]).expect(200);
    answer(&disguised(&upstream), &[set(), ("NO_PROXY", "a.b, 0.0.0.0/8".to_owned())]).expect(200);
    answer(&disguised(&upstream), &[set(), ("no_proxy", "0.0.0.0".to_owned())]).expect(200);
    answer(&disguised(&upstream), &[set(), ("REQUEST_METHOD", "GET".to_owned())]).expect(200);
    assert_eq!(proxy.heads().len(), 0);
    answer(&disguised(&upstream), &[set()]).expect(200);
    assert_eq!(proxy.heads().len(), 1);
}

/// The error for a proxy that refuses calls.
#[track_caller]
fn refusal(url: &str, environment: &[(&str, String)]) -> String {
    let refused = answer(url, environment).expect(502).text();
    assert!(!refused.contains("p%40ss") && !refused.contains("p@ss"), "{refused}");
    refused
}

#[test]
fn a_proxy_that_refuses_is_named_without_its_credentials() {
    let upstream = upstream(true);
    for (reply, expected) in [
        ("HTTP/1.1 407 Who\r\ncontent-length: 0\r\n\r\n", "proxy authorization required"),
        ("HTTP/1.1 502 No\r\ncontent-length: 0\r\n\r\n", "tunnel error: unsuccessful"),
        ("", "tunnel error: unexpected end of file"),
    ] {
        let proxy = ProxyServer::answering(upstream.address(), reply);
        let address = format!("http://me:p%40ss@{}", proxy.address());
        let refused = refusal(&remote("https", &upstream), &[("HTTPS_PROXY", address)]);
        let named = format!("go through the proxy {}/", proxy.url());
        assert!(refused.contains(&named) && refused.contains(expected), "{refused}");
    }
    assert_eq!(upstream.connections(), 0);
}

#[test]
fn a_certificate_behind_a_tunnel_is_the_upstreams_own_matter() {
    let config = Authority::named("another authority").server_config(&server_params());
    let upstream = Upstream::always_over(Some(config), Answer::json(200, "{}"));
    let proxy = ProxyServer::start(upstream.address());
    let refused = refusal(&remote("https", &upstream), &[("HTTPS_PROXY", proxy.url())]);
    assert!(refused.contains("authority that is not trusted"), "{refused}");
    assert!(!refused.contains("go through the proxy"), "{refused}");
}

#[test]
fn a_proxy_may_be_reached_over_tls() {
    for (scheme, name) in [("http", "HTTP_PROXY"), ("https", "HTTPS_PROXY")] {
        let upstream = upstream(scheme == "https");
        let proxy = ProxyServer::start(upstream.address());
        let front = TlsFront::start(trusted_config(), proxy.address());
        let address = format!("https://{}", front.address());
        answer(&remote(scheme, &upstream), &[(name, address)]).expect(200);
        assert_eq!(proxy.heads().len(), 1, "{name}");
    }
}

#[test]
fn the_certificate_of_a_proxy_is_said_to_be_the_proxys() {
    for (scheme, name) in [("http", "HTTP_PROXY"), ("https", "HTTPS_PROXY")] {
        let upstream = upstream(scheme == "https");
        let config = Authority::named("another authority").server_config(&server_params());
        let front = TlsFront::start(config, upstream.address());
        let address = format!("https://{}", front.address());
        let refused = refusal(&remote(scheme, &upstream), &[(name, address.clone())]);
        let named = format!("go through the proxy {address}/: the server's certificate was issued");
        assert!(refused.contains(&named), "{refused}");
    }
}

#[test]
fn a_socks_proxy_resolves_the_name() {
    for (scheme, socks) in [("http", "socks5h"), ("https", "socks5")] {
        let upstream = upstream(scheme == "https");
        let proxy = SocksServer::start(upstream.address());
        let address = format!("{socks}://me:p%40ss@{}", proxy.address());
        answer(&remote(scheme, &upstream), &[("ALL_PROXY", address)]).expect(200);
        let port = upstream.address().port();
        assert_eq!(proxy.asked(), [format!("me:p@ss {REMOTE_HOST}:{port}")]);
    }
    let upstream = upstream(true);
    let refused =
        refusal(&remote("https", &upstream), &[("ALL_PROXY", "socks4://127.0.0.1:9".to_owned())]);
    assert!(refused.contains("by http, https, socks5 and socks5h only"), "{refused}");
}
