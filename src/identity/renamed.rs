//! Differences that rules for what clients make anew explain.

use super::canonical;
use super::frame::Frame;
use super::json::Json;
use super::json_pointer::JsonPointer;
use super::json_text::JsonStr;
use super::normalize::NormalizeRule;
use super::rules::IdentityRules;

impl IdentityRules {
    /// Returns the recorded value at `pointer`, in canonical text, with what the rules for what
    /// clients make anew find in it replaced by what they find in the value of this call: one after
    /// the other. So the two begin to differ where no rule explains it, and are equal if rules
    /// explain everything. `None` if no rule finds anything.
    pub fn with_ids_of(&self, pointer: &str, recorded: &str, now: &str) -> Option<String> {
        let place = pointer.trim_start_matches("body").trim_start_matches("/json");
        let place = JsonPointer::parse(place).ok()?;
        let is_here = |rule: &&NormalizeRule| rule.is_at(&place) || rule.role().is_some();
        let mut rules = self.normalize().iter().filter(is_here);
        let text = |text: &str| serde_json::from_str::<String>(text).ok();
        match (text(recorded), text(now)) {
            (Some(recorded), Some(now)) => {
                let frames = rules.filter_map(NormalizeRule::frame);
                let renamed = frames.fold(recorded.clone(), |recorded, frame| {
                    with_holes_of(frame, &recorded, &now)
                });
                let changed = (renamed != recorded).then_some(renamed)?;
                Some(canonical::text(&Json::String(JsonStr::from(changed.as_str()))))
            }
            (None, None) => {
                let are_of = |rule: &NormalizeRule| {
                    let is_one = |text: &str| text.parse::<f64>().is_ok() && rule.is_number(text);
                    is_one(recorded) && is_one(now)
                };
                rules.any(are_of).then(|| now.to_owned())
            }
            _ => None,
        }
    }
}

/// Returns a text with the holes of a frame filled as in another text. Where the frame holds for
/// one of them only, it is the text itself.
fn with_holes_of(frame: &Frame, text: &str, other: &str) -> String {
    let (Some(old), Some(new)) = (frame.holes(text), frame.holes(other)) else {
        return text.to_owned();
    };
    let (mut renamed, mut at) = (String::with_capacity(text.len()), 0);
    for (range, new) in old.into_iter().zip(new) {
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
        let rules = ["/a/*: x-{{uuid}}-{{hex32}}", "/at: epoch", "tool: Took {{duration}};"];
        let rules = rules.map(|rule| NormalizeRule::parse(rule).unwrap());
        let rules = IdentityRules::default().with_normalize(rules);
        let renames = |pointer: &str, recorded: &str, now: &str| {
            rules.with_ids_of(pointer, recorded, now).as_deref() == Some(now)
        };
        let text = |uuid: &str, hex: &str, rest: &str| format!("\"x-{uuid}-{hex} {rest}\"");
        let (one, other) = ("0190a5b2-7c1d-7e3f-8a9b-0c1d2e3f4a5b", "f".repeat(32));
        let (was, is) =
            (text(one, &other, "x"), text(&one.replace('0', "1"), &"e".repeat(32), "x"));
        assert!(renames("/a/0", &was, &is));
        assert!(!renames("body/json/a/0/below", &was, &is));
        assert!(!renames("/b/0", &was, &is));
        assert!(!renames("/a/0", &was, &text(one, &other, "y")));
        assert!(!renames("/a/0", &was, "\"x\""));
        assert!(renames("/at", "1795392426", "1795392427.5") && !renames("/at", "1", "2"));
        assert!(!renames("/m", "1795392426", "1795392427"));
        assert!(renames("/t/0", "\"Took 1; a\"", "\"Took 22; a\""));
        // What is left is what no rule explains.
        let renamed = rules.with_ids_of("/t/0", "\"Took 1; cat\"", "\"Took 22; dog\"");
        assert_eq!(renamed.as_deref(), Some("\"Took 22; cat\""));
        assert_eq!(rules.with_ids_of("/t", "\"cat\"", "\"dog\""), None);
    }
}
