//! The form in which a call wants its answer, beside what its recorded request says.

use loomrec_provider::RpcIds;

/// The form in which a call wants its answer.
#[derive(Clone, Copy, Debug, Default)]
pub struct AskedForm<'a> {
    /// The content codings that the client accepts.
    pub accept_encoding: Option<&'a str>,
    /// The ids that the client gave its requests in JSON-RPC.
    pub ids: Option<&'a RpcIds>,
    /// The session with a server of tools that the client names.
    pub rpc_session: Option<&'a str>,
    /// Whether the call asks for the rest of a stream of such a server.
    pub resumes_stream: bool,
}
