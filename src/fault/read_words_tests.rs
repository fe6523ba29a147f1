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
        let fault =
            Fault::from_value(&json!({ "type": "stream_truncate", "raise": word })).unwrap();
        let Fault::StreamTruncate(truncate) = fault else { panic!("{fault:?}") };
        assert_eq!(truncate.raise, expected, "{word}");
        assert_eq!(truncate.exception, word.rsplit('.').next(), "{word}");
    }
    for word in ["httpx.reset", "httpx.", "httpx.Error", ".close"] {
        let read = Fault::from_value(&json!({ "type": "stream_truncate", "raise": word }));
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

#[test]
fn only_a_tool_that_fails_has_a_message() {
    let result = |mode, message: Option<&str>| {
        let message = message.map(str::to_owned);
        Ok(Fault::ToolResultFault { mode, message })
    };
    assert_eq!(Fault::parse("tool_result_fault"), result(ToolResultMode::ToolError, None));
    assert_eq!(
        Fault::parse("tool_result_fault;message=no: luck"),
        result(ToolResultMode::ToolError, Some("no: luck"))
    );
    assert_eq!(
        Fault::parse("tool_result_fault:server_dies"),
        result(ToolResultMode::ServerDies, None)
    );
    for (text, expected) in [
        ("tool_result_fault:wrong_content;message=no", "/message"),
        ("tool_result_fault:wrong_type", "/mode"),
    ] {
        let error = Fault::parse(text).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{text}: {error}");
    }
}

#[test]
fn close_code_is_one_that_may_be_sent() {
    let truncation = |text: &str| match Fault::parse(text) {
        Ok(Fault::StreamTruncate(truncation)) => Ok((truncation.raise, truncation.close)),
        Ok(other) => panic!("{other:?}"),
        Err(error) => Err(error.to_string()),
    };
    let closed = |code, reason: &str| {
        let close = SocketClose { code, reason: reason.to_owned() };
        Ok((TruncationEnd::Close, Some(close)))
    };
    assert_eq!(truncation("stream_truncate:2;code=4000;reason=no: luck"), closed(4000, "no: luck"));
    assert_eq!(truncation("stream_truncate;raise=close;code=1011"), closed(1011, ""));
    let long = format!("stream_truncate;code=1011;reason={}", "x".repeat(124));
    for (text, expected) in [
        ("stream_truncate;code=1005", "/code"),
        ("stream_truncate;code=1006", "/code"),
        ("stream_truncate;code=999", "/code"),
        ("stream_truncate;code=2000", "/code"),
        ("stream_truncate;code=5000", "/code"),
        ("stream_truncate;raise=reset;code=1011", "/code"),
        ("stream_truncate;reason=why", "/reason"),
        (&long, "/reason"),
    ] {
        let error = truncation(text).unwrap_err();
        assert!(error.starts_with(expected), "{text}: {error}");
    }
}
