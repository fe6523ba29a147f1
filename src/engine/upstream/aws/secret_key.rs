//! The secrets of access keys: from the environment, from the files of AWS's tools, or from `aws`.

use std::env::{var, var_os};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::process::Command;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout};

use super::credential_file::secret_in;

/// How long `aws` may take to say its keys.
const AWS_TIME: Duration = Duration::from_secs(20);

/// For how long a key that was not found is not looked for again.
const MISSED_FOR: Duration = Duration::from_secs(5);

/// The largest file of profiles that is read, in bytes.
const MAX_FILE: u64 = 1 << 20;

/// Why a request cannot be signed again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// No place has the secret of the key.
    #[error(
        "the program signs with the access key …{0}, and neither AWS_ACCESS_KEY_ID and \
         AWS_SECRET_ACCESS_KEY, nor a profile, nor `aws configure export-credentials` has its \
         secret: give loomrec the same keys, or use --intercept, which keeps the program's own \
         signature"
    )]
    UnknownKey(String),
    /// The secret is another than that of the client.
    #[error(
        "the secret that loomrec has for the access key …{0} is not the one that the program signs \
         with, or its signature is of another time: give both the same keys and the same time, or \
         use --intercept, which keeps the program's own signature"
    )]
    OtherSecret(String),
}

/// The secrets that were looked for.
#[derive(Debug, Default)]
pub(in crate::upstream) struct SecretKeys {
    last: Mutex<Option<LookedUpKey>>,
}

/// The access key that was looked for last.
struct LookedUpKey {
    key_id: String,
    secret: Option<String>,
    at: Instant,
}

impl std::fmt::Debug for LookedUpKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The secret must not be printed.
        f.write_str("LookedUpKey")
    }
}

impl SignatureError {
    /// Returns the error of a client that has another secret for its key.
    pub(in crate::upstream) fn other_secret(key_id: &str) -> Self {
        Self::OtherSecret(end_of(key_id))
    }
}

impl SecretKeys {
    /// Returns the secret of an access key. `may_ask` says whether `aws` is run for it.
    ///
    /// # Errors
    /// No place has it.
    pub(in crate::upstream) async fn secret_of(
        &self,
        key_id: &str,
        may_ask: bool,
    ) -> Result<String, SignatureError> {
        let unknown = || SignatureError::UnknownKey(end_of(key_id));
        if let Some(known) = self.known_secret(key_id) {
            return known.ok_or_else(unknown);
        }
        let mut secret = secret_of_environment(key_id);
        if secret.is_none() {
            let id = key_id.to_owned();
            secret = spawn_blocking(move || secret_of_files(&id)).await.ok().flatten();
        }
        if secret.is_none() && may_ask {
            secret = secret_of_command(key_id).await;
        }
        let looked_up =
            LookedUpKey { key_id: key_id.to_owned(), secret: secret.clone(), at: Instant::now() };
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(looked_up);
        secret.ok_or_else(unknown)
    }

    /// Returns what is known of a key; `None` if it must be looked for.
    fn known_secret(&self, key_id: &str) -> Option<Option<String>> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let last = last.as_ref().filter(|last| last.key_id == key_id)?;
        let is_known = last.secret.is_some() || last.at.elapsed() < MISSED_FOR;
        is_known.then(|| last.secret.clone())
    }
}

/// Returns the end of an access key's id, which messages show.
fn end_of(key_id: &str) -> String {
    let end = key_id.char_indices().rev().nth(3).map_or(0, |(at, _)| at);
    key_id[end..].to_owned()
}

/// Returns the secret of an access key that the environment has.
fn secret_of_environment(key_id: &str) -> Option<String> {
    let is_it = var("AWS_ACCESS_KEY_ID").is_ok_and(|own| own == key_id);
    var("AWS_SECRET_ACCESS_KEY").ok().filter(|secret| is_it && !secret.is_empty())
}

/// Returns the secret of an access key that a profile has.
fn secret_of_files(key_id: &str) -> Option<String> {
    let named = [("AWS_SHARED_CREDENTIALS_FILE", "credentials"), ("AWS_CONFIG_FILE", "config")];
    let files = named.into_iter().filter_map(|(variable, name)| {
        let own = || Some(PathBuf::from(var_os("HOME")?).join(".aws").join(name));
        var_os(variable).map(PathBuf::from).or_else(own)
    });
    let mut texts = files.filter(|file| file.metadata().is_ok_and(|data| data.len() <= MAX_FILE));
    texts.find_map(|file| secret_in(&std::fs::read_to_string(file).ok()?, key_id))
}

/// Returns the secret of an access key that `aws` says: that of a session, a role or single sign-on.
async fn secret_of_command(key_id: &str) -> Option<String> {
    let mut command = Command::new("aws");
    command.args(["configure", "export-credentials", "--format", "process"]);
    command.stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let output = timeout(AWS_TIME, command.output()).await.ok()?.ok()?;
    let keys: Value = serde_json::from_slice(&output.stdout).ok()?;
    let is_it = keys["AccessKeyId"].as_str() == Some(key_id);
    keys["SecretAccessKey"].as_str().filter(|_| is_it).map(str::to_owned)
}
