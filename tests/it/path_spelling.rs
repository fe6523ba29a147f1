//! Tests of paths and queries that are percent-encoded in several ways.

use crate::support::{Answer, Call, Scene, Upstream};

/// Records a call, and returns the status of another one in a strict replay.
fn replayed(recorded: &str, asked: &str) -> u16 {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, "{}"));
    let call = |path: &str| Call::post(path, "{}");
    scene.recorded(&upstream, &[call(recorded)]);
    let server = scene.replay(&["--strict"]);
    let status = server.call(&call(asked)).status;
    server.stop();
    status
}

#[test]
fn equal_encodings_are_the_same_call() {
    for (recorded, asked) in [
        ("/openai/v1/files/a%2fb", "/openai/v1/files/a%2Fb"),
        ("/openai/v1/files/%66ile%2D1", "/openai/v1/files/file-1"),
        ("/openai/v1/files?after=%7Ex", "/openai/v1/files?after=~x"),
        ("/bedrock/model/meta.llama3-v1%3A0/invoke", "/bedrock/model/meta.llama3-v1:0/invoke"),
        ("/bedrock/model/meta.llama3-v1:0/converse", "/bedrock/model/meta.llama3-v1%3a0/converse"),
    ] {
        assert_eq!(replayed(recorded, asked), 200, "{recorded} {asked}");
        assert_eq!(replayed(asked, recorded), 200, "{asked} {recorded}");
    }
}

#[test]
fn other_paths_are_other_calls() {
    for (recorded, asked) in [
        ("/openai/v1/files/a%2Fb", "/openai/v1/files/a/b"),
        ("/openai/v1/files/a%3Ab", "/openai/v1/files/a:b"),
        ("/openai/v1/files/a%252Fb", "/openai/v1/files/a%2Fb"),
        ("/openai/v1/files?after=a%26b", "/openai/v1/files?after=a&b"),
        ("/openai/v1/files?after=a%2Bb", "/openai/v1/files?after=a+b"),
        ("/bedrock/model/meta.llama3-v1%3A0/invoke", "/bedrock/model/meta.llama3-v1%3A1/invoke"),
    ] {
        assert_eq!(replayed(recorded, asked), 422, "{recorded} {asked}");
    }
}
