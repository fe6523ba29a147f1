//! What is known of an upstream that is known by name.

use crate::Provider;
use crate::credential::UpstreamCredential;

/// An upstream known by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownUpstream {
    /// Its name, which is also the first segment of its mount.
    pub name: &'static str,
    /// Its public base URL without a trailing slash; `None` where only the user
    /// knows it (a resource's or a region's own host).
    pub base: Option<&'static str>,
    /// The shape its errors take.
    pub provider: Provider,
    /// OpenTelemetry's name of it, where that is not its provider's.
    pub semantic: Option<&'static str>,
    /// The variables its SDKs read their base URL from. Those of an upstream
    /// without a base are of use only once its address is known.
    pub variables: &'static [BaseUrlVariable],
    /// The variables its SDKs read a key from and refuse to start without.
    pub keys: &'static [&'static str],
    /// A path that costs nothing and tells whether a key is good.
    pub free_path: Option<&'static str>,
    /// How it is shown a key.
    pub credential: UpstreamCredential,
}

/// An environment variable that holds a base URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BaseUrlVariable {
    /// Its name.
    pub name: &'static str,
    /// What its value has behind loomrec's origin: the mount, and the part of the
    /// path that this SDK expects in its base (`/openai/v1`).
    pub suffix: &'static str,
}

impl KnownUpstream {
    /// The part of a variable's suffix behind the mount (`/v1`, or nothing). A
    /// value the user had set names this upstream's base once it is cut off.
    pub fn tail(&self, variable: &BaseUrlVariable) -> &'static str {
        variable
            .suffix
            .strip_prefix('/')
            .and_then(|suffix| suffix.strip_prefix(self.name))
            .unwrap_or("")
    }
}

pub(super) const fn var(name: &'static str, suffix: &'static str) -> BaseUrlVariable {
    BaseUrlVariable { name, suffix }
}
