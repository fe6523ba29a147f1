//! The remedy of a miss: what people can do about it, in one sentence.

use super::mismatch::{RecordingMismatchError, RequestDifference, short_name};
use super::reason::MissReason;
use loomrec_dialect::plain_entry::BY_MESSAGES_TOOL;
use loomrec_identity::header;
use loomrec_identity::printable::quote_word;

/// What fetches an answer in a session.
const AGAIN: &str = "record this session again";

/// The beginning of the place of a header.
const HEADER: &str = "header ";

/// The place of the host that calls go to.
pub(super) const HOST: &str = "host";

impl RecordingMismatchError {
    /// Returns what to do about it.
    pub fn remedy(&self) -> String {
        let file =
            self.recordings.first().map_or_else(|| "FILE".to_owned(), |file| quote_word(file));
        let file = file.as_str();
        let fetch = match self.is_of_session {
            true => AGAIN.to_owned(),
            false => fetch_commands(file),
        };
        if let Some(entry) = &self.same_messages {
            let entry = short_name(entry);
            return format!(
                "The entry {entry} has the hash of its messages alone, as {BY_MESSAGES_TOOL} makes it: \
                 nobody can check model, temperature and tools. Let such entries answer with \
                 `--allow-unchecked`, or fetch an answer that can be checked: {fetch}"
            );
        }
        match self.reason {
            MissReason::Exhausted => format!(
                "The call was recorded fewer times than it is made now. If that is meant, {fetch}; \
                 or, without --strict, replay with `--repeat last`"
            ),
            MissReason::Incomplete => {
                format!("Its answer was not recorded whole. To fetch it, {fetch}")
            }
            MissReason::OtherSession => format!(
                "Send the session it was recorded in. To fetch an answer for this one, {fetch}"
            ),
            // The pending file does not hold such calls: they are in the recording already.
            MissReason::OtherRules => format!(
                "Record it again under the rules of the first recording: \
                 `loomrec record -r {file} -- CMD`"
            ),
            _ => {
                let hint = self.header_hint().or_else(|| self.host_hint()).unwrap_or_default();
                let noise = self.noise_hint(file).unwrap_or_default();
                format!("{hint}If the change is meant, {fetch}{noise}")
            }
        }
    }

    /// Returns the command that proposes rules, if rules can explain all differences.
    fn noise_hint(&self, file: &str) -> Option<String> {
        self.nearest.as_ref().filter(|nearest| nearest.is_noise && !self.is_of_session)?;
        Some(format!(
            ". The differences are ids, times and the like, which rules can bind. After a replay \
             with --pending, this proposes the rules: `loomrec noise {file} --pending`"
        ))
    }

    /// Returns what to do if the call goes to another host of its provider.
    fn host_hint(&self) -> Option<String> {
        let mut differences = self.nearest.as_ref()?.differences.iter();
        let recorded =
            differences.find(|difference| difference.place == HOST)?.recorded.as_ref()?;
        let (upstream, host) = (&self.upstream, recorded.trim_matches('"'));
        Some(format!(
            "If it was recorded with --upstream {upstream}=https://{host}, give that flag again. "
        ))
    }

    /// Returns what to do if a header differs.
    fn header_hint(&self) -> Option<String> {
        let differences = &self.nearest.as_ref()?.differences;
        let named = |difference: &&RequestDifference| difference.place.starts_with(HEADER);
        let difference = differences.iter().find(named)?;
        let name = difference.place.strip_prefix(HEADER)?;
        let why = match (&difference.recorded, header::environment_variable(name)) {
            (None, _) => format!(
                "The recorded call has no {name}: it was sent without, or recorded by a loomrec \
                 that did not keep this header"
            ),
            (Some(_), Some(variable)) => {
                format!("SDKs send {name} where {variable} is set: set it as it was recorded")
            }
            (Some(_), None) => format!("The call was recorded with another {name}"),
        };
        Some(format!("{why}. Where this header does not matter, give --ignore header:{name}. "))
    }
}

/// Returns the commands that fetch the answers of missed calls alone. Unlike a new recording, they
/// leave no take behind that no call asks for: the review replaces the takes that have changed.
fn fetch_commands(file: &str) -> String {
    format!(
        "replay with `--pending`, then run `loomrec rerecord {file} --pending` and \
         `loomrec review {file}`"
    )
}
