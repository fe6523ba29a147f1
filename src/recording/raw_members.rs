//! The members of a JSON object, each with its value as it is written. What a JSON reader refuses to
//! decode, such as half of a character or a deep list, stays as it is.

use std::borrow::Cow;
use std::fmt;

use serde::Deserializer as _;
use serde::de::{MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// The members of a JSON object, in order.
#[derive(Clone, Debug, Default)]
pub struct RawMembers<'a>(Vec<RawMember<'a>>);

/// A member, in JSON.
#[derive(Clone, Debug)]
struct RawMember<'a> {
    name: Cow<'a, str>,
    value: Cow<'a, str>,
}

struct RawMembersVisitor;

impl<'a> Visitor<'a> for RawMembersVisitor {
    type Value = RawMembers<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<RawMembers<'a>, A::Error> {
        let mut members = Vec::new();
        while let Some((name, value)) = map.next_entry::<&RawValue, &RawValue>()? {
            let (name, value) = (Cow::Borrowed(name.get()), Cow::Borrowed(value.get()));
            members.push(RawMember { name, value });
        }
        Ok(RawMembers(members))
    }
}

impl<'a> RawMembers<'a> {
    /// Reads the members of an object; `None` for any other text.
    pub fn parse(text: &'a [u8]) -> Option<Self> {
        let mut reader = serde_json::Deserializer::from_str(std::str::from_utf8(text).ok()?);
        let members = reader.deserialize_map(RawMembersVisitor).ok()?;
        reader.end().ok()?;
        Some(members)
    }

    /// Returns the value of a member in JSON. Of several with this name, the last one counts.
    pub fn find_value(&self, name: &str) -> Option<&str> {
        let mut members = self.0.iter().rev();
        Some(&members.find(|member| member.is_named(name))?.value)
    }

    /// Returns the text of a member; `None` if it is no text that can be decoded.
    pub fn find_text(&self, name: &str) -> Option<String> {
        serde_json::from_str(self.find_value(name)?).ok()
    }

    /// Removes the members with this name. Returns whether there were any.
    pub fn remove_member(&mut self, name: &str) -> bool {
        let before = self.0.len();
        self.0.retain(|member| !member.is_named(name));
        self.0.len() < before
    }

    /// Sets a member to a value in JSON. A new member comes last.
    pub fn set_member(&mut self, name: &str, value: impl Into<Cow<'a, str>>) {
        let value = value.into();
        match self.0.iter_mut().rev().find(|member| member.is_named(name)) {
            Some(member) => member.value = value,
            None => self.0.push(RawMember { name: Value::from(name).to_string().into(), value }),
        }
    }

    /// Returns the object on one line, without spaces where its members can be decoded.
    pub fn to_line(&self) -> String {
        let members: Vec<_> = self
            .0
            .iter()
            .map(|RawMember { name, value }| {
                format!("{}:{}", on_one_line(name), on_one_line(value))
            })
            .collect();
        format!("{{{}}}", members.join(","))
    }
}

impl RawMember<'_> {
    fn is_named(&self, name: &str) -> bool {
        serde_json::from_str::<Cow<'_, str>>(&self.name).is_ok_and(|own| own == name)
    }
}

/// Returns JSON without line breaks, which it has between its parts alone.
fn on_one_line(json: &str) -> String {
    match serde_json::from_str::<Value>(json) {
        Ok(value) => value.to_string(),
        Err(_) => json.replace(['\n', '\r'], " "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_characters_and_deep_lists_stay_as_they_are() {
        let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
        let text = format!(r#" {{"type": "t\u0079pe", "\ud83d": "cut \ud83d",{}"#, "\n\"deep\":")
            + &deep
            + r#", "plain" : [1, 2.50]}"#;
        let mut members = RawMembers::parse(text.as_bytes()).unwrap();
        assert_eq!(members.find_text("type").as_deref(), Some("type"));
        assert_eq!((members.find_value("deep"), members.find_value("none")), (Some(&*deep), None));
        assert!(members.remove_member("deep") && !members.remove_member("deep"));
        members.set_member("stream", "true");
        members.set_member("type", "null");
        let line = r#"{"type":null,"\ud83d":"cut \ud83d","plain":[1,2.50],"stream":true}"#;
        assert_eq!(members.to_line(), line);
    }

    #[test]
    fn line_of_a_pretty_object_has_no_line_break() {
        let text = "{\n  \"a\": [\n    \"\\udc00\"\r\n  ],\n \"b\": {\n \"c\": \"\\n\" }\n}";
        let line = RawMembers::parse(text.as_bytes()).unwrap().to_line();
        assert_eq!(line, r#"{"a":[     "\udc00"    ],"b":{"c":"\n"}}"#);
    }

    #[test]
    fn last_of_several_members_counts() {
        let mut members = RawMembers::parse(br#"{"a":1,"\u0061":"2"}"#).unwrap();
        assert_eq!(members.find_text("a").as_deref(), Some("2"));
        assert!(members.remove_member("a"));
        assert_eq!(members.to_line(), "{}");
    }

    #[test]
    fn other_texts_have_no_members() {
        for text in ["[1]", "{\"a\":", "{} {}", "", "{\"a\":NaN}", "{\"a\":\"\\x\"}"] {
            assert!(RawMembers::parse(text.as_bytes()).is_none(), "{text}");
        }
        assert!(RawMembers::parse(b"{\"a\":\"\xff\"}").is_none());
    }
}
