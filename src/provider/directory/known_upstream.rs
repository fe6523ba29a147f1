//! The properties of upstreams that are known by name.

use super::key_form::ApiKeyForm;
use crate::Provider;
use crate::credential::UpstreamCredential;

/// An upstream known by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownUpstream {
    /// Its name, which is also the first segment of its mount.
    pub name: &'static str,
    /// Its public base URL without a trailing slash; `None` if only the user knows it (the host of
    /// a resource or a region).
    pub base: Option<&'static str>,
    /// The provider whose error format it uses.
    pub provider: Provider,
    /// OpenTelemetry's name for it, if that differs from its provider's.
    pub semantic: Option<&'static str>,
    /// The variables from which its SDKs read the base URL. Those of an upstream without a base are
    /// of use only once its address is known.
    pub variables: &'static [BaseUrlVariable],
    /// The variables from which its SDKs read a key, and without which they refuse to start.
    pub keys: &'static [&'static str],
    /// The form of these keys.
    pub key_form: ApiKeyForm,
    /// A path that costs nothing and shows whether a key is valid.
    pub free_path: Option<&'static str>,
    /// How it expects a key.
    pub credential: UpstreamCredential,
}

/// An environment variable that holds a base URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BaseUrlVariable {
    /// Its name.
    pub name: &'static str,
    /// The path of its value after loomrec's origin: the mount, and the part of the path that this
    /// SDK expects in its base URL (`/openai/v1`).
    pub suffix: &'static str,
}

impl KnownUpstream {
    /// The host of its public base URL; `None` if only the user knows it, or it is on this machine.
    pub(super) fn public_host(&self) -> Option<&'static str> {
        let (_, host) = self.base?.split_once("://")?;
        (!host.contains(':')).then_some(host)
    }

    /// The port of its base URL, if that is on this machine.
    pub(super) fn local_port(&self) -> Option<u16> {
        let (_, host) = self.base?.split_once("://")?;
        host.split_once(':')?.1.parse().ok()
    }

    /// The part of a variable's suffix after the mount (`/v1`, or nothing). A value that the user
    /// had set, without this part, is the upstream's base URL.
    pub fn suffix_after_mount(&self, variable: &BaseUrlVariable) -> &'static str {
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
