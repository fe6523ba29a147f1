//! The flags of `loomrec trust`, and of trust for one command.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use loomrec_store::BucketUrl;

/// `loomrec trust`.
#[derive(Debug, Args)]
#[command(after_help = "\
A loomrec.toml comes with a repository; the API keys are yours. So what leads calls, keys or
recordings elsewhere, or lets others call, holds from that file only if you trust it: upstreams
that are neither a provider's own address nor this machine, recordings in object stores, and flags
such as --on-miss, --listen, --allow-… and --no-guard. All other settings need no trust.

Trust holds for the file as it is: if it changes, loomrec asks again.

A pointer file (NAME.remote.json) comes with a repository, too. It is used only if you trust its
bucket: by this command, or since you have named the bucket to push or pull yourself.

Trust is kept in ~/.local/state/loomrec/trust, outside of the project. In CI, set LOOMREC_TRUST to
the hash that this command prints, to the URL of the bucket (s3://BUCKET), or to both, with a space
between them.

Exit code 0 if the file is trusted or needs no trust, 1 if you answer no, 2 without a terminal and
without --yes.

Examples:
  loomrec trust                # shows what loomrec.toml asks for, and asks you
  loomrec trust recordings/agent.remote.json
  loomrec trust s3://bucket
  loomrec trust --list
  loomrec trust --forget")]
pub struct TrustArgs {
    /// The settings file, a pointer file, or the URL of a bucket [default: the settings file of
    /// --config, or the nearest loomrec.toml]
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: Option<PathBuf>,
    /// Trust it without asking
    #[arg(short, long)]
    pub yes: bool,
    /// List what you trust
    #[arg(long, conflicts_with_all = ["file", "yes", "forget"])]
    pub list: bool,
    /// Stop trusting the file, whatever it contained when you trusted it, or the bucket
    #[arg(long, conflicts_with = "yes")]
    pub forget: bool,
}

/// What one command line, or its environment, trusts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrustGrant {
    /// The settings file of this SHA-256, in lower-case hex.
    Settings(String),
    /// The bucket, for pointer files.
    Bucket(BucketUrl),
}

/// Reads the SHA-256 of a settings file, or the URL of a bucket.
///
/// # Errors
/// A text of another form.
pub(super) fn trust_grant(text: &str) -> Result<TrustGrant, String> {
    if let Some(bucket) = BucketUrl::of_url(text) {
        return Ok(TrustGrant::Bucket(bucket));
    }
    let hash = text.strip_prefix("sha256:").unwrap_or(text);
    match hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        true => Ok(TrustGrant::Settings(hash.to_ascii_lowercase())),
        false => Err("give the SHA-256 of the settings file, 64 hex digits, as loomrec trust \
                      prints it, or the URL of a bucket, such as s3://BUCKET"
            .to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_is_read_in_both_forms_and_nothing_shorter() {
        let hash = "aB".repeat(32);
        let lower = Ok(TrustGrant::Settings("ab".repeat(32)));
        assert_eq!(trust_grant(&hash), lower);
        assert_eq!(trust_grant(&format!("sha256:{hash}")), lower);
        for wrong in ["", "1", &hash[1..], &format!("{hash}0"), &"g".repeat(64), "sha256:"] {
            assert!(trust_grant(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn bucket_is_read_from_the_url_of_anything_in_it() {
        for url in ["s3://bucket", "s3://bucket/agent"] {
            let granted = trust_grant(url).unwrap();
            assert_eq!(granted, TrustGrant::Bucket(BucketUrl::of_url("s3://bucket").unwrap()));
        }
        assert!(trust_grant("https://bucket").is_err());
    }
}
