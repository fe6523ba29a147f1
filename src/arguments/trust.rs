//! The flags of `loomrec trust`, and of trust in a settings file for one command.

use std::path::PathBuf;

use clap::{Args, ValueHint};

/// `loomrec trust`.
#[derive(Debug, Args)]
#[command(after_help = "\
A loomrec.toml comes with a repository; the API keys are yours. So what leads calls, keys or
recordings elsewhere, or lets others call, holds from that file only if you trust it: upstreams
that are neither a provider's own address nor this machine, recordings in object stores, and flags
such as --on-miss, --listen, --allow-… and --no-guard. All other settings need no trust.

Trust holds for the file as it is: if it changes, loomrec asks again. It is kept in
~/.local/state/loomrec/trust, outside of the project. In CI, set LOOMREC_TRUST_SETTINGS to the hash
that this command prints.

Exit code 0 if the file is trusted or needs no trust, 1 if you answer no, 2 without a terminal and
without --yes.

Examples:
  loomrec trust                # shows what loomrec.toml asks for, and asks you
  loomrec trust --list
  loomrec trust --forget")]
pub struct TrustArgs {
    /// The settings file [default: that of --config, or the nearest loomrec.toml]
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: Option<PathBuf>,
    /// Trust the file without asking
    #[arg(short, long)]
    pub yes: bool,
    /// List what you trust
    #[arg(long, conflicts_with_all = ["file", "yes", "forget"])]
    pub list: bool,
    /// Stop trusting the file, whatever it contained when you trusted it
    #[arg(long, conflicts_with = "yes")]
    pub forget: bool,
}

/// Reads the SHA-256 of a settings file.
///
/// # Errors
/// A text of another form.
pub(super) fn settings_hash(text: &str) -> Result<String, String> {
    let hash = text.strip_prefix("sha256:").unwrap_or(text);
    match hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        true => Ok(hash.to_ascii_lowercase()),
        false => Err("give the SHA-256 of the settings file, 64 hex digits; loomrec trust prints \
                      it"
        .to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_is_read_in_both_forms_and_nothing_shorter() {
        let hash = "aB".repeat(32);
        let lower = Ok("ab".repeat(32));
        assert_eq!(settings_hash(&hash), lower);
        assert_eq!(settings_hash(&format!("sha256:{hash}")), lower);
        for wrong in ["", "1", &hash[1..], &format!("{hash}0"), &"g".repeat(64), "sha256:"] {
            assert!(settings_hash(wrong).is_err(), "{wrong}");
        }
    }
}
