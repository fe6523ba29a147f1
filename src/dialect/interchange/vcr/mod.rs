//! Cassettes of VCR.py and pytest-recording, and of Ruby's VCR and Betamax, which are similar:
//! `interactions`, each a request and a response, in YAML or JSON.

mod interaction;
mod message;
mod read;
mod write;

pub(super) use read::{read_json, read_yaml};
pub(super) use write::{Cassette, Notation};
