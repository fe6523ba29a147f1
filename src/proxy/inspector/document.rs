//! The inspector's page: one HTML document, and its security policy.
//!
//! The document is composed of the files in `page/` when loomrec is built. Its policy names its
//! script and its style by their hashes, so that nothing else can run in it, whatever text a
//! recording contains.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use sha2::{Digest as _, Sha256};

/// The document, with a placeholder for the style and one for the script.
const PAGE: &str = include_str!("page/page.html");
/// The styles: that of the whole page, that of the views of the list, that of a call's details.
const STYLES: &[&str] = &[
    include_str!("page/style.css"),
    include_str!("page/views.css"),
    include_str!("page/detail.css"),
];
/// The scripts, in the order in which they are joined into one. The last one starts the page.
const SCRIPTS: &[&str] = &[
    include_str!("page/text.js"),
    include_str!("page/state.js"),
    include_str!("page/search.js"),
    include_str!("page/filter.js"),
    include_str!("page/rows.js"),
    include_str!("page/list.js"),
    include_str!("page/order.js"),
    include_str!("page/conversations.js"),
    include_str!("page/waterfall.js"),
    include_str!("page/questions.js"),
    include_str!("page/diff.js"),
    include_str!("page/conversation.js"),
    include_str!("page/timeline.js"),
    include_str!("page/socket.js"),
    include_str!("page/mismatch.js"),
    include_str!("page/compare.js"),
    include_str!("page/export.js"),
    include_str!("page/detail.js"),
    include_str!("page/keys.js"),
    include_str!("page/live.js"),
    include_str!("page/main.js"),
];

/// The document as it is sent.
pub struct SentDocument {
    /// The page.
    pub text: String,
    /// The value of `content-security-policy`.
    policy: String,
}

impl SentDocument {
    /// Composes the document.
    pub fn compose() -> Self {
        Self::from_parts(PAGE, &STYLES.join("\n"), &SCRIPTS.join("\n"))
    }

    fn from_parts(page: &str, style: &str, script: &str) -> Self {
        let policy = format!(
            "default-src 'none'; script-src '{}'; style-src '{}'; connect-src 'self'; \
             img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
            policy_hash(script),
            policy_hash(style)
        );
        // The placeholders are searched before anything is inserted, so no inserted text can
        // contain one.
        let (head, rest) = page.split_once("/*STYLE*/").unwrap_or((page, ""));
        let (between, end) = rest.split_once("/*SCRIPT*/").unwrap_or((rest, ""));
        Self { text: [head, style, between, script, end].concat(), policy }
    }

    /// Returns the headers that the document is sent with, including those of every answer.
    pub fn headers(&self) -> HeaderMap {
        let mut headers = security_headers();
        if let Ok(policy) = HeaderValue::from_str(&self.policy) {
            headers.insert(header::CONTENT_SECURITY_POLICY, policy);
        }
        let opener = HeaderName::from_static("cross-origin-opener-policy");
        headers.insert(opener, HeaderValue::from_static("same-origin"));
        headers
    }
}

/// Returns the headers of every answer of the inspector.
pub fn security_headers() -> HeaderMap {
    let pairs = [
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cache-control", "no-store"),
        ("cross-origin-resource-policy", "same-origin"),
    ];
    let pair = |(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value));
    pairs.map(pair).into_iter().collect()
}

/// Returns the hash of a text in the form that a policy uses.
fn policy_hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}
