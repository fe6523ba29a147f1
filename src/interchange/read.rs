//! Finds the exchanges of a file, one at a time.

use std::io::Read;
use std::ops::ControlFlow;

use super::bounded::{BoundedReader, LIMIT, ReadMeter};
use super::companion::CompanionFiles;
use super::exchange::FoundItem;
use super::format::ForeignFormat;
use super::{agentloom, aimock, har, openai, otel, vcr};

/// A file that is not what it should be.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It is none of its format, or breaks off.
    #[error("read it as {title}: {place}{problem}", title = .format.title())]
    Form {
        /// What it was read as.
        format: ForeignFormat,
        /// The last thing that was found whole; empty where it is of no help.
        place: String,
        /// What is wrong, and where.
        problem: String,
    },
    /// One exchange alone is too large.
    #[error(
        "read it as {title}: {place}one exchange takes more than {} MiB of it; leave that one out",
        LIMIT >> 20,
        title = .format.title()
    )]
    TooLarge {
        /// What it was read as.
        format: ForeignFormat,
        /// The last thing that was found whole.
        place: String,
    },
    /// It cannot be read.
    #[error("read it")]
    Io {
        /// Why.
        source: std::io::Error,
    },
}

/// Called with each thing that is found; whether more is wanted.
pub(super) type ItemVisitor<'a> = &'a mut dyn FnMut(FoundItem) -> ControlFlow<()>;

/// What is known while a file is being read.
pub(super) struct ReadContext<'a> {
    visit: ItemVisitor<'a>,
    meter: ReadMeter,
    /// What one exchange is called, for people.
    noun: &'static str,
    found: usize,
    stopped: bool,
}

impl<'a> ReadContext<'a> {
    pub(super) fn new(visit: ItemVisitor<'a>, meter: ReadMeter, noun: &'static str) -> Self {
        Self { visit, meter, noun, found: 0, stopped: false }
    }

    /// Something was found, and is kept elsewhere.
    pub(super) fn found(&mut self) {
        self.meter.reset();
        self.found += 1;
    }

    /// What is read next belongs to something new, though nothing was found.
    pub(super) fn passed(&self) {
        self.meter.reset();
    }

    /// The place of what comes next.
    pub(super) fn place(&self) -> String {
        format!("{} {}", self.noun, self.found + 1)
    }

    /// Hands on what was found; whether more is wanted.
    pub(super) fn report(&mut self, item: FoundItem) -> bool {
        self.meter.reset();
        self.found += 1;
        self.stopped |= (self.visit)(item).is_break();
        !self.stopped
    }
}

/// Finds the exchanges of a file in order, as long as `visit` wants more.
///
/// # Errors
/// A file that cannot be read, is not of its format, or holds an exchange that is too
/// large. What was found before is whole all the same.
pub fn read(
    format: ForeignFormat,
    input: impl Read,
    visit: &mut dyn FnMut(FoundItem) -> ControlFlow<()>,
) -> Result<(), ReadError> {
    read_with(format, input, &CompanionFiles::default(), visit)
}

/// The same, with what is given beside the file.
///
/// # Errors
/// As for [`read()`].
pub fn read_with(
    format: ForeignFormat,
    input: impl Read,
    beside: &CompanionFiles,
    visit: &mut dyn FnMut(FoundItem) -> ControlFlow<()>,
) -> Result<(), ReadError> {
    let meter = ReadMeter::default();
    let mut finder = ReadContext::new(visit, meter.clone(), noun(format));
    let input = BoundedReader::new(input, meter);
    let done = match format {
        ForeignFormat::Vcr => vcr::read_yaml(input, &mut finder),
        ForeignFormat::VcrJson => vcr::read_json(input, &mut finder),
        ForeignFormat::Har => har::read(input, &mut finder),
        ForeignFormat::AgentLoom => agentloom::read(input, &mut finder),
        ForeignFormat::Aimock => aimock::read(input, &mut finder),
        ForeignFormat::OpenAiBatch => openai::read_batch(input, beside, &mut finder),
        ForeignFormat::OpenAiChat => openai::read_chat(input, beside, &mut finder),
        ForeignFormat::Otel => otel::read(input, &mut finder),
    };
    finder.ended(format, done)
}

