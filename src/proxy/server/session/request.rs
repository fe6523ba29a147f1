//! The request for a session, as a control call states it.

use serde_json::{Map, Value};

use loomrec_engine::ClientEffect;
use loomrec_identity::typed_field::{
    FieldError, FieldReader, FieldStyle, NullRule, PlaceForm, ShownValue,
};

/// A member of a request.
#[derive(Clone, Copy, Debug)]
pub struct SessionMember {
    /// Its name.
    pub name: &'static str,
    /// What it can do to a strict replay.
    pub effect: ClientEffect,
}

/// The members of a request.
pub const SESSION_MEMBERS: [SessionMember; 12] = [
    member("prefix", ClientEffect::Harmless),
    member("name", ClientEffect::Harmless),
    // The receipts name it.
    member("recording", ClientEffect::Harmless),
    member("mode", ClientEffect::Harmless),
    member("faults", ClientEffect::Weakens),
    member("fault", ClientEffect::Weakens),
    // It decides which calls get the faults of a flag.
    member("seed", ClientEffect::Weakens),
    member("recovery", ClientEffect::Harmless),
    member("ignore", ClientEffect::Weakens),
    member("ignore_headers", ClientEffect::Weakens),
    member("normalize", ClientEffect::Weakens),
    member("vars", ClientEffect::Weakens),
];

const fn member(name: &'static str, effect: ClientEffect) -> SessionMember {
    SessionMember { name, effect }
}

/// The longest prefix, in bytes.
const LONGEST_PREFIX: usize = 200;
/// The longest name, in bytes.
const LONGEST_NAME: usize = 2000;

const STYLE: FieldStyle =
    FieldStyle { place: PlaceForm::Path, null: NullRule::Absent, shown: ShownValue::Never };

/// What a session does with calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionMode {
    /// Answers from the recording.
    Replay,
    /// Records every call.
    Record,
    /// Answers what the recording has, and records the rest.
    New,
}

impl SessionMode {
    /// Returns the word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Replay => "replay",
            Self::Record => "record",
            Self::New => "new",
        }
    }

    /// Whether a session in this mode writes a recording.
    pub fn is_recording(self) -> bool {
        self != Self::Replay
    }
}

/// Who began a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionBegin {
    /// Its first call.
    Call,
    /// A control call.
    Control,
}

/// The request for a session.
#[derive(Clone, Debug)]
pub struct SessionRequest {
    /// Who begins it.
    pub begun_by: SessionBegin,
    /// The prefix of its calls.
    pub prefix: String,
    /// Its name.
    pub name: String,
    /// The recording, relative to the folder of the template.
    pub recording: Option<String>,
    /// The mode. `None` for that of the command.
    pub mode: Option<SessionMode>,
    /// A fault plan.
    pub faults: Option<Value>,
    /// Faults as text.
    pub fault: Vec<String>,
    /// The seed for random decisions.
    pub seed: Option<u64>,
    /// The recovery budget.
    pub recovery: Option<String>,
    /// Places to ignore.
    pub ignore: Vec<String>,
    /// Headers to ignore.
    pub ignore_headers: Vec<String>,
    /// Rules for what clients make anew.
    pub normalize: Vec<String>,
    /// Values of the run, each as `NAME=VALUE`.
    pub vars: Vec<String>,
}

impl SessionRequest {
    /// Returns the request of a session that a call begins.
    pub(super) fn by_call(name: &str) -> Self {
        Self {
            begun_by: SessionBegin::Call,
            prefix: name.to_owned(),
            name: name.to_owned(),
            recording: None,
            mode: None,
            faults: None,
            fault: Vec::new(),
            seed: None,
            recovery: None,
            ignore: Vec::new(),
            ignore_headers: Vec::new(),
            normalize: Vec::new(),
            vars: Vec::new(),
        }
    }

    /// Reads the body of a control call.
    ///
    /// # Errors
    /// A member that is wrong.
    pub(super) fn from_json(value: &Value) -> Result<Self, FieldError> {
        let fields = FieldReader::from_value(value, "", "an object", STYLE)?;
        fields.refuse_unknown("a session", &SESSION_MEMBERS.map(|member| member.name))?;
        let prefix = fields.read_text("prefix")?.filter(|prefix| is_prefix(prefix));
        let expected = "1 to 200 bytes without / and control characters";
        let prefix = prefix.ok_or_else(|| fields.wrong_value("prefix", expected))?;
        let name = fields.read_text("name")?.unwrap_or_else(|| prefix.clone());
        if name.is_empty() || name.len() > LONGEST_NAME {
            return Err(fields.wrong_value("name", "a text of 1 to 2000 bytes"));
        }
        let modes = [
            ("replay", SessionMode::Replay),
            ("record", SessionMode::Record),
            ("new", SessionMode::New),
        ];
        Ok(Self {
            begun_by: SessionBegin::Control,
            recording: fields.read_text("recording")?,
            mode: fields.read_word("mode", &modes)?,
            faults: fields.read_object("faults", "an object")?.cloned().map(Value::Object),
            fault: read_texts(fields, "fault")?,
            seed: fields.read_whole_number("seed", 0..=u64::MAX, "a whole number")?,
            recovery: fields.read_text("recovery")?,
            ignore: read_texts(fields, "ignore")?,
            ignore_headers: read_texts(fields, "ignore_headers")?,
            normalize: read_texts(fields, "normalize")?,
            vars: read_variables(fields)?,
            prefix,
            name,
        })
    }

