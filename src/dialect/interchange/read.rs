//! Finds the exchanges of a file, one at a time.

use std::io::Read;
use std::ops::ControlFlow;

use super::bounded::{BoundedReader, ReadMeter};
use super::companion::CompanionFiles;
use super::exchange::FoundItem;
use super::format::ForeignFormat;
use super::read_context::{ReadContext, ReadError};
use super::{agentloom, aimock, har, httprr, nock, openai_chat, vcr, wiremock};

/// Finds the exchanges of a file in order, until `visit` wants no more.
///
/// # Errors
/// If the file cannot be read, is not of its format, or holds an exchange that is too large. The
/// exchanges found before the error are complete.
pub fn read(
    format: ForeignFormat,
    input: &mut dyn Read,
    visit: &mut dyn FnMut(FoundItem) -> ControlFlow<()>,
) -> Result<(), ReadError> {
    read_with(format, input, &CompanionFiles::default(), visit)
}

/// As [`read()`], with data that is given in addition to the file.
///
/// # Errors
/// As for [`read()`].
pub fn read_with(
    format: ForeignFormat,
    input: &mut dyn Read,
    beside: &CompanionFiles,
    visit: &mut dyn FnMut(FoundItem) -> ControlFlow<()>,
) -> Result<(), ReadError> {
    let meter = ReadMeter::default();
    let mut finder = ReadContext::new(visit, meter.clone(), exchange_noun(format));
    let input = BoundedReader::new(input, meter);
    let done = match format {
        ForeignFormat::Vcr => vcr::read_yaml(input, &mut finder),
        ForeignFormat::VcrJson => vcr::read_json(input, &mut finder),
        ForeignFormat::Har => har::read(input, beside, &mut finder),
        ForeignFormat::AgentLoom => agentloom::read(input, &mut finder),
        ForeignFormat::Aimock => aimock::read(input, &mut finder),
        ForeignFormat::OpenAiChat => openai_chat::read(input, beside, &mut finder),
        ForeignFormat::HttpRr => httprr::read(input, &mut finder),
        ForeignFormat::Nock => nock::read(input, &mut finder),
        ForeignFormat::WireMock => wiremock::read(input, beside, &mut finder),
    };
    finder.into_result(format, done)
}

/// Returns the word for an exchange; empty if the errors name their place themselves.
fn exchange_noun(format: ForeignFormat) -> &'static str {
    match format {
        ForeignFormat::Vcr | ForeignFormat::VcrJson => "interaction",
        ForeignFormat::Har | ForeignFormat::AgentLoom => "entry",
        ForeignFormat::Aimock => "fixture",
        ForeignFormat::OpenAiChat => "",
        ForeignFormat::HttpRr | ForeignFormat::Nock => "call",
        ForeignFormat::WireMock => "mapping",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Generates a file of a format with some changed bytes.
    fn harmed() -> impl Strategy<Value = Vec<u8>> {
        let yaml = "interactions:\n- request: {uri: 'http://a', headers: {a: [!!binary aa]}}\n  \
                    response: {status: {code: 200}, body: {string: &a 'x'}}\nversion: 1\n";
        let har = "{\"log\":{\"creator\":{\"name\":\"mitmproxy\"},\"entries\":[{\"time\":1e3,\
                   \"request\":{\"url\":\"http://a\",\"postData\":{\"text\":\"\\udcff\"}},\
                   \"response\":{\"status\":200,\"content\":{\"text\":\"a\"}},\
                   \"_loomrec\":{\"chunks\":[[1,1]]}}]}}";
        let json = "{\"interactions\":[{\"request\":{\"body\":{\"base64_string\":\"aa\"}},\
                    \"response\":{\"status_code\":200,\"content\":\"x\"}}],\"version\":1}";
        let change = (any::<prop::sample::Index>(), any::<u8>());
        let loom = "{\"_version\":2,\"a\":[{\"content\":\"b\",\"usage\":{\"prompt_tokens\":1}}]}";
        let aimock = "{\"fixtures\":[{\"match\":{\"userMessage\":\"a\",\"model\":\"m\",\"turnIndex\":0,\
                      \"hasToolResult\":false},\"response\":{\"toolCalls\":[{\"name\":\"f\"}]}}]}";
        let chat = "{\"messages\":[{\"role\":\"user\"},{\"role\":\"assistant\",\"content\":[]}],\
                    \"model\":\"m\"}\n{\"messages\":[]}";
        let nock = "[{\"scope\":\"http://a\",\"method\":\"POST\",\"path\":\"/\",\"body\":{\"a\":1},\
                    \"status\":200,\"response\":[\"7b\"],\"rawHeaders\":[\"a\",\"b\"]}]";
        let trace = "httprr trace v1\n24 36\nGET http://a/b HTTP/1.1\n\nHTTP/1.1 200 OK\n\
                     Content-Length: 1\n\nx";
        let files = vec![yaml, har, json, loom, aimock, chat, nock, trace];
        (prop::sample::select(files), prop::collection::vec(change, 0..6)).prop_map(
            |(text, changes)| {
                let mut bytes = text.as_bytes().to_vec();
                for (at, byte) in changes {
                    let at = at.index(bytes.len());
                    bytes[at] = byte;
                }
                bytes
            },
        )
    }

    proptest! {
        #[test]
        fn no_bytes_make_a_reader_panic_or_talk_at_length(
            bytes in prop_oneof![harmed(), prop::collection::vec(any::<u8>(), 0..200)],
        ) {
            for format in ForeignFormat::ALL {
                if let Err(error) = read(format, &mut &bytes[..], &mut |_| ControlFlow::Continue(())) {
                    prop_assert!(error.to_string().len() < 2000);
                }
            }
            let _ = ForeignFormat::from_beginning(&bytes);
        }
    }
}
