//! Finds the line of a JSON pointer in a text, without building its values.

use std::borrow::Cow;
use std::fmt;

use serde::Deserializer as _;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// Returns the members of an object's text in order, including duplicates; `None` for any other
/// text.
pub(super) fn object_members(text: &str) -> Option<Vec<(Cow<'_, str>, &str)>> {
    struct MemberVisitor;
    impl<'de> Visitor<'de> for MemberVisitor {
        type Value = Vec<(Cow<'de, str>, &'de str)>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut members = Vec::new();
            while let Some((key, value)) = map.next_entry::<MemberName<'de>, &RawValue>()? {
                members.push((key.0, value.get()));
            }
            Ok(members)
        }
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    reader.deserialize_map(MemberVisitor).ok()
}

/// A member's name, borrowed if it contains no escape.
#[derive(serde::Deserialize)]
struct MemberName<'a>(#[serde(borrow)] Cow<'a, str>);

/// Returns the item at `index` of a list's text.
fn list_item(text: &str, index: usize) -> Option<&str> {
    struct ItemFinder(usize);
    impl<'de> Visitor<'de> for ItemFinder {
        type Value = Option<&'de str>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
            let (mut at, mut found) = (0, None);
            while let Some(item) = items.next_element::<&RawValue>()? {
                if at == self.0 {
                    found = Some(item.get());
                }
                at += 1;
            }
            Ok(found)
        }
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    reader.deserialize_seq(ItemFinder(index)).ok()?
}

/// Returns how many lines below the start of a text the value of a pointer begins. If the value
/// does not exist, the last existing value on the path counts.
pub(super) fn lines_below(text: &str, pointer: &str) -> usize {
    let mut value = text;
    for token in pointer.split('/').skip(1) {
        let name = token.replace("~1", "/").replace("~0", "~");
        let below = match value.trim_start().as_bytes().first() {
            Some(b'{') => object_members(value).and_then(|members| {
                members.into_iter().rev().find(|(key, _)| *key == name).map(|(_, value)| value)
            }),
            Some(b'[') => token.parse().ok().and_then(|index| list_item(value, index)),
            _ => None,
        };
        let Some(below) = below else { break };
        value = below;
    }
    let at = (value.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    let before = text.as_bytes().get(..at).unwrap_or_default();
    memchr::memchr_iter(b'\n', before).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_is_found_by_its_line() {
        let text = "{\n \"a\": [1,\n  {\"b/c\":\n 5}],\n \"d\": 1}";
        for (pointer, lines) in
            [("", 0), ("/a", 1), ("/a/1", 2), ("/a/1/b~1c", 3), ("/d", 4), ("/a/1/none", 2)]
        {
            assert_eq!(lines_below(text, pointer), lines, "{pointer}");
        }
        assert_eq!(lines_below("no json", "/a"), 0);
    }

    #[test]
    fn members_that_stand_there_twice_are_given_twice() {
        let found = object_members("{\"a\":1,\"\\u0061\":2}").unwrap();
        assert_eq!(found, [(Cow::from("a"), "1"), (Cow::from("a"), "2")]);
        assert!(object_members("[1]").is_none() && object_members("{\"a\":").is_none());
    }

    #[test]
    fn deep_texts_are_no_danger() {
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(lines_below(&deep, "/a/0/0"), 0);
    }
}
