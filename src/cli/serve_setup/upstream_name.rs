//! The check of upstream names: one that is almost the name of a known upstream is a typo.

use super::upstream_address::without_secrets;
use crate::exit::CommandFailure;
use loomrec_engine::route::is_upstream_name;
use loomrec_identity::spelling;
use loomrec_provider::directory::{KnownUpstream, UPSTREAMS};

/// Refuses a name in `--upstream` that is one edit away from that of a known upstream, unless
/// `--new-upstream` declares it. With a misspelled name, the calls that were meant would go to the
/// known upstream's public address.
///
/// # Errors
/// Such a name; a value of `--new-upstream` that is no name.
pub fn check_names(addresses: &[String], declared: &[String]) -> Result<(), CommandFailure> {
    if let Some(text) = declared.iter().find(|text| !text.is_empty() && !is_upstream_name(text)) {
        return Err(CommandFailure::usage(format!(
            "--new-upstream {}: it takes the NAME of an --upstream NAME=URL",
            without_secrets(text)
        )));
    }
    match addresses.iter().find_map(|text| Some((text, misspelled_name(text, declared)?))) {
        Some((text, (name, meant))) => Err(misspelled(text, name, meant)),
        None => Ok(()),
    }
}

/// Returns the name in an address `NAME=URL`, and the known upstream that was probably meant, if
/// the name is misspelled and not declared.
pub fn misspelled_name<'t>(
    address: &'t str,
    declared: &[String],
) -> Option<(&'t str, &'static str)> {
    let (name, _) = address.split_once('=').filter(|(name, _)| is_upstream_name(name))?;
    if declared.iter().any(|declared| declared == name) {
        return None;
    }
    let known: Vec<&'static str> = UPSTREAMS.iter().map(|upstream| upstream.name).collect();
    Some((name, spelling::misspelled(name, &known)?))
}

fn misspelled(text: &str, name: &str, meant: &str) -> CommandFailure {
    let public = KnownUpstream::find(meant).and_then(|known| known.base);
    let public = match public {
        Some(base) => format!(" As it stands, calls to {meant} go to {base}."),
        None => String::new(),
    };
    CommandFailure::usage(format!(
        "--upstream {}: did you mean {meant}?{public} If {name} is an upstream of its own, declare \
         it with --new-upstream {name}",
        without_secrets(text)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(addresses: &[&str], declared: &[&str]) -> Result<(), String> {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let (addresses, declared): (Vec<_>, Vec<_>) = (owned(addresses), owned(declared));
        check_names(&addresses, &declared).map_err(|failure| failure.message)
    }

    #[test]
    fn name_that_is_almost_a_known_one_is_refused_unless_declared() {
        let said = checked(&["opnai=http://u:p@127.0.0.1:9"], &[]).unwrap_err();
        assert_eq!(
            said,
            "--upstream opnai=http://…@127.0.0.1:9: did you mean openai? As it stands, calls to \
             openai go to https://api.openai.com. If opnai is an upstream of its own, declare it \
             with --new-upstream opnai"
        );
        let said = checked(&["azur=http://127.0.0.1:9"], &["opnai"]).unwrap_err();
        assert!(said.contains("did you mean azure? If azur is"), "{said}");
        let fine = ["openai=http://127.0.0.1:9", "gateway=http://127.0.0.1:9", "http://opnai"];
        assert_eq!(checked(&fine, &[]), Ok(()));
        assert_eq!(checked(&["opnai=http://127.0.0.1:9"], &["", "opnai"]), Ok(()));
        assert!(checked(&[], &["a/b"]).unwrap_err().contains("--new-upstream a/b"));
    }
}
