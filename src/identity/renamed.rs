//! Differences that rules for what clients make anew explain.

use super::json_pointer::JsonPointer;
use super::normalize::{IdFinder, NormalizeRule};
use super::rules::IdentityRules;

impl IdentityRules {
    /// Whether a difference is one that the rules for what clients make anew leave out: of the
    /// value at `pointer`, in canonical text.
    pub fn renames(&self, pointer: &str, recorded: &str, now: &str) -> bool {
        let place = pointer.trim_start_matches("body").trim_start_matches("/json");
        let Ok(place) = JsonPointer::parse(place) else { return false };
        let rules: Vec<&NormalizeRule> =
            self.normalize().iter().filter(|rule| rule.is_at(&place)).collect();
        !rules.is_empty() && masked(&rules, recorded) == masked(&rules, now)
    }
}

/// Returns a string or a number in canonical text without what these rules find in it.
fn masked(rules: &[&NormalizeRule], text: &str) -> String {
    let finders = rules.iter().filter_map(|rule| Some((*rule, rule.finder()?)));
    let Ok(string) = serde_json::from_str::<String>(text) else {
        let is_number = |(rule, finder): (&NormalizeRule, IdFinder)| rule.is_number(text, &finder);
        let is_masked = text.parse::<f64>().is_ok() && finders.into_iter().any(is_number);
        return if is_masked { String::new() } else { text.to_owned() };
    };
    finders.fold(string, |text, (_, finder)| {
        let mut masked = String::new();
        let mut at = 0;
        for range in finder.find(&text) {
            masked.push_str(&text[at..range.start]);
            // No text of a program has this mark.
            masked.push('\u{10ffff}');
            at = range.end;
        }
        masked + &text[at..]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn difference_in_what_a_rule_finds_is_told_from_others() {
        let rules = ["/a/*: uuid", "/a/*: hex32", "/n: duration", "/t: id (…);"];
        let rules = rules.map(|rule| NormalizeRule::parse(rule).unwrap());
        let rules = IdentityRules::default().with_normalize(rules);
        let (one, other) = ("0190a5b2-7c1d-7e3f-8a9b-0c1d2e3f4a5b", "f".repeat(32));
        let text = |uuid: &str, hex: &str, rest: &str| format!("\"{uuid} {hex} {rest}\"");
        let (was, is) =
            (text(one, &other, "x"), text(&one.replace('0', "1"), &"e".repeat(32), "x"));
        assert!(rules.renames("/a/0", &was, &is));
        assert!(rules.renames("body/json/a/0/below", &was, &is));
        assert!(!rules.renames("/b/0", &was, &is));
        assert!(!rules.renames("/a/0", &was, &text(one, &other, "y")));
        assert!(!rules.renames("/a/0", &was, "\"x\""));
        assert!(rules.renames("/n", "0.5", "7") && !rules.renames("/n", "0.5", "null"));
        assert!(!rules.renames("/m", "0.5", "7"));
        assert!(rules.renames("/t", "\"id 1; a\"", "\"id 22; a\""));
    }
}
