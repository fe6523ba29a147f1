//! Tests of TLS failures: every message says what is wrong and what to do.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::{BasicConstraints, ExtendedKeyUsagePurpose, IsCa, KeyPair, date_time_ymd};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};

use crate::support::loomrec::command;
use crate::support::shape::{chat, chat_answer};
use crate::support::socket::reset_on_drop;
use crate::support::tls::{Authority, TRUSTED, server_config, server_params, trusted_config};
use crate::support::{Answer, Call, Finished, Scene, Server, Upstream};

/// The error for an upstream that cannot be reached: the same for the client, in the journal and on
/// stderr.
#[track_caller]
fn connection_error(address: SocketAddr, certificates: impl FnOnce(&Path) -> PathBuf) -> String {
    let scene = Scene::new();
    let url = format!("https://{address}");
    let mut command =
        command(scene.dir(), &scene.record_args(&url, &["--journal", "journal.jsonl"]));
    command.args(["--listen", "127.0.0.1:0"]);
    let server = Server::spawn(command.env("SSL_CERT_FILE", certificates(scene.dir())));
    let response = server.call(&chat("hi")).expect(502);
    let ended = server.stop().expect(6);
    let body = response.json();
    let message = body["error"]["message"].as_str().unwrap();
    let words = message.split_once(&format!("upstream openai at {url}: ")).unwrap().1;
    let journal = std::fs::read_to_string(scene.path("journal.jsonl")).unwrap();
    for text in [&ended.stderr, &journal] {
        assert!(text.contains(words), "{words} is not in {text}");
    }
    for debug in ["OtherError", "Other(", "InvalidCertificate", "client error", "{", "\""] {
        assert!(!words.contains(debug), "{words}");
    }
    words.to_owned()
}

/// The error for a server with these settings, if the tests' authority is trusted.
#[track_caller]
fn connection_error_of(config: Arc<ServerConfig>) -> String {
    let upstream = Upstream::always_over(Some(config), Answer::json(200, chat_answer("no")));
    let words = connection_error(upstream.address(), |folder| Authority::trusted().write(folder));
    assert_eq!(upstream.requests(), 0, "{words}");
    words
}

#[track_caller]
fn holds(words: &str, parts: &[&str]) {
    for part in parts {
        assert!(words.contains(part), "{part:?} is not in {words:?}");
    }
}

#[test]
fn an_authority_that_is_not_trusted_is_named_as_the_cause_with_the_variable_to_set() {
    let words =
        connection_error_of(Authority::named("another authority").server_config(&server_params()));
    holds(&words, &["authority that is not trusted", "SSL_CERT_FILE=/", "name a file with its"]);
    let namesake = Authority::named(TRUSTED).server_config(&server_params());
    holds(
        &connection_error_of(namesake),
        &["another key than the trusted authority of that name has", "SSL_CERT"],
    );
}

/// Calls openai three times and anthropic once, which are answered with `statuses`, with these
/// certificates in `SSL_CERT_FILE`. Returns the end of the run.
#[track_caller]
fn called(scene: &Scene, upstreams: [&Upstream; 2], pem: &str, statuses: [u16; 2]) -> Finished {
    std::fs::write(scene.path("certificates.pem"), pem).unwrap();
    let mut command =
        command(scene.dir(), &["record", "-r", "run.json", "--listen", "127.0.0.1:0"]);
    for (name, upstream) in ["openai", "anthropic"].into_iter().zip(upstreams) {
        command.args(["--upstream".to_owned(), format!("{name}=https://{}", upstream.address())]);
    }
    let pem = scene.path("certificates.pem");
    let server =
        Server::spawn(command.args(["--receipt", "receipt.json"]).env("SSL_CERT_FILE", pem));
    for _ in 0..3 {
        server.call(&Call::get("/openai/v1/models")).expect(statuses[0]);
    }
    server.call(&Call::get("/anthropic/v1/models")).expect(statuses[1]);
    server.stop().expect(0)
}

/// One upstream with a certificate of this authority.
fn upstream_of(authority: &Authority) -> Upstream {
    let config = authority.server_config(&server_params());
    Upstream::always_over(Some(config), Answer::json(200, "{}"))
}