/// What one exchange is called; nothing where problems tell their place themselves.
fn noun(format: ForeignFormat) -> &'static str {
    match format {
        ForeignFormat::Vcr | ForeignFormat::VcrJson => "interaction",
        ForeignFormat::Har | ForeignFormat::AgentLoom => "entry",
        ForeignFormat::Aimock => "fixture",
        ForeignFormat::Otel => "span",
        ForeignFormat::OpenAiBatch | ForeignFormat::OpenAiChat => "",
    }
}

impl ReadContext<'_> {
    /// What came of reading.
    pub(super) fn ended(
        self,
        format: ForeignFormat,
        done: Result<(), ReadProblem>,
    ) -> Result<(), ReadError> {
        let Self { meter, noun, found, stopped, .. } = self;
        let Err(problem) = done else { return Ok(()) };
        if stopped {
            return Ok(());
        }
        let place = match found {
            0 => String::new(),
            _ if noun.is_empty() => String::new(),
            found => format!("behind {noun} {found}: "),
        };
        Err(match problem {
            ReadProblem::TooLarge => ReadError::TooLarge { format, place },
            _ if meter.is_over() => ReadError::TooLarge { format, place },
            ReadProblem::Io(source) => ReadError::Io { source },
            ReadProblem::Form(problem) => {
                ReadError::Form { format, place, problem: unquoted(&problem) }
            }
        })
    }
}

/// What went wrong in a reader of one format.
#[derive(Debug)]
pub(super) enum ReadProblem {
    /// The file is not of the format.
    Form(String),
    /// One exchange takes too much of it.
    TooLarge,
    /// It could not be read.
    Io(std::io::Error),
}

impl From<serde_json::Error> for ReadProblem {
    fn from(error: serde_json::Error) -> Self {
        if error.is_io() { Self::Io(error.into()) } else { Self::Form(error.to_string()) }
    }
}

/// A reader's message without what it quotes of the file, which may be a credential;
/// in one line, and not too long a one.
fn unquoted(message: &str) -> String {
    let (mut out, mut rest) = (String::new(), message);
    while let Some(at) = rest.find("string \"") {
        out.push_str(&rest[..at + "string".len()]);
        let quoted = &rest[at + "string \"".len()..];
        rest = match quoted.rfind("\", expected").or_else(|| quoted.rfind('"')) {
            Some(end) => &quoted[end + 1..],
            None => "",
        };
    }
    out.push_str(rest);
    let line: Vec<&str> = out.split_whitespace().collect();
    line.join(" ").chars().take(400).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A file of a format, with some of its bytes changed.
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
                    \"model\":\"m\"}\n{\"custom_id\":\"a\",\"response\":{\"status_code\":1}}";
        let span = "{\"spans\":[{\"startTimeUnixNano\":\"99\",\"attributes\":[{\"key\":\
                    \"gen_ai.prompt.0.role\",\"value\":{\"stringValue\":\"user\"}},{\"key\":\
                    \"gen_ai.request.model\",\"value\":{\"arrayValue\":{\"values\":[]}}}]}]}";
        let files = vec![yaml, har, json, loom, aimock, chat, span];
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
                if let Err(error) = read(format, &bytes[..], &mut |_| ControlFlow::Continue(())) {
                    prop_assert!(error.to_string().len() < 2000);
                }
            }
            let _ = ForeignFormat::of(&bytes);
        }
    }

    #[test]
    fn messages_do_not_quote_what_stands_in_a_file() {
        let told = "invalid type: string \"Bearer a\\\"b\", expected a map at line 3 column 4";
        assert_eq!(unquoted(told), "invalid type: string, expected a map at line 3 column 4");
        assert_eq!(unquoted("a\n b"), "a b");
        assert_eq!(unquoted("string \"open"), "string");
    }
}
