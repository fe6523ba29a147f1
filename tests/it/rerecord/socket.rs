//! Tests of recordings with WebSockets: these are left out by name, and everything else is sent.

use super::*;
use crate::conversations::{REALTIME, record_conversation, upstream as socket_upstream};
use crate::support::shape::chat;

#[test]
fn connection_is_left_out_by_name_and_every_other_call_is_sent() {
    let scene = Scene::new();
    record_conversation(&scene, &socket_upstream(), REALTIME);
    scene.recorded(&speaker("old"), &[chat("hi"), chat("there")]);
    assert_eq!(entries(&scene, "run.json").len(), 3);
    let before = std::fs::read(scene.recording()).unwrap();
    let upstream = speaker("new");
    let why = "it is a WebSocket, whose client may answer what its server says: record it again with \
               its program (loomrec record)";
    let told = rerecord(&scene, &upstream, &["run.json", "--yes", "--json"], 1);
    let told = json_of(&told);
    assert_eq!((&told["kept"], &told["left_out"][0]["why"]), (&json!(2), &json!(why)), "{told}");
    assert_eq!(told["left_out"][0]["keys"].as_array().unwrap().len(), 1);
    assert_eq!(upstream.requests(), 2);
    assert_eq!(std::fs::read(scene.recording()).unwrap(), before);
    assert_eq!(entries(&scene, "run.json.new").len(), 2);
}