    /// Returns the members that weaken a strict replay.
    pub(super) fn weakening_members(&self) -> Vec<&'static str> {
        let Self {
            begun_by: _,
            prefix: _,
            name: _,
            recording,
            mode,
            faults,
            fault,
            seed,
            recovery,
            ignore,
            ignore_headers,
            normalize,
            vars,
        } = self;
        let given = [
            ("recording", recording.is_some()),
            ("mode", mode.is_some()),
            ("faults", faults.is_some()),
            ("fault", !fault.is_empty()),
            ("seed", seed.is_some()),
            ("recovery", recovery.is_some()),
            ("ignore", !ignore.is_empty()),
            ("ignore_headers", !ignore_headers.is_empty()),
            ("normalize", !normalize.is_empty()),
            ("vars", !vars.is_empty()),
        ];
        let weakens = |name: &str| {
            let member = SESSION_MEMBERS.iter().find(|member| member.name == name);
            member.is_none_or(|member| member.effect != ClientEffect::Harmless)
        };
        given
            .into_iter()
            .filter(|(name, is_given)| *is_given && weakens(name))
            .map(|it| it.0)
            .collect()
    }

    /// Returns the request with more values of the run. A value replaces an earlier one of its name.
    ///
    /// # Errors
    /// A member that is wrong.
    pub(super) fn with_vars(&self, added: &Map<String, Value>) -> Result<Self, FieldError> {
        let fields = FieldReader::new(added, "", STYLE);
        let added = read_variables(fields)?;
        let is_replaced = |known: &String| {
            let name = |text: &str| text.split_once('=').map(|(name, _)| name.to_owned());
            added.iter().any(|text| name(text) == name(known))
        };
        let mut all = self.clone();
        all.vars.retain(|known| !is_replaced(known));
        all.vars.extend(added);
        Ok(all)
    }
}

/// Whether a text can be a prefix.
pub(super) fn is_prefix(text: &str) -> bool {
    let is_bad = |letter: char| letter == '/' || letter.is_control();
    !text.is_empty() && text.len() <= LONGEST_PREFIX && !text.contains(is_bad)
}

/// Returns the texts of a list. One text is a list of one.
fn read_texts(fields: FieldReader<'_>, name: &str) -> Result<Vec<String>, FieldError> {
    if let Some(Value::String(one)) = fields.get(name) {
        return Ok(vec![one.clone()]);
    }
    let expected = "a list of texts";
    let list = fields.read_list(name, expected)?.unwrap_or_default();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    list.iter().map(|value| text(value).ok_or_else(|| fields.wrong_value(name, expected))).collect()
}

/// Returns the members of `vars`, each as `NAME=VALUE`.
fn read_variables(fields: FieldReader<'_>) -> Result<Vec<String>, FieldError> {
    let expected = "an object of names and texts";
    let Some(vars) = fields.read_object("vars", expected)? else { return Ok(Vec::new()) };
    let pair = |(name, value): (&String, &Value)| match value.as_str() {
        Some(text) if !name.contains('=') => Ok(format!("{name}={text}")),
        _ => Err(fields.wrong_value("vars", expected)),
    };
    vars.iter().map(pair).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn request_is_read_and_what_is_wrong_is_named() {
        let asked =
            json!({ "prefix": "gw0", "mode": "new", "fault": "429", "vars": { "tmp": "/t" } });
        let read = SessionRequest::from_json(&asked).unwrap();
        assert_eq!((read.name.as_str(), read.mode), ("gw0", Some(SessionMode::New)));
        assert_eq!((read.fault, read.vars), (vec!["429".to_owned()], vec!["tmp=/t".to_owned()]));
        for (wrong, named) in [
            (json!({}), "prefix"),
            (json!({ "prefix": "a/b" }), "prefix"),
            (json!({ "prefix": "a\nb" }), "prefix"),
            (json!({ "prefix": "a", "mode": "live" }), "mode"),
            (json!({ "prefix": "a", "fault": [1] }), "fault"),
            (json!({ "prefix": "a", "faults": [] }), "faults"),
            (json!({ "prefix": "a", "vars": { "x": 1 } }), "vars"),
            (json!({ "prefix": "a", "vars": { "x=y": "1" } }), "vars"),
            (json!({ "prefix": "a", "recordings": "x" }), "recordings"),
            (json!([]), "object"),
        ] {
            let error = SessionRequest::from_json(&wrong).unwrap_err().to_string();
            assert!(error.contains(named), "{wrong}: {error}");
        }
    }

    #[test]
    fn values_that_are_added_replace_those_of_their_name() {
        let asked = json!({ "prefix": "a", "vars": { "tmp": "/old", "x": "1" } });
        let first = SessionRequest::from_json(&asked).unwrap();
        let added = json!({ "prefix": "a", "vars": { "tmp": "/new" } });
        let all = first.with_vars(added.as_object().unwrap()).unwrap();
        assert_eq!(all.vars, ["x=1", "tmp=/new"]);
    }
}
