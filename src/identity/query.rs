//! Query strings without their credentials.
//!
//! Credentials are removed from the query before the request is hashed or stored. The key is made
//! of the rest, so a recorded request has the same key as the live one.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

use super::digest::{as_text, sha256_hex};

/// Names of parameters that carry a credential: in lower case, without `-`, `_` and `.`.
const CREDENTIALS: [&str; 38] = [
    "accesskey",
    "accesskeyid",
    "accesstoken",
    "apikey",
    "apitoken",
    "auth",
    "authkey",
    "authorization",
    "authtoken",
    "awsaccesskeyid",
    "bearer",
    "bearertoken",
    "clientsecret",
    "credential",
    "credentials",
    "googleaccessid",
    "idtoken",
    "jwt",
    "key",
    "oauthsignature",
    "oauthtoken",
    "passphrase",
    "passwd",
    "password",
    "privatekey",
    "privatetoken",
    "pwd",
    "refreshtoken",
    "secret",
    "secretkey",
    "securitytoken",
    "sessiontoken",
    "sharedkey",
    "sig",
    "signature",
    "subscriptionkey",
    "token",
    "xgoogapikey",
];

/// Prefixes of parameter names that belong to a signed URL, in lower case. All parts of a signature
/// are removed, the date too, because they change with every call.
const SIGNATURES: [&str; 6] = [
    "x-amz-",
    "x-goog-algorithm",
    "x-goog-credential",
    "x-goog-date",
    "x-goog-expires",
    "x-goog-sign",
];

/// A parameter that is a credential only if its value has the form of a token.
const MAYBE: &str = "code";

/// The prefix of a digest that replaces a value.
const DIGEST: &str = "sha256:";

/// How many digits such a digest has.
const DIGITS: usize = 16;

/// Which parameters of a query are credentials.
#[derive(Clone, Copy, Debug)]
pub struct QueryRules<'a> {
    /// Whether the upstream is a provider whose parameters are known. Then the name alone decides
    /// that a parameter is a credential. Otherwise it may be data.
    pub is_known: bool,
    /// Names of further parameters that are credentials with every upstream, in lower case.
    pub named: &'a [String],
}

impl QueryRules<'static> {
    /// The rules for a known provider.
    pub const KNOWN: Self = Self { is_known: true, named: &[] };
}

/// What is done with a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ParameterAction {
    /// It is kept as it came.
    Kept,
    /// It is left out.
    Dropped,
    /// A digest replaces its value, so that different values stay different.
    Digested,
}

impl QueryRules<'_> {
    /// The raw query without credentials: the other parameters stay as they came, in
    /// their order.
    pub fn without_credentials<'q>(&self, query: &'q str) -> Cow<'q, str> {
        if split_parameters(query)
            .all(|(_, name, value)| self.action_for(name, value) == ParameterAction::Kept)
        {
            return Cow::Borrowed(query);
        }
        let kept = split_parameters(query).filter_map(|(whole, name, value)| {
            match self.action_for(name, value) {
                ParameterAction::Kept => Some(Cow::Borrowed(whole)),
                ParameterAction::Dropped => None,
                ParameterAction::Digested => {
                    let digest = sha256_hex(decode_percent(value).as_bytes());
                    let digits = as_text(&digest).get(..DIGITS).unwrap_or_default();
                    Some(Cow::Owned(format!("{name}={DIGEST}{digits}")))
                }
            }
        });
        Cow::Owned(kept.collect::<Vec<_>>().join("&"))
    }

    /// The raw values that [`Self::without_credentials`] leaves out and that are secret. The
    /// parameters that say when and how a URL was signed are not: any text may hold such values.
    pub fn credentials<'q>(&self, query: &'q str) -> impl Iterator<Item = &'q str> {
        split_parameters(query)
            .filter(|(_, name, value)| {
                self.action_for(name, value) != ParameterAction::Kept && !is_stamp(name)
            })
            .map(|(_, _, value)| value)
    }

    fn action_for(&self, name: &str, value: &str) -> ParameterAction {
        let name = decode_percent(name).to_ascii_lowercase();
        if self.named.contains(&name) || is_signature(&name) {
            return ParameterAction::Dropped;
        }
        let by_form = name == MAYBE;
        if !by_form && !is_credential_name(&name) {
            return ParameterAction::Kept;
        }
        match (self.is_known, is_token(&decode_percent(value))) {
            (true, token) if token || !by_form => ParameterAction::Dropped,
            (false, true) => ParameterAction::Digested,
            _ => ParameterAction::Kept,
        }
    }
}

/// The parameters of a query: the raw text of each, its name and its value.
fn split_parameters(query: &str) -> impl Iterator<Item = (&str, &str, &str)> {
    query.split('&').map(|parameter| {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        (parameter, name, value)
    })
}

fn is_signature(name: &str) -> bool {
    SIGNATURES.iter().any(|signature| name.starts_with(signature))
}

/// Whether a decoded name, in lower case, names a credential.
fn is_credential_name(name: &str) -> bool {
    let plain = |byte: &u8| !matches!(byte, b'-' | b'_' | b'.');
    let is = |known: &&&str| name.bytes().filter(plain).eq(known.bytes());
    CREDENTIALS.iter().find(is).is_some()
}

/// Whether a parameter belongs to a signed URL without being secret: it says when or how the URL
/// was signed.
fn is_stamp(name: &str) -> bool {
    let name = decode_percent(name).to_ascii_lowercase();
    let ends = ["date", "expires", "algorithm", "signedheaders"];
    is_signature(&name) && ends.iter().any(|end| name.ends_with(end))
}

/// Whether a text has the form of a token: it has at least 20 characters, all of which a token may
/// have. Among them is a run of at least 16 letters and digits, with at least two of each and eight
/// different ones. Words, names, dates and UUIDs have shorter runs.
pub fn is_token(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
    let is_chance = |run: &str| {
        let digits = run.bytes().filter(u8::is_ascii_digit).count();
        let mut seen = [false; 256];
        run.bytes().for_each(|byte| seen[usize::from(byte)] = true);
        let different = seen.iter().filter(|seen| **seen).count();
        run.len() >= 16 && digits >= 2 && run.len() - digits >= 2 && different >= 8
    };
    text.len() >= 20
        && text.bytes().all(allowed)
        && text.split(|c: char| !c.is_ascii_alphanumeric()).any(is_chance)
}

/// The part of a stored query that enters the key: all but `alt=sse`, if that only chooses the mode
/// of delivery.
pub(super) fn key_part(query: &str, delivery: bool) -> String {
    let streams =
        |name, value| delivery && decode_percent(name) == "alt" && decode_percent(value) == "sse";
    let kept = split_parameters(query).filter(|(_, name, value)| !streams(name, value));
    kept.map(|(whole, _, _)| whole).collect::<Vec<_>>().join("&")
}

fn decode_percent(text: &str) -> Cow<'_, str> {
    percent_decode_str(text).decode_utf8_lossy()
}
