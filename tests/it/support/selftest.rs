//! The support code against itself: the client sees what the upstream plays.

use super::{Answer, Call, Client, End, Gate, Upstream};

#[test]
fn the_client_sees_chunks_and_every_kind_of_end() {
    let gate = Gate::new();
    let upstream = Upstream::script(vec![
        Answer::events(&["one", "two"]),
        Answer::stream().chunk("one").wait(&gate).reset(),
        Answer::stream().chunk("one").close(),
        Answer::head(200, &["content-length: 10"]).bytes("short").close(),
        Answer::head(200, &[]).bytes("open end").close(),
        Answer::raw("").close(),
        Answer::json(200, "{}"),
    ]);
    let call = || {
        let mut client = Client::connect(upstream.address());
        client.send(&Call::post("/x", "{}"));
        client
    };
    let mut client = call();
    let head = client.head();
    let seen = client.collect(head).expect(200);
    assert_eq!(seen.chunks, [b"one", b"two"]);
    let mut client = call();
    client.head();
    assert_eq!(client.chunk().unwrap(), b"one");
    gate.open();
    let head = crate::support::wire::Head::default();
    assert_eq!(client.collect(head).end, End::Reset);
    for _ in 0..3 {
        let mut client = call();
        let head = client.head();
        assert_eq!(client.collect(head).end, End::Closed);
    }
    assert_eq!(call().silence(), End::Closed);
    let answer = Client::call(upstream.address(), &Call::get("/y").header("expect: 100-continue"));
    assert_eq!(answer.expect(200).text(), "{}");
    assert_eq!((upstream.connections(), upstream.requests()), (7, 7));
    assert_eq!(upstream.received()[6].target, "/y");
}
