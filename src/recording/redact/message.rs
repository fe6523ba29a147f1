//! Redaction of messages.

use std::borrow::Cow;

use bytes::Bytes;
use serde_json::Value;

use super::super::message::{MessagePayload, MessageSender, RecordedMessage};
use super::{CallCredentials, MARK, Placeholders, Redactor};

/// The members of a client's message that hold its key, in lower case: APIs take it there from
/// clients that can set no header.
const KEYS: [&str; 8] = [
    "xi_api_key",
    "xi-api-key",
    "api_key",
    "api-key",
    "apikey",
    "authorization",
    "access_token",
    "bearer_token",
];

/// Removes credentials from the messages of an exchange, those that a client names in its messages
/// from all of them.
pub fn redact_messages(
    messages: &mut [RecordedMessage],
    redactor: &Redactor,
    secrets: &CallCredentials,
    placeholders: &mut Placeholders,
) {
    let mut all = secrets.clone();
    for message in messages {
        message.take_keys(&mut all);
        message.redact(redactor, &all, placeholders);
    }
}

/// Replaces the keys that a JSON object names at its top, and adds them to `secrets`. Returns the new
/// text, if there was a key.
fn without_keys(text: &[u8], secrets: &mut CallCredentials) -> Option<Bytes> {
    if !text.trim_ascii_start().starts_with(b"{") {
        return None;
    }
    let Ok(Value::Object(mut members)) = serde_json::from_slice(text) else { return None };
    let mut is_changed = false;
    for (name, value) in &mut members {
        let is_key = KEYS.contains(&name.to_ascii_lowercase().as_str());
        if let (true, Value::String(key)) = (is_key, &mut *value)
            && !key.is_empty()
            && key != MARK
        {
            secrets.extend(&CallCredentials::of_value(key));
            *value = MARK.into();
            is_changed = true;
        }
    }
    is_changed.then(|| Value::Object(members).to_string().into())
}

impl RecordedMessage {
    /// Replaces the keys that a client's message names, and adds them to `secrets`.
    pub fn take_keys(&mut self, secrets: &mut CallCredentials) {
        if self.sender == MessageSender::Server {
            return;
        }
        if let MessagePayload::Text(text) | MessagePayload::Binary(text) = &mut self.payload
            && let Some(clean) = without_keys(text, secrets)
        {
            *text = clean;
        }
    }

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
    fn keys_that_a_client_names_leave_all_messages() {
        let message = |sender, text: &str| {
            RecordedMessage::new(sender, 1.0, MessagePayload::Text(text.to_owned().into()))
        };
        let mut messages = [
            message(MessageSender::Client, r#"{"text":" ","xi_api_key":"plainwords","n":1.50}"#),
            message(MessageSender::Client, r#"{"Api_Key":"x","keyboard":"y"}"#),
            message(MessageSender::Server, r#"{"error":"plainwords is no key"}"#),
        ];
        let redactor = Redactor::new(&[]).unwrap();
        let (secrets, mut numbered) = (CallCredentials::default(), Placeholders::default());
        redact_messages(&mut messages, &redactor, &secrets, &mut numbered);
        let texts = messages.map(|message| message.payload.as_bytes().to_vec());
        let texts = texts.map(|text| String::from_utf8(text).unwrap());
        assert_eq!(texts[0], r#"{"text":" ","xi_api_key":"[REDACTED]","n":1.50}"#);
        assert_eq!(texts[1], r#"{"Api_Key":"[REDACTED]","keyboard":"y"}"#);
        assert_eq!(texts[2], r#"{"error":"[REDACTED] is no key"}"#);
    }

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
