//! The parts of a request that its key is made of.

/// How the key is formed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form<'a> {
    /// OpenAI-style chat completions: AgentLoom's hash, over the body alone.
    Chat,
    /// Everything else: the domain-tagged form.
    Tagged {
        /// What is asked for: an operation's name where several paths mean the
        /// same (`anthropic.messages`), else the raw path, with a verb that only
        /// chooses the delivery (Gemini's `:streamGenerateContent`) normalised.
        target: &'a str,
        /// Whether the body's top-level `stream` and `stream_options` and the
        /// query's `alt` only choose the mode of delivery, and so are left out.
        delivery: bool,
    },
}

/// One request, ready to be hashed: already freed of secrets, nothing else removed.
#[derive(Clone, Copy, Debug)]
pub struct RequestParts<'a> {
    /// How the key is formed.
    pub form: Form<'a>,
    /// The HTTP method, upper case.
    pub method: &'a str,
    /// The raw query without its `?`; credentials in it are left out of the key.
    pub query: &'a str,
    /// The request's headers, names in lower case, in the order they came. Only
    /// the few that change an answer enter the key.
    pub headers: &'a [(String, String)],
    /// The body's bytes.
    pub body: &'a [u8],
}
