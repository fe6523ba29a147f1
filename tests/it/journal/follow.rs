//! Tests of the journal's endpoint while the journal grows.

use super::*;

fn follow(server: &Server, query: &str) -> crate::support::Client {
    let mut client = server.connect();
    let path = format!("/__loomrec/journal?{query}");
    client.send(&Call::get(&path).header("host: localhost"));
    client
}

#[test]
fn a_follower_gets_each_call_as_it_ends() {
    let scene = recording_of(&["one"]);
    let server = scene.replay(&["--repeat", "last"]);
    server.call(&chat("one")).expect(200);
    let mut follower = follow(&server, "since=1&follow=1");
    let head = follower.head();
    assert_eq!(head.header("content-type"), Some("application/x-ndjson"));
    for seq in 2..5 {
        server.call(&chat("one")).expect(200);
        let line = follower.until("\n");
        let line: Value = serde_json::from_slice(&line).unwrap();
        says(&line, &json!({ "seq": seq, "outcome": "served" }));
    }
    let began = Instant::now();
    let ending = std::thread::spawn(move || server.stop().expect(0));
    assert_eq!(follower.chunk(), None, "the end of the run ends it");
    ending.join().unwrap();
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
}

#[test]
fn lines_from_a_place_or_a_time_on_are_given_without_following() {
    let scene = recording_of(&["one"]);
    let server = scene.replay(&["--repeat", "last"]);
    for _ in 0..5 {
        server.call(&chat("one")).expect(200);
    }
    let get = |query: &str| {
        let path = format!("/__loomrec/journal?{query}");
        server.call(&Call::get(&path).header("host: localhost"))
    };
    let numbers = |text: &str| -> Vec<u64> {
        let seq = |line| serde_json::from_str::<Value>(line).unwrap()["seq"].as_u64().unwrap();
        text.lines().map(seq).collect()
    };
    assert_eq!(numbers(&get("since=3").expect(200).text()), [4, 5]);
    let at = control(&server, "journal")["calls"][3]["at"].as_str().unwrap().to_owned();
    assert_eq!(numbers(&get(&format!("since={at}")).expect(200).text()), [4, 5]);
    assert_eq!(get("since=5").expect(200).text(), "");
    let told = get("since=yesterday").expect(400).text();
    assert!(told.contains("since is a line's number"), "{told}");
    let foreign = Call::get("/__loomrec/journal?follow=1").header("host: evil.example");
    server.call(&foreign).expect(403);
    server.stop().expect(0);
}

#[test]
fn a_follower_that_never_reads_costs_the_traffic_nothing() {
    let scene = recording_of(&["one"]);
    let server = scene.replay(&["--repeat", "last"]);
    let stuck: Vec<_> = (0..4).map(|_| follow(&server, "follow=1")).collect();
    let mut client = server.connect();
    for _ in 0..4000 {
        client.exchange(&chat("one")).expect(200);
    }
    // The system's buffers hold less than what was written.
    let mut late = follow(&server, "since=0");
    late.head();
    let first: Value = serde_json::from_slice(&first_line(late.until("\n"))).unwrap();
    says(&first, &json!({ "outcome": "skipped", "seq": 3000, "lines": 3000 }));
    let health = control(&server, "health");
    let followers = health["journal"]["followers"].as_u64().unwrap();
    assert!((4..6).contains(&followers), "{health:#}");
    let began = Instant::now();
    server.stop().expect(0);
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
    drop(stuck);
}

fn first_line(text: Vec<u8>) -> Vec<u8> {
    text.split(|&byte| byte == b'\n').next().unwrap().to_vec()
}

#[test]
fn followers_are_bounded_in_number() {
    let scene = recording_of(&["one"]);
    let server = scene.replay(&[]);
    server.call(&chat("one")).expect(200);
    let mut followers: Vec<_> = (0..64)
        .map(|_| {
            let mut follower = follow(&server, "follow=1");
            follower.head();
            follower
        })
        .collect();
    let mut refused = follow(&server, "follow=1");
    let head = refused.head();
    let told = refused.collect(head).expect(503).text();
    assert!(told.contains("too many followers"), "{told}");
    followers.pop();
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        if follow(&server, "follow=1").head().header("content-type") == Some("application/x-ndjson")
        {
            break;
        }
        assert!(Instant::now() < until, "a place is free again when one has left");
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(followers);
    server.stop().expect(0);
}
