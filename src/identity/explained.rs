//! Differences that rules for what clients make anew and the values of the two runs explain.

use super::canonical;
use super::frame::Frame;
use super::hole::HoleKind;
use super::json::Json;
use super::json_pointer::JsonPointer;
use super::json_text::JsonStr;
use super::normalize::NormalizeRule;
use super::rule_place::TextRole;
use super::rules::IdentityRules;
use super::run_binding::RunBinding;

impl IdentityRules {
    /// Returns the recorded value at `pointer`, in canonical text, with what the rules for what
    /// clients make anew find in it replaced by what they find in the value of this call, one after
    /// the other, and by this run's values. So the two begin to differ where nothing explains it, and
    /// are equal if everything is explained. `None` if no rule finds anything. `role` is that of the
    /// text, if it is one, and the values are the recorded one and that of this call.
    pub fn explained_value(
        &self,
        pointer: &str,
        role: Option<TextRole>,
        [recorded, now]: [&str; 2],
        runs: &RunBinding,
    ) -> Option<String> {
        let place = pointer.trim_start_matches("body").trim_start_matches("/json");
        let place = JsonPointer::parse(place).ok()?;
        let is_here = |rule: &&NormalizeRule| {
            rule.is_at(&place) || (role.is_some() && rule.text_role() == role)
        };
        let mut rules = self.normalize_rules().iter().filter(is_here);
        let text = |text: &str| serde_json::from_str::<String>(text).ok();
        match (text(recorded), text(now)) {
            (Some(recorded), Some(now)) => {
                let frames = rules.filter_map(NormalizeRule::frame);
                let explained = frames.fold(recorded.clone(), |recorded, frame| {
                    with_holes_of(frame, &recorded, &now, runs).unwrap_or(recorded)
                });
                let changed = (explained != recorded).then_some(explained)?;
                Some(canonical::value_text(&Json::String(JsonStr::from(changed.as_str()))))
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

/// Returns a recorded text with the holes of a frame filled as in a text of this run. `None` if the
/// frame does not hold for both.
fn with_holes_of(frame: &Frame, recorded: &str, now: &str, runs: &RunBinding) -> Option<String> {
    let own = runs.current_values().path_values();
    let texts = |kind: &HoleKind| {
        // The recorded text may have this run's paths already.
        let mut texts = [runs.recorded_values().texts_of(kind), own.texts_of(kind)].concat();
        texts.sort_by_key(|text| usize::MAX - text.len());
        texts
    };
    let (holes, filled) =
        (frame.find_holes(recorded, &texts)?, frame.holes_of(now, runs.current_values())?);
    let (mut explained, mut at) = (String::with_capacity(recorded.len()), 0);
    for (hole, filled) in holes.into_iter().zip(filled) {
        if let Some(name) = hole.kind.value_name() {
            let recorded_text = &recorded[hole.range.clone()];
            let was = runs.recorded_values().forms_of(name, recorded_text)
                | own.forms_of(name, recorded_text);
            if was & runs.current_values().forms_of(name, &now[filled.clone()]) == 0 {
                return None;
            }
        }
        explained.push_str(&recorded[at..hole.range.start]);
        explained.push_str(&now[filled]);
        at = hole.range.end;
    }
    Some(explained + &recorded[at..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_values::RunValues;

    #[test]
    fn difference_in_what_a_rule_finds_is_told_from_others() {
        let rules = ["/a/*: x-{{uuid}}-{{hex32}}", "/at: epoch", "tool: Took {{duration}};"];
        let rules = rules.map(|rule| NormalizeRule::parse(rule).unwrap());
        let rules = IdentityRules::default().with_normalize(rules);
        let runs = RunBinding::new(&RunValues::default(), &RunValues::default());
        let renames = |pointer: &str, recorded: &str, now: &str| {
            let role = pointer.starts_with("/t").then_some(TextRole::Tool);
            rules.explained_value(pointer, role, [recorded, now], &runs).as_deref() == Some(now)
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
        let (tool, texts) = (Some(TextRole::Tool), ["\"Took 1; cat\"", "\"Took 22; dog\""]);
        let renamed = rules.explained_value("/t/0", tool, texts, &runs);
        assert_eq!(renamed.as_deref(), Some("\"Took 22; cat\""));
        assert_eq!(rules.explained_value("/t", tool, ["\"cat\"", "\"dog\""], &runs), None);
        // A rule for texts of one role explains nothing in those of another, or in no text.
        for role in [Some(TextRole::User), Some(TextRole::System), None] {
            assert_eq!(rules.explained_value("/t/0", role, texts, &runs), None, "{role:?}");
        }
    }

    #[test]
    fn values_of_the_two_runs_fill_the_holes_that_name_them() {
        let rule = "system: Today is {{day}} in {{cwd}}, {{folder}}, {{var:root}}.";
        let rules = IdentityRules::default().with_normalize([NormalizeRule::parse(rule).unwrap()]);
        let values = |day: &str, cwd: &str| -> RunValues {
            [("day", day), ("cwd", cwd), ("root", &format!("{cwd}/root"))]
                .map(|(name, text)| (name.into(), text.into()))
                .into_iter()
                .collect()
        };
        let (old, new) = (values("2026-11-23", "/src/app"), values("2026-12-04", "/ci/b7"));
        let runs = RunBinding::new(&old, &new);
        let now = "\"Today is December 4, 2026 in /ci/b7, b7, /ci/b7/root. Be loud.\"";
        let system = Some(TextRole::System);
        let of =
            |was: &str| rules.explained_value("/messages/0/content", system, [was, now], &runs);
        let recorded = "\"Today is November 23, 2026 in /src/app, app, /src/app/root. Be kind.\"";
        let expected = now.replace("loud", "kind");
        assert_eq!(of(recorded).as_deref(), Some(expected.as_str()));
        // The values of another run.
        assert_eq!(of(&recorded.replace("23", "22")), None);
        // The same day in another form.
        let iso = now.replace("December 4, 2026", "2026-12-04");
        let explained =
            rules.explained_value("/messages/0/content", system, [recorded, &iso], &runs);
        assert_eq!(explained, None);
        // This run's path is in it already.
        let recorded = "\"Today is November 23, 2026 in /ci/b7, app, /ci/b7/root. Be kind.\"";
        assert_eq!(of(recorded).as_deref(), Some(expected.as_str()));
    }
}
