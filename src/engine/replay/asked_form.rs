//! The form in which a call wants its answer, beside what its recorded request says.

use super::ready_response::ReadyResponse;
use loomrec_provider::RpcIds;

/// The form in which a call wants its answer.
#[derive(Clone, Copy, Debug, Default)]
pub struct AskedForm<'a> {
    /// The content codings that the client accepts.
    pub accept_encoding: Option<&'a str>,
    /// The ids that the client gave its requests in JSON-RPC.
    pub ids: Option<&'a RpcIds>,
}

impl<'a> AskedForm<'a> {
    /// Returns the ids that an answer needs if its own are others.
    pub(super) fn other_ids(&self, answer: &ReadyResponse) -> Option<&'a RpcIds> {
        let recorded = answer.ids.as_deref()?;
        self.ids.filter(|here| *here != recorded)
    }
}
