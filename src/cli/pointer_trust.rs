//! Trust in the buckets that pointer files name.
//!
//! A pointer file comes with a repository or a pull request, as a settings file does. What it names is
//! used only if the user trusts the bucket.

use std::path::Path;

use super::args::TrustGrant;
use super::exit::CommandFailure;
use super::settings::{Settings, SettingsTrust};
use super::terminal;
use super::trust_store::{TrustStore, TrustedItem};
use loomrec_store::BucketUrl;

/// The buckets that the command line, the environment or a trusted settings file names.
#[derive(Clone, Debug, Default)]
pub struct PointerTrust {
    named: Vec<BucketUrl>,
}

impl PointerTrust {
    /// Returns the trust of a command with these settings.
    pub fn from_settings(settings: &Settings) -> Self {
        let granted = settings.trust_grants().iter().filter_map(|grant| match grant {
            TrustGrant::Bucket(bucket) => Some(bucket.clone()),
            TrustGrant::Settings(_) => None,
        });
        let mut named: Vec<BucketUrl> = granted.collect();
        let pointed = settings.pointed_buckets();
        if !pointed.is_empty() && SettingsTrust::from_settings(settings) == SettingsTrust::Trusted {
            named.extend(pointed);
        }
        Self { named }
    }

    /// Refuses a pointer file to a bucket that the user does not trust.
    ///
    /// # Errors
    /// Names the bucket, and the command that mends it.
    pub fn require_trust(&self, pointer: &Path, bucket: &BucketUrl) -> Result<(), CommandFailure> {
        if self.named.contains(bucket) || is_trusted(bucket) {
            return Ok(());
        }
        let pointer = terminal::path_line(pointer);
        Err(CommandFailure::usage(format!(
            "{pointer} points to {bucket}, which nobody has trusted on this machine\n\
             If recordings may come from there and go there, run `loomrec trust {pointer}` once. In \
             CI, set LOOMREC_TRUST={bucket}"
        )))
    }
}

/// Whether the user trusts a bucket, by the user's store.
fn is_trusted(bucket: &BucketUrl) -> bool {
    TrustStore::of_user()
        .is_some_and(|store| store.is_trusted(&TrustedItem::Bucket(bucket.clone())))
}

/// Trusts a bucket that the user has typed. If that cannot be kept, pointer files to it need trust.
pub fn trust_typed(bucket: &BucketUrl) {
    if let Some(store) = TrustStore::of_user()
        && !is_trusted(bucket)
    {
        let _is_kept = store.add(&TrustedItem::Bucket(bucket.clone()));
    }
}
