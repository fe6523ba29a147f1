//! loomrec's own errors as answers over gRPC.

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use super::MEDIA;
use crate::provider_row::{HeaderList, OwnError};

/// What `grpc-message` encodes: everything but printable ASCII, and the sign of the encoding.
const ENCODED: &AsciiSet = &CONTROLS.add(b'%');

/// The longest message, in encoded bytes. Clients refuse heads of more than 8 KiB.
const LONGEST: usize = 4096;

/// The code for a call that no state of the system will answer: a retry would fail as well.
const FAILED_PRECONDITION: u32 = 9;

/// Returns the headers of an answer without a body that is an error of loomrec's own.
pub(super) fn error_head(error: &OwnError<'_>) -> HeaderList {
    vec![
        ("content-type", MEDIA.to_owned()),
        ("grpc-status", code_of(error.status).to_string()),
        ("grpc-message", encode_message(error.named)),
    ]
}

/// Returns the code for an HTTP status.
fn code_of(status: u16) -> u32 {
    match status {
        400 => 3,
        401 => 16,
        403 => 7,
        404 => 12,
        408 | 504 => 4,
        413 | 429 => 8,
        502 | 503 => 14,
        500 => 13,
        _ => FAILED_PRECONDITION,
    }
}

/// Returns the beginning of a message, encoded.
fn encode_message(message: &str) -> String {
    let mut text = String::new();
    for character in message.chars() {
        let mut bytes = [0; 4];
        let part = utf8_percent_encode(character.encode_utf8(&mut bytes), ENCODED).to_string();
        if text.len() + part.len() > LONGEST {
            break;
        }
        text.push_str(&part);
    }
    text
}

#[cfg(test)]
mod tests {
    use percent_encoding::percent_decode_str;

    use super::*;
    use crate::Provider;

    #[test]
    fn message_is_readable_and_bounded() {
        let (kind, message) = ("RecordingMismatchError", "100 % of ä\nlater");
        let headers = crate::error_head(Provider::GRPC, 422, kind, message).unwrap();
        assert_eq!(headers[1], ("grpc-status", "9".to_owned()));
        let message = &headers[2].1;
        assert_eq!(message, "RecordingMismatchError: 100 %25 of %C3%A4%0Alater");
        assert_eq!(
            percent_decode_str(message).decode_utf8().unwrap(),
            "RecordingMismatchError: 100 % of ä\nlater"
        );
        let long = encode_message(&"ä".repeat(5000));
        assert!(long.len() <= LONGEST && long.len() > LONGEST - 6);
        assert!(percent_decode_str(&long).decode_utf8().is_ok());
    }
}
