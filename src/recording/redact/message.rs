//! Redaction of messages.

use std::borrow::Cow;

use super::super::message::{MessagePayload, RecordedMessage};
use super::{CallCredentials, Placeholders, Redactor};

impl RecordedMessage {
    /// Removes credentials from the message.
    pub fn redact(
        &mut self,
        redactor: &Redactor,
        secrets: &CallCredentials,
        placeholders: &mut Placeholders,
    ) {
        match &mut self.payload {
            MessagePayload::Text(bytes) | MessagePayload::Binary(bytes) => {
                if let Cow::Owned(clean) = redactor.redact_body("", bytes, secrets, placeholders) {
                    *bytes = clean.into();
                }
            }
            MessagePayload::Close { reason, .. } => {
                *reason = redactor.redact_text(reason, secrets).into_owned();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::message::tests::conversation;
    use super::super::{EntryPart, Redactor};
    use super::*;
    use crate::EntryName;
    use loomrec_identity::IdentityRules;

    #[test]
    fn credentials_leave_messages_of_both_sides() {
        let secret = format!("sk-ant-api03-{}", "Ab12".repeat(8));
        let mut entry = conversation();
        let held = format!(r#"{{"token":"{secret}"}}"#);
        entry.messages[0].payload = MessagePayload::Text(held.clone().into());
        entry.messages[2].payload = MessagePayload::Binary(held.into());
        let reason = format!("the key {secret} is unknown");
        entry.messages[4].payload = MessagePayload::Close { code: 1008, reason };
        let (name, _) = EntryName::of_key("step");
        let redactor = Redactor::new(&[]).unwrap();
        let clean = redactor.redact_entry(&name, &entry, &IdentityRules::default());
        assert_eq!(clean.changed, [EntryPart::Messages]);
        assert!(!String::from_utf8(clean.entry.to_text()).unwrap().contains(&secret));
        assert_eq!(clean.entry.messages.len(), entry.messages.len());
        let again = redactor.redact_entry(&name, &clean.entry, &IdentityRules::default());
        assert_eq!(again.changed, []);
    }
}
