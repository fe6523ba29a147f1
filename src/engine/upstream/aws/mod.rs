//! Signatures of AWS (Signature Version 4). A program that calls loomrec by its address signs for
//! that address, so AWS would refuse the call: it is signed again, for the host that it goes to.

mod credential_file;
mod scope;
mod secret_key;
mod signature;

pub use scope::AwsScope;
pub(super) use secret_key::SecretKeys;
pub use secret_key::SignatureError;
pub(super) use signature::{is_signed_with, sign_request};
