//! Hashes of parts of requests.

use sha2::{Digest as _, Sha256};

use loomrec_identity::{Json, JsonStr, canonical};

/// A hash of a part of a request: half of a SHA-256, so that no file can pass off one text as
/// another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PartHash(u128);

/// The form in which a part is hashed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PartForm {
    /// As it is.
    Exact,
    /// Without what clients change in an old message without changing its meaning: marks for the
    /// provider's cache, and whether a text stands alone or as the only block of a list.
    Meaning,
}

/// The member that marks a block for a cache: Anthropic's.
const CACHE_MARK: &str = "cache_control";
/// The only member of a block that is a mark itself: Bedrock's.
const CACHE_BLOCK: &str = "cachePoint";

impl PartHash {
    /// Returns the hash of what a value means: marks for caches do not count.
    pub(crate) fn of_meaning(value: &Json<'_>) -> Self {
        Self::of_value(value, PartForm::Meaning)
    }

    /// Returns the hash of a value in every detail.
    pub(crate) fn of_exact(value: &Json<'_>) -> Self {
        Self::of_value(value, PartForm::Exact)
    }

    fn of_value(value: &Json<'_>, form: PartForm) -> Self {
        let mut out = Vec::new();
        write_value(value, form, &mut out);
        Self::of_bytes(&out)
    }

    /// Returns the hash of texts in this order.
    pub(crate) fn of_texts<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        let mut out = Vec::new();
        texts.into_iter().for_each(|text| write_text(text, &mut out));
        Self::of_bytes(&out)
    }

    /// Returns the hash of a sequence that ends with `next`. `self` is the hash of what is before.
    pub(crate) fn followed_by(self, next: Self) -> Self {
        let mut both = [0; 32];
        both[..16].copy_from_slice(&self.0.to_be_bytes());
        both[16..].copy_from_slice(&next.0.to_be_bytes());
        Self::of_bytes(&both)
    }

    fn of_bytes(bytes: &[u8]) -> Self {
        let hash = Sha256::digest(bytes);
        let mut half = [0; 16];
        half.copy_from_slice(&hash[..16]);
        Self(u128::from_be_bytes(half))
    }
}

/// Adds a value in a form that no other value has.
fn write_value(value: &Json<'_>, form: PartForm, out: &mut Vec<u8>) {
    match value {
        Json::Null => out.push(b'n'),
        Json::Bool(value) => out.push(if *value { b't' } else { b'f' }),
        Json::Number(_) => {
            out.push(b'0');
            write_text(&canonical::value_text(value), out);
        }
        Json::String(text) => write_text(&text.as_str(), out),
        Json::Array(items) => {
            out.push(b'[');
            let counts = |item: &&Json<'_>| form == PartForm::Exact || !is_cache_block(item);
            items.iter().filter(counts).for_each(|item| write_value(item, form, out));
            out.push(b']');
        }
        Json::Object(members) => {
            out.push(b'{');
            for (name, member) in members {
                write_member(*name, member, form, out);
            }
            out.push(b'}');
        }
    }
}

fn write_member(name: JsonStr<'_>, member: &Json<'_>, form: PartForm, out: &mut Vec<u8>) {
    if form == PartForm::Meaning && name == *CACHE_MARK {
        return;
    }
    write_text(&name.as_str(), out);
    match member {
        Json::String(_) if form == PartForm::Meaning && name == *"content" => {
            let block = Json::from_members([
                (JsonStr::from("type"), Json::from_text("text")),
                (JsonStr::from("text"), member.clone()),
            ]);
            write_value(&Json::Array(vec![block]), form, out);
        }
        _ => write_value(member, form, out),
    }
}

/// Whether a block is nothing but a mark for a cache.
fn is_cache_block(block: &Json<'_>) -> bool {
    matches!(block.as_object(), Some([(name, _)]) if *name == *CACHE_BLOCK)
}

fn write_text(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    out.extend_from_slice(&(text.len() as u64).to_le_bytes());
    out.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hashes(text: &str) -> (PartHash, PartHash) {
        let value = loomrec_identity::parse(text.as_bytes()).unwrap();
        (PartHash::of_exact(&value), PartHash::of_meaning(&value))
    }

    #[test]
    fn marks_for_caches_change_no_meaning() {
        let plain = hashes(r#"{"role":"user","content":"hi"}"#);
        for marked in [
            r#"{"role":"user","content":[{"type":"text","text":"hi"}]}"#,
            r#"{"content":[{"text":"hi","type":"text","cache_control":{"type":"ephemeral"}}],"role":"user"}"#,
            r#"{"role":"user","content":[{"type":"text","text":"hi"},{"cachePoint":{"type":"default"}}]}"#,
        ] {
            let found = hashes(marked);
            assert_ne!(found.0, plain.0, "{marked}");
            assert_eq!(found.1, plain.1, "{marked}");
        }
    }

    #[test]
    fn spelling_changes_no_hash_and_content_does() {
        assert_eq!(hashes(r#"{"a":"\u0061","b":1.0}"#), hashes(r#"{ "b": 1.0, "a": "a" }"#));
        let all = [
            r#"["a","b"]"#,
            r#"["ab"]"#,
            r#"["a",["b"]]"#,
            r#"{"a":"b"}"#,
            r#"["1"]"#,
            "[1]",
            "[2]",
            "[true]",
            "[null]",
            "[]",
            "{}",
            r#"[{"content":"a"}]"#,
            r#"[{"content":"b"}]"#,
        ];
        let mut exact: Vec<PartHash> = all.iter().map(|text| hashes(text).0).collect();
        let mut meant: Vec<PartHash> = all.iter().map(|text| hashes(text).1).collect();
        for found in [&mut exact, &mut meant] {
            found.sort_unstable();
            found.dedup();
            assert_eq!(found.len(), all.len());
        }
    }
}
