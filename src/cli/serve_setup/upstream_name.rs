//! The check of upstream names: one that is almost the name of a known upstream is a typo.

use super::upstream_address::without_secrets;
use crate::exit::CommandFailure;
use loomrec_engine::route::is_upstream_name;
use loomrec_identity::spelling;
use loomrec_provider::directory::{KnownUpstream, UPSTREAMS};

/// Refuses a name in `--upstream` that is one edit away from that of a known upstream. With a
/// misspelled name, the calls that were meant would go to the known upstream's public address.
///
/// # Errors
/// Such a name.
pub fn check_names(addresses: &[String]) -> Result<(), CommandFailure> {
    match addresses.iter().find_map(|text| Some((text, misspelled_name(text)?))) {
        Some((text, (name, meant))) => Err(misspelled_failure(text, name, meant)),
        None => Ok(()),
    }
}

/// Returns the name in an address `NAME=URL`, and the known upstream that was probably meant, if
/// the name is misspelled.
pub fn misspelled_name(address: &str) -> Option<(&str, &'static str)> {
    let (name, _) = address.split_once('=').filter(|(name, _)| is_upstream_name(name))?;
    let known: Vec<&'static str> = UPSTREAMS.iter().map(|upstream| upstream.name).collect();
    Some((name, spelling::misspelled_name(name, &known)?))
}

fn misspelled_failure(text: &str, name: &str, meant: &str) -> CommandFailure {
    let public = KnownUpstream::find(meant).and_then(|known| known.base);
    let public = match public {
        Some(base) => format!(" As it stands, calls to {meant} go to {base}."),
        None => String::new(),
    };
    CommandFailure::usage(format!(
        "--upstream {}: did you mean {meant}?{public} If {name} is an upstream of its own, give \
         it another name",
        without_secrets(text)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(addresses: &[&str]) -> Result<(), String> {
        let addresses: Vec<String> = addresses.iter().map(|text| (*text).to_owned()).collect();
        check_names(&addresses).map_err(|failure| failure.message)
    }

    #[test]
    fn name_that_is_almost_a_known_one_is_refused() {
        let said = checked(&["opnai=http://u:p@127.0.0.1:9"]).unwrap_err();
        assert_eq!(
            said,
            "--upstream opnai=http://…@127.0.0.1:9: did you mean openai? As it stands, calls to \
             openai go to https://api.openai.com. If opnai is an upstream of its own, give it \
             another name"
        );
        let said = checked(&["azur=http://127.0.0.1:9"]).unwrap_err();
        assert!(said.contains("did you mean azure? If azur is"), "{said}");
        let fine = ["openai=http://127.0.0.1:9", "gateway=http://127.0.0.1:9", "http://opnai"];
        assert_eq!(checked(&fine), Ok(()));
    }
}
