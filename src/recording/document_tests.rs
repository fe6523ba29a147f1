use super::*;

fn document(text: &str) -> Document {
    Document::parse(Bytes::copy_from_slice(text.as_bytes())).unwrap()
}

fn text(document: &Document) -> String {
    String::from_utf8(document.to_bytes()).unwrap()
}

fn entry(content: &str) -> Entry {
    Entry { content: Some(content.to_owned()), ..Entry::default() }
}

fn step(id: &str) -> EntryName {
    EntryName::step(id).unwrap()
}

#[test]
fn untouched_entries_keep_their_very_text() {
    let mut document = document("{\"_x\":[ 1 ],\"a\":{\"content\" :\"\\u00e9\"}, \"b\": {}}");
    document.adopt(&IdentityRules::default());
    document.record(&step("b"), entry("new"), true).unwrap();
    document.record(&step("c"), entry("more"), true).unwrap();
    let rest = "  \"a\": {\"content\" :\"\\u00e9\"},\n  \"b\": {\n    \"content\": \"new\"\n  },\n  \"c\": {\n    \"content\": \"more\"\n  }\n}\n";
    assert!(text(&document).ends_with(rest), "{}", text(&document));
    assert!(
        text(&document).starts_with("{\n  \"_x\": [ 1 ],\n  \"_version\": 2,\n  \"_loomrec\": {")
    );
    assert!(document.cassette().unwrap().is_loomrec());
}

#[test]
fn adopting_again_changes_nothing() {
    let mut first = document("{\"_version\": 2, \"a\": {}}");
    first.adopt(&IdentityRules::default());
    let once = text(&first);
    let mut second = document(&once);
    second.adopt(&IdentityRules::default());
    assert_eq!(text(&second), once);
}

#[test]
fn takes_of_a_hash_stay_together_in_place() {
    let hash = "ab".repeat(32);
    let name = EntryName::of_key(&hash).0;
    let mut document = document(&format!("{{\"{hash}\": {{}}, \"a\": {{}}, \"{hash}#3\": {{}}}}"));
    document.record(&name, entry("x"), false).unwrap();
    let keys: Vec<String> = document.members.iter().map(|member| member.key.clone()).collect();
    assert_eq!(keys, [hash.clone(), format!("{hash}#2"), format!("{hash}#3"), "a".to_owned()]);
    document.record(&name, entry("y"), true).unwrap();
    assert_eq!(document.members.len(), 2);
    assert!(document.contains(&name) && !document.contains(&step("zz")));
}

#[test]
fn unreadable_earlier_take_is_an_error_not_a_loss() {
    let mut document = document("{\"a\": [{\"cost_usd\": {}}]}");
    let before = text(&document);
    assert!(document.record(&step("a"), entry("x"), false).is_err());
    assert_eq!(text(&document), before);
}
