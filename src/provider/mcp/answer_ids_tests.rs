use super::*;

const RECORDED: &str =
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":1}}}"#;

/// The answer with the ids of another request.
fn answered(recorded: &str, here: &str, media: &str, body: &str) -> String {
    let ids = |body: &str| RpcIds::from_body(body.as_bytes()).unwrap();
    let mut text = body.to_owned();
    let edits = ids(recorded).answer_edits(&ids(here), media, body.as_bytes());
    for edit in edits.iter().rev() {
        text.replace_range(edit.place.clone(), &edit.text);
    }
    text
}

fn request(id: &str, token: &str) -> String {
    let meta = format!(r#"{{"progressToken":{token}}}"#);
    format!(r#"{{"id" : {id}, "jsonrpc":"2.0","method":"tools/call","params":{{"_meta":{meta}}}}}"#)
}

#[test]
fn only_the_ids_of_the_request_change() {
    let here = request(r#""\u0061 long id""#, "77");
    let body =
        "{ \"id\" :1 , \"result\":{\"id\":1,\"content\":[{\"id\": 1}]},\n\"jsonrpc\":\"2.0\" }";
    let expected = body.replacen(":1 ", r#":"\u0061 long id" "#, 1);
    assert_eq!(answered(RECORDED, &here, "application/json", body), expected);
    for kept in [
        r#"{"jsonrpc":"2.0","id":2,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":"1","result":{}}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":1}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2}}"#,
        "no json",
        "",
    ] {
        assert_eq!(answered(RECORDED, &here, "application/json", kept), kept);
    }
}

#[test]
fn each_event_of_a_stream_has_the_ids_of_its_client() {
    let stream = "\u{feff}id: 1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\
                  \"params\":{\"progressToken\":1,\"progress\":1}}\r\n\r\n: 1\n\nevent: message\n\
                  data:{\"jsonrpc\":\"2.0\",\ndata: \"id\":1,\ndata: \"result\":{\"a\":1}}\n\n";
    let here = request("4711", r#""t""#);
    let expected = stream.replacen("\"progressToken\":1", "\"progressToken\":\"t\"", 1).replacen(
        "\"id\":1",
        "\"id\":4711",
        1,
    );
    assert_eq!(answered(RECORDED, &here, "text/event-stream", stream), expected);
}

#[test]
fn answers_of_a_batch_have_the_ids_of_the_requests_in_their_places() {
    let batch = |ids: [&str; 2]| {
        let one = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#);
        format!("[{},{}]", one(ids[0]), one(ids[1]))
    };
    let body = r#"[{"id":2,"result":"b"},{"id":1,"result":"a"}]"#;
    let answer = answered(&batch(["1", "2"]), &batch(["2", "\"x\""]), "application/json", body);
    assert_eq!(answer, r#"[{"id":"x","result":"b"},{"id":2,"result":"a"}]"#);
}

#[test]
fn own_answers_have_the_ids_of_their_requests() {
    let ids = |body: &str| RpcIds::from_body(body.as_bytes()).unwrap();
    let one = ids(r#"{"jsonrpc":"2.0","id":"\u0061","method":"ping"}"#);
    let text = |body: Option<Vec<u8>>| String::from_utf8(body.unwrap()).unwrap();
    assert_eq!(text(one.empty_result()), r#"{"jsonrpc":"2.0","id":"\u0061","result":{}}"#);
    let batch = ids(r#"[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","method":"b"}]"#);
    let error = r#"[{"jsonrpc":"2.0","id":1,"error":{"code":4,"message":"\"no\""}}]"#;
    assert_eq!(text(batch.error_answers(4, "\"no\"")), error);
}

#[test]
fn made_up_answer_has_the_ids_of_its_requests() {
    let addressed = |request: &str, media: &str, body: &str| {
        let ids = RpcIds::from_body(request.as_bytes()).unwrap();
        String::from_utf8(ids.address_answer(media, body.as_bytes())).unwrap()
    };
    let here = request(r#""a b""#, "1");
    for id in ["1", "null", "true", "false", r#""x""#, "-1.5e3", r#""null""#] {
        let body = |id: &str| {
            format!(r#"{{ "null":[null], "jsonrpc": "2.0", "id"  :  {id} ,"result":{{"id":1}}}}"#)
        };
        assert_eq!(addressed(&here, "application/json", &body(id)), body(r#""a b""#), "{id}");
    }
    for kept in [
        r#"{"jsonrpc":"2.0","result":{"id":1}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage"}"#,
        r#"{"jsonrpc":"2.0","id":{"a":1},"result":{}}"#,
        r#"{"error":{"message":"busy"},"id":"req_1"}"#,
        r#"{"jsonrpc":"2.0","id":1,"id":2}"#,
        "[5]",
        "{\"malformed\": ",
    ] {
        assert_eq!(addressed(&here, "application/json", kept), kept);
    }
    let stream = "data: {\"jsonrpc\":\"2.0\",\ndata: \"id\": null,\"result\":{}}\n\n";
    let expected = stream.replacen("null", "\"a b\"", 1);
    assert_eq!(addressed(&here, "text/event-stream", stream), expected);
    let batch =
        r#"[{"jsonrpc":"2.0","id":8,"method":"a"},{"jsonrpc":"2.0","id":"9","method":"b"}]"#;
    let answer = |ids: [&str; 3]| {
        let one = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{}}}}"#);
        format!("[{}]", ids.map(one).join(","))
    };
    let answered = addressed(batch, "application/json", &answer(["1", "null", "3"]));
    assert_eq!(answered, answer(["8", r#""9""#, "3"]));
}

#[test]
fn half_of_a_character_keeps_no_id_from_its_place() {
    let body =
        |id: &str| format!(r#"{{"result":"\ud83d","x":"\ude00","jsonrpc":"2.0","id":{id}}}"#);
    let here = request("4711", "2").replacen("tools/call", r"a\udead", 1);
    assert_eq!(answered(RECORDED, &here, "application/json", &body("1")), body("4711"));
    let stream = |id: &str| format!("data: {}\n\n", body(id));
    assert_eq!(answered(RECORDED, &here, "text/event-stream", &stream("1")), stream("4711"));
    let ids = RpcIds::from_body(here.as_bytes()).unwrap();
    let addressed = ids.address_answer("application/json", body("null").as_bytes());
    assert_eq!(String::from_utf8(addressed).unwrap(), body("4711"));
}

#[test]
fn subscription_is_named_by_the_request_that_opened_it() {
    let body = r#"{"jsonrpc":"2.0","method":"notifications/a","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}"#;
    let answer = answered(RECORDED, &request("5", "6"), "application/json", body);
    assert_eq!(answer, body.replace("Id\":1", "Id\":5"));
}

#[test]
fn notification_has_no_ids() {
    assert_eq!(
        RpcIds::from_body(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#),
        None
    );
}
