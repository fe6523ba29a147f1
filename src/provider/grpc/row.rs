//! The table rows of gRPC, and how its requests are recognised.

use super::error::error_head;
use super::is_grpc_media;
use crate::operation::{Operation, OperationRow};
use crate::provider_row::{ErrorRow, PathShape, Provider, ProviderRow};
use crate::request_head::RequestHead;

impl Provider {
    /// Any server that speaks gRPC.
    pub const GRPC: Self = Self::new(&PROVIDER);
}

impl Operation {
    /// A call over gRPC.
    pub const GRPC: Self = Self::new(&ROW);
}

static PROVIDER: ProviderRow = ProviderRow {
    name: "grpc",
    operations: &[Operation::GRPC],
    recognise,
    errors: ErrorRow { own_head: Some(error_head), ..ErrorRow::PLAIN },
    ..ProviderRow::UNNAMED
};

static ROW: OperationRow =
    OperationRow { name: "gRPC", word: "grpc", was_unknown: true, ..OperationRow::UNREAD };

/// Recognises a request by its media type, whatever its path.
fn recognise(seen: &RequestHead<'_>) -> Option<PathShape> {
    let mut headers = seen.headers.iter();
    let media = headers.find(|(name, _)| name == "content-type").map(|(_, value)| value)?;
    is_grpc_media(media).then(|| PathShape::new(Provider::GRPC, Operation::GRPC))
}
