use serde_json::json;

use super::*;

#[test]
fn an_exception_is_a_word_for_what_raises_it() {
    for (word, expected) in [
        ("ReadError", TruncationEnd::Reset),
        ("ConnectError", TruncationEnd::Reset),
        ("RemoteProtocolError", TruncationEnd::Close),
        ("ReadTimeout", TruncationEnd::Stall),
        ("TimeoutError", TruncationEnd::Stall),
        ("RuntimeError", TruncationEnd::ErrorEvent),
        ("ProviderError", TruncationEnd::ErrorEvent),
        ("httpx.ReadError", TruncationEnd::Reset),
        ("builtins.TimeoutError", TruncationEnd::Stall),
        ("agentloom.exceptions.ProviderError", TruncationEnd::ErrorEvent),
    ] {
        let fault = Fault::read(&json!({ "type": "stream_truncate", "raise": word })).unwrap();
        let Fault::StreamTruncate(truncate) = fault else { panic!("{fault:?}") };
        assert_eq!(truncate.raise, expected, "{word}");
        assert_eq!(truncate.exception, word.rsplit('.').next(), "{word}");
    }
    for word in ["httpx.reset", "httpx.", "httpx.Error", ".close"] {
        let read = Fault::read(&json!({ "type": "stream_truncate", "raise": word }));
        assert!(read.unwrap_err().to_string().starts_with("/raise"), "{word}");
    }
}

#[test]
fn a_tool_call_is_broken_or_replaced() {
    let change = |value: &str| match Fault::parse(value) {
        Ok(Fault::ToolCallFault { change }) => Ok(change),
        Ok(other) => panic!("{other:?}"),
        Err(error) => Err(error.to_string()),
    };
    let replaced = |name: Option<&str>, arguments: Option<Value>| {
        let arguments = arguments.and_then(|value| value.as_object().cloned());
        let name = name.map(str::to_owned);
        Ok(ToolCallChange::Replaced(ToolReplacement { name, arguments }))
    };
    let broken = |mode| Ok(ToolCallChange::Broken(mode));
    assert_eq!(change("tool_call_fault"), broken(ToolFault::InvalidJson));
    assert_eq!(change("tool_call_fault:unknown_tool"), broken(ToolFault::UnknownTool));
    assert_eq!(change("tool_call_fault;name=fail"), replaced(Some("fail"), None));
    assert_eq!(
        change(r#"tool_call_fault;arguments={"city": "nowhere"}"#),
        replaced(None, Some(json!({ "city": "nowhere" })))
    );
    for (text, expected) in [
        ("tool_call_fault:wrong_type;name=fail", "/mode"),
        ("tool_call_fault;name=\"\"", "/name"),
        ("tool_call_fault;arguments=[1]", "/arguments"),
    ] {
        let error = change(text).unwrap_err();
        assert!(error.starts_with(expected), "{text}: {error}");
    }
}