#[test]
fn the_file_of_the_variable_replaces_the_authorities_and_may_hold_several() {
    let (scene, other) = (Scene::new(), Authority::named("another authority"));
    let upstreams = [&upstream_of(&other), &upstream_of(Authority::trusted())];
    let [own, others] =
        [Authority::trusted(), &other].map(|one| std::fs::read_to_string(one.write(scene.dir())));
    let (own, others) = (own.unwrap(), others.unwrap());
    called(&scene, upstreams, &own, [502, 200]).says(&[
        "in SSL_CERT_FILE. That file replaces this system's authorities; to keep them as well, put \
         their certificates into it, too",
    ]);
    called(&scene, upstreams, &others, [200, 502]);
    called(&scene, upstreams, &format!("{own}{others}"), [200, 200]);
}

#[test]
fn a_failure_that_an_sdk_meets_again_is_printed_once_and_counted() {
    let (scene, other) = (Scene::new(), Authority::named("another authority"));
    let upstreams = [&upstream_of(&other), &upstream_of(Authority::trusted())];
    let own = std::fs::read_to_string(Authority::trusted().write(scene.dir())).unwrap();
    let said = called(&scene, upstreams, &own, [502, 200]).stderr;
    assert_eq!(said.matches("failed to reach upstream openai").count(), 1, "{said}");
    let counted = "calls that reached no upstream: 3, all for the reason above\n";
    assert!(said.contains(counted), "{said}");
    let receipt = std::fs::read(scene.path("receipt.json")).unwrap();
    let receipt: serde_json::Value = serde_json::from_slice(&receipt).unwrap();
    let failures = receipt["upstream_failures"].as_array().unwrap();
    assert_eq!((failures.len(), &failures[0]["calls"]), (1, &3.into()), "{receipt}");
    assert!(failures[0]["message"].as_str().unwrap().contains("not trusted"), "{receipt}");
}

#[test]
fn a_certificate_out_of_its_time_is_said_with_its_date() {
    let mut params = server_params();
    params.not_after = date_time_ymd(2020, 2, 3);
    let words = connection_error_of(Authority::trusted().server_config(&params));
    holds(&words, &["expired at 2020-02-03T00:00:00Z (now it is 2"]);
    let mut params = server_params();
    params.not_before = date_time_ymd(2999, 2, 3);
    let words = connection_error_of(Authority::trusted().server_config(&params));
    holds(&words, &["not valid before 2999-02-03T00:00:00Z (now it is 2", "clock"]);
}

#[test]
fn a_certificate_for_another_host_is_said_with_its_names() {
    let mut params = server_params();
    let others = ["other.test", "10.9.8.7"].map(str::to_owned);
    params.subject_alt_names = rcgen::CertificateParams::new(others).unwrap().subject_alt_names;
    let words = connection_error_of(Authority::trusted().server_config(&params));
    holds(&words, &["is for other.test, 10.9.8.7, not for 127.0.0.1"]);
}

#[test]
fn a_certificate_of_an_authority_is_no_servers_even_where_it_is_trusted() {
    let mut params = server_params();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let config = server_config(certificate.der().clone(), &key);
    let expected = ["that of an authority (CA:TRUE)", "SSL_CERT_FILE"];
    holds(&connection_error_of(Arc::clone(&config)), &expected);
    let upstream = Upstream::always_over(Some(config), Answer::json(200, "{}"));
    let words = connection_error(upstream.address(), |folder| {
        let path = folder.join("own.pem");
        std::fs::write(&path, certificate.pem()).unwrap();
        path
    });
    holds(&words, &expected);
}

#[test]
fn a_certificate_for_clients_is_no_servers() {
    let mut params = server_params();
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let words = connection_error_of(Authority::trusted().server_config(&params));
    holds(&words, &["not valid for a server"]);
}

/// Made with openssl: a certificate for 127.0.0.1, signed by an authority with a key on the curve
/// P-521. ring, which makes the other certificates here, does not know this curve.
#[test]
fn a_signature_that_cannot_be_checked_is_said_to_be_so() {
    let certificate = CertificateDer::from_pem_slice(include_bytes!("tls/server.pem")).unwrap();
    let key = KeyPair::from_pem(include_str!("tls/server-key.pem")).unwrap();
    let config = server_config(certificate, &key);
    let upstream = Upstream::always_over(Some(config), Answer::json(200, "{}"));
    let words = connection_error(upstream.address(), |folder| {
        let path = folder.join("p521.pem");
        std::fs::write(&path, include_bytes!("tls/authority.pem")).unwrap();
        path
    });
    holds(&words, &["signed in a way that loomrec cannot check", "P-256"]);
}

