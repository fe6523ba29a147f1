//! Who may use a hub that other machines reach.

use std::net::{IpAddr, SocketAddr, UdpSocket};

use serde_json::json;

use super::{in_session, kind, recorded};
use crate::support::loomrec::command;
use crate::support::shape::chat;
use crate::support::{Call, Client, Scene, Server};

/// An address of this machine that is not one of the loopback interface, if it has one.
fn own_address() -> Option<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    // Nothing is sent: the system chooses the address.
    socket.connect("192.0.2.1:9").ok()?;
    Some(socket.local_addr().ok()?.ip()).filter(|ip| !ip.is_loopback() && !ip.is_unspecified())
}

fn replay(scene: &Scene, more: &[&str]) -> Server {
    let mut process = command(scene.dir(), &scene.replay_args(&["--allow-remote"]));
    Server::spawn(process.args(["--listen", "0.0.0.0:0"]).args(more))
}

fn begin_with(token: Option<&str>) -> Call {
    let call = Call::post("/__loomrec/session", json!({ "prefix": "gw0" }).to_string());
    token.map_or(call.clone(), |token| call.header(&format!("x-loomrec-token: {token}")))
}

#[test]
fn only_holders_of_the_token_open_sessions_and_calls_outside_of_them_are_refused() {
    let scene = recorded();
    let server = replay(&scene, &["--control-token", "secret", "--sessions-by-control"]);
    let far = own_address().map(|ip| SocketAddr::new(ip, server.address.port()));
    for address in [Some(server.address), far].into_iter().flatten() {
        let call = |call: &Call| Client::call(address, call);
        let host = format!("host: {address}");
        for wrong in [None, Some("wrong"), Some("secre"), Some("secrets"), Some("")] {
            call(&begin_with(wrong).header(&host)).expect(403);
            let below = Call::post("/@gw0/__loomrec/session", "{}").header(&host);
            call(&below).expect(403);
        }
        for outside in [chat("One"), in_session("gw0", "One"), in_session("other", "One")] {
            let refused = call(&outside.header(&host)).expect(400);
            assert_eq!(kind(&refused), "NoSession");
        }
        call(&begin_with(Some("secret")).header(&host)).expect(201);
        // A session's own calls need no token: its programs have none.
        call(&in_session("gw0", "One").header(&host)).expect(200);
        call(&in_session("other", "One").header(&host)).expect(400);
        call(&Call::get("/@gw0/__loomrec/session").header(&host)).expect(403);
        let end = Call::post("/@gw0/__loomrec/session/end", "{}").header(&host);
        call(&end).expect(403);
        call(&end.header("authorization: Bearer secret")).expect(200);
    }
    server.stop().expect(1).says(&["calls refused:"]);
}

#[test]
fn without_a_token_control_paths_answer_this_machine_only() {
    let scene = recorded();
    let server = replay(&scene, &[]);
    Client::call(server.address, &begin_with(None)).expect(201);
    let Some(ip) = own_address() else { return };
    let address = SocketAddr::new(ip, server.address.port());
    let host = format!("host: {address}");
    Client::call(address, &begin_with(None).header(&host)).expect(403);
    Client::call(address, &Call::get("/__loomrec/health").header(&host)).expect(403);
    Client::call(address, &in_session("gw0", "One").header(&host)).expect(200);
    server.stop().expect(0);
}

#[test]
fn readiness_is_for_all_and_says_nothing_else() {
    let scene = recorded();
    let server = replay(&scene, &["--control-token", "secret"]);
    for host in ["balancer.test", "10.0.0.1:80", "localhost"] {
        let probe = Call::get("/__loomrec/ready").header(&format!("host: {host}"));
        let ready = server.call(&probe).expect(200);
        assert_eq!(ready.text(), "{\"ready\":true}\n");
        let head = Call::new("HEAD", "/__loomrec/ready").header(&format!("host: {host}"));
        assert_eq!(server.call(&head).expect(200).text(), "");
    }
    server.call(&Call::post("/__loomrec/ready", "{}")).expect(403);
    let address = server.address;
    server.stop().expect(0);
    assert!(Client::try_connect(address).is_none());
}
