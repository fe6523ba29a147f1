//! What the errors of a store mean.

use object_store::Error;

use loomrec_identity::error_chain;

/// The meaning of a store's error.
pub(super) enum StoreFailure {
    /// The bucket does not exist.
    NoBucket,
    /// The credentials are wrong, too old, or not enough.
    Denied {
        /// The store's word, or the status.
        reason: String,
        /// What helps.
        hint: &'static str,
    },
    /// The clocks of this machine and of the store differ too much.
    ClockSkew,
    /// No credentials are set, and this machine has no role that gives some.
    NoCredentials,
    /// It does not know a header of the request. loomrec sends none but those of conditions that a
    /// store may not know.
    NoConditions,
    /// The address begins with `http://`, and that is not allowed.
    NoPlainHttp,
    /// Anything else, in one line.
    Other(String),
}

/// The codes of credentials that are not valid any more.
const EXPIRED: [&str; 4] =
    ["ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired", "RequestExpired"];

/// The codes of credentials that are wrong.
const WRONG: [&str; 5] = [
    "SignatureDoesNotMatch",
    "InvalidAccessKeyId",
    "InvalidToken",
    "AuthenticationFailed",
    "InvalidSecurity",
];

/// The codes of requests whose time is too far from that of the store.
const SKEWED: [&str; 2] = ["RequestTimeTooSkewed", "RequestInTheFuture"];

/// The codes of buckets that do not exist.
const NO_BUCKET: [&str; 2] = ["NoSuchBucket", "ContainerNotFound"];

/// The codes of requests with a condition, from stores that have none.
const NOT_IMPLEMENTED: [&str; 1] = ["NotImplemented"];

/// The addresses that machines of a cloud get the credentials of their role from.
const METADATA: [&str; 4] =
    ["latest/api/token", "latest/meta-data", "computeMetadata", "metadata/identity"];

/// The longest text of an error that is shown, in characters.
const LONGEST: usize = 300;

impl StoreFailure {
    pub(super) fn from_error(error: &Error) -> Self {
        let text = error_chain(error);
        let code = code_in(&text).unwrap_or_default();
        let known = |codes: &[&str]| codes.contains(&code.as_str());
        if known(&NO_BUCKET) {
            return Self::NoBucket;
        }
        if known(&NOT_IMPLEMENTED) || matches!(error, Error::NotImplemented { .. }) {
            return Self::NoConditions;
        }
        if known(&SKEWED) {
            return Self::ClockSkew;
        }
        if known(&EXPIRED) {
            let hint = "the credentials have expired: get new ones, such as a new \
                        AWS_SESSION_TOKEN";
            return Self::Denied { reason: code, hint };
        }
        if known(&WRONG) || matches!(error, Error::Unauthenticated { .. }) {
            let hint = "check the credentials in the environment, such as AWS_ACCESS_KEY_ID and \
                        AWS_SECRET_ACCESS_KEY";
            return Self::Denied { reason: code_or_status(code, "401"), hint };
        }
        if matches!(error, Error::PermissionDenied { .. }) {
            let hint = "these credentials lack the permission (docs/remote.md has those that are \
                        needed)";
            return Self::Denied { reason: code_or_status(code, "403"), hint };
        }
        if text.contains("URL scheme is not allowed") {
            return Self::NoPlainHttp;
        }
        if METADATA.iter().any(|path| text.contains(path)) {
            return Self::NoCredentials;
        }
        Self::Other(one_line_text(&root_cause(error)))
    }
}

fn code_or_status(code: String, status: &str) -> String {
    if code.is_empty() { status.to_owned() } else { code }
}

/// Returns what is wrong in the end, without the words of the clients in between.
fn root_cause(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(next) = cause {
        text = next.to_string();
        cause = next.source();
    }
    // The client of the store puts the number of its attempts before the cause.
    match text.split_once("retry_timeout: ").and_then(|(_, rest)| rest.split_once(" - ")) {
        Some((_, rest)) => rest.to_owned(),
        None => text,
    }
}

/// Returns the code in the body of an answer.
fn code_in(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("<Code>")?;
    let (code, _) = rest.split_once("</Code>")?;
    let is_code = code.len() <= 64 && code.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_code.then(|| code.to_owned())
}

/// Returns a text in one line that is safe to print.
fn one_line_text(text: &str) -> String {
    let plain: String =
        text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    let plain = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    match plain.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &plain[..at]),
        None => plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn generic(text: &str) -> Error {
        Error::Generic { store: "S3", source: text.to_owned().into() }
    }

    #[test]
    fn code_of_the_answer_decides() {
        let of = |text: &str| StoreFailure::from_error(&generic(text));
        assert!(matches!(of("<Error><Code>NoSuchBucket</Code></Error>"), StoreFailure::NoBucket));
        let expired = of("status 400: <Code>ExpiredToken</Code>");
        assert!(
            matches!(&expired, StoreFailure::Denied { reason, .. } if reason == "ExpiredToken")
        );
        let other = of("connection refused\u{1b}[31m\nagain");
        assert!(
            matches!(&other, StoreFailure::Other(text) if text.ends_with("refused [31m again"))
        );
        let long = of(&"é".repeat(1000));
        assert!(matches!(&long, StoreFailure::Other(text) if text.chars().count() == LONGEST + 1));
        assert!(matches!(of("<Code>\u{1b}</Code>"), StoreFailure::Other(_)));
    }

    #[test]
    fn status_is_the_reason_of_a_refusal_without_a_code() {
        let error = Error::PermissionDenied { path: "x".to_owned(), source: "".into() };
        let failure = StoreFailure::from_error(&error);
        assert!(matches!(failure, StoreFailure::Denied { reason, .. } if reason == "403"));
    }
}