#[test]
fn a_server_that_asks_for_a_clients_certificate_is_said_to() {
    let mut roots = RootCertStore::empty();
    roots.add(Authority::trusted().certificate().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let clients = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
    let config = Authority::trusted().server_config_for(&server_params(), clients.build().unwrap());
    holds(&connection_error_of(config), &["asks for a client's certificate"]);
}

/// A server that reads a client's first bytes, and then calls `then` with the connection.
fn raw_server(then: impl Fn(TcpStream) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            // All of the client's first flight, because a close with unread bytes would be a reset.
            let _ = stream.read(&mut [0; 16 << 10]);
            then(stream);
        }
    });
    address
}

/// The error for a server that answers a client's first bytes with these bytes.
#[track_caller]
fn connection_error_of_bytes(bytes: &'static [u8]) -> String {
    let address = raw_server(move |mut stream| stream.write_all(bytes).unwrap());
    connection_error(address, |folder| Authority::trusted().write(folder))
}

#[test]
fn a_server_that_does_not_speak_tls_is_said_not_to() {
    for bytes in [&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], b"SSH-2.0-OpenSSH_9.2p1\r\n"] {
        holds(&connection_error_of_bytes(bytes), &["does not speak TLS", "use an http:// address"]);
    }
}

#[test]
fn a_server_that_speaks_only_old_versions_is_said_to() {
    let old_version = [0x15, 3, 1, 0, 2, 2, 70];
    holds(
        &connection_error_of_bytes(old_version.to_vec().leak()),
        &["neither TLS 1.2 nor TLS 1.3"],
    );
    let no_cipher = [0x15, 3, 3, 0, 2, 2, 40];
    holds(&connection_error_of_bytes(no_cipher.to_vec().leak()), &["share no TLS cipher suite"]);
}

#[test]
fn a_handshake_that_is_cut_is_said_to_be() {
    let trusted = |folder: &Path| Authority::trusted().write(folder);
    let closed = connection_error(raw_server(drop), trusted);
    holds(&closed, &["was closed during the TLS handshake"]);
    let reset = connection_error(raw_server(|stream| reset_on_drop(&stream)), trusted);
    holds(&reset, &["was reset during the TLS handshake"]);
}

#[test]
fn without_a_variable_the_authorities_of_the_system_are_trusted() {
    let upstream = Upstream::always_over(Some(trusted_config()), Answer::json(200, "{}"));
    let (scene, url) = (Scene::new(), format!("https://{}", upstream.address()));
    let server = Server::start(scene.dir(), &scene.record_args(&url, &[]));
    let words = server.call(&chat("hi")).expect(502).text();
    server.stop().expect(6);
    let has_none = words.contains("install ca-certificates");
    assert!(has_none || words.contains("not trusted (trusted are this system's)"), "{words}");
}

/// A run that does not start, because the certificates to trust are missing.
#[track_caller]
fn refused(name: &str, value: &str) -> Finished {
    let scene = Scene::new();
    std::fs::write(scene.path("empty.pem"), "no certificate\n").unwrap();
    let mut command = command(scene.dir(), &scene.record_args("http://127.0.0.1:9", &[]));
    crate::support::loomrec::finish(command.env(name, value), b"")
}

#[test]
fn certificates_that_are_not_there_are_told_before_a_run_begins() {
    for (name, value, problem) in [
        ("SSL_CERT_FILE", "missing.pem", "cannot be read: No such file"),
        ("SSL_CERT_FILE", "empty.pem", "has no certificate in PEM form"),
        ("SSL_CERT_DIR", "missing", "cannot be read: No such file"),
        ("SSL_CERT_DIR", ".", "has no certificate in PEM form"),
    ] {
        let ended = refused(name, value);
        assert_ne!(ended.code, 0, "{}", ended.stderr);
        ended.says(&[&format!("{value}, which {name} names, {problem}")]);
    }
    refused("SSL_CERT_FILE", "").says(&["SSL_CERT_FILE is set and names nothing: unset it"]);
}

#[test]
fn doctor_says_the_same_of_an_upstream() {
    let config = Authority::named("another authority").server_config(&server_params());
    let upstream = Upstream::always_over(Some(config), Answer::json(200, "{}"));
    let scene = Scene::new();
    let mut command = command(scene.dir(), &["doctor", "--online"]);
    command.env("SSL_CERT_FILE", Authority::trusted().write(scene.dir()));
    command.env("OPENAI_BASE_URL", format!("https://{}/v1", upstream.address()));
    let ended = crate::support::loomrec::finish(&mut command, b"").expect(1);
    assert!(ended.stdout.contains("authority that is not trusted"), "{}", ended.stdout);
}
