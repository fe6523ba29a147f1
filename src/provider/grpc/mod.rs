//! gRPC: calls over HTTP/2 that are recognised by their media type. Their path names the service and
//! the method, and their bodies are not read. An answer says in its trailers, or in the head of an
//! answer without a body, whether it succeeded.

mod error;
mod row;
mod status;

pub use status::GrpcStatus;

/// Whether a media type is that of gRPC over HTTP/2, with or without the name of its messages'
/// format. That of gRPC-Web, which any HTTP carries, is not.
pub fn is_grpc_media(media: &str) -> bool {
    let rest = media.get(..MEDIA.len()).filter(|start| start.eq_ignore_ascii_case(MEDIA));
    rest.is_some() && matches!(media.as_bytes().get(MEDIA.len()), None | Some(b'+' | b';' | b' '))
}

/// The media type of gRPC.
const MEDIA: &str = "application/grpc";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_types_of_grpc_are_recognised() {
        for media in ["application/grpc", "application/grpc+proto", "Application/gRPC; a=b"] {
            assert!(is_grpc_media(media), "{media}");
        }
        for other in ["application/grpc-web+proto", "application/grpcx", "application/json", ""] {
            assert!(!is_grpc_media(other), "{other}");
        }
    }
}
