//! The secrets of object stores, which no entry may hold, wherever it is kept: a program may print
//! its environment.

use loomrec_recording::redact::CallCredentials;

/// The variables whose values are secrets of the store.
const SECRETS: [&str; 10] = [
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_ACCESS_KEY_ID",
    "AZURE_STORAGE_ACCOUNT_KEY",
    "AZURE_STORAGE_ACCESS_KEY",
    "AZURE_STORAGE_SAS_TOKEN",
    "AZURE_STORAGE_SAS_KEY",
    "AZURE_STORAGE_CLIENT_SECRET",
    "AZURE_CLIENT_SECRET",
    "GOOGLE_SERVICE_ACCOUNT_KEY",
];

/// Returns the values of these variables.
pub(super) fn store_secrets() -> CallCredentials {
    let mut secrets = CallCredentials::default();
    for value in SECRETS.iter().filter_map(|name| std::env::var(name).ok()) {
        secrets.extend(&CallCredentials::of_value(&value));
    }
    secrets
}
