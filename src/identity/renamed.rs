//! Differences that rules for what clients make anew explain.

use super::canonical;
use super::json::Json;
use super::json_pointer::JsonPointer;
use super::json_text::JsonStr;
use super::normalize::{IdFinder, NormalizeRule};
use super::rules::IdentityRules;

impl IdentityRules {
    /// Returns the recorded value at `pointer`, in canonical text, with what the rules for what
    /// clients make anew find in it replaced by what they find in the value of this call: one after
    /// the other. So the two begin to differ where no rule explains it, and are equal if rules
    /// explain everything. `None` if no rule finds anything.
    pub fn with_ids_of(&self, pointer: &str, recorded: &str, now: &str) -> Option<String> {
        let place = pointer.trim_start_matches("body").trim_start_matches("/json");
        let place = JsonPointer::parse(place).ok()?;
        let rules = self.normalize().iter().filter(|rule| rule.is_at(&place));
        let finders = rules.filter_map(|rule| Some((rule, rule.finder()?)));
        let text = |text: &str| serde_json::from_str::<String>(text).ok();
        match (text(recorded), text(now)) {
            (Some(recorded), Some(now)) => {
                let renamed = finders.fold(recorded.clone(), |recorded, (_, finder)| {
                    with_finds_of(&finder, &recorded, &now)
                });
                let changed = (renamed != recorded).then_some(renamed)?;
                Some(canonical::text(&Json::String(JsonStr::from(changed.as_str()))))
            }
            (None, None) => {
                let are_of = |(rule, finder): (&NormalizeRule, IdFinder)| {
                    [recorded, now]
                        .iter()
                        .all(|text| text.parse::<f64>().is_ok() && rule.is_number(text, &finder))
                };
                finders.into_iter().any(are_of).then(|| now.to_owned())
            }
            _ => None,
        }
    }
}

/// Returns a text with what is found in it replaced by what is found in another one.
fn with_finds_of(finder: &IdFinder, text: &str, other: &str) -> String {
    let (mut renamed, mut at) = (String::with_capacity(text.len()), 0);
    for (range, new) in finder.find(text).into_iter().zip(finder.find(other)) {
        renamed.push_str(&text[at..range.start]);
        renamed.push_str(&other[new]);
        at = range.end;
    }
    renamed + &text[at..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn difference_in_what_a_rule_finds_is_told_from_others() {
        let rules = ["/a/*: uuid", "/a/*: hex32", "/n: duration", "/t: id (…);"];
        let rules = rules.map(|rule| NormalizeRule::parse(rule).unwrap());
        let rules = IdentityRules::default().with_normalize(rules);
        let renames = |pointer: &str, recorded: &str, now: &str| {
            rules.with_ids_of(pointer, recorded, now).as_deref() == Some(now)
        };
        let (one, other) = ("0190a5b2-7c1d-7e3f-8a9b-0c1d2e3f4a5b", "f".repeat(32));
        let text = |uuid: &str, hex: &str, rest: &str| format!("\"{uuid} {hex} {rest}\"");
        let (was, is) =
            (text(one, &other, "x"), text(&one.replace('0', "1"), &"e".repeat(32), "x"));
        assert!(renames("/a/0", &was, &is));
        assert!(renames("body/json/a/0/below", &was, &is));
        assert!(!renames("/b/0", &was, &is));
        assert!(!renames("/a/0", &was, &text(one, &other, "y")));
        assert!(!renames("/a/0", &was, "\"x\""));
        assert!(renames("/n", "0.5", "7") && !renames("/n", "0.5", "null"));
        assert!(!renames("/m", "0.5", "7"));
        assert!(renames("/t", "\"id 1; a\"", "\"id 22; a\""));
        // What is left is what no rule explains.
        let renamed = rules.with_ids_of("/t", "\"id 1; cat id 2;\"", "\"id 3; dog id 4; id 5;\"");
        assert_eq!(renamed.as_deref(), Some("\"id 3; cat id 4;\""));
        assert_eq!(rules.with_ids_of("/t", "\"cat\"", "\"dog\""), None);
    }
}
