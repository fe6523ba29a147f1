//! The journal in aimock's shape: the latest requests with their bodies, how each was answered, and
//! what a query asks of them.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::control::CompatRefusal;

/// The number of entries that are kept.
pub const KEPT: usize = 1000;
/// The longest body that is shown.
pub const LONGEST_BODY: usize = 64 << 10;

/// The parameters of a query.
const PARAMETERS: [&str; 8] =
    ["limit", "offset", "path", "method", "status", "service", "testId", "requestId"];

/// A request, and how it was answered.
#[derive(Clone, Debug)]
pub struct JournaledCall {
    /// Its number, from 1.
    pub number: u64,
    /// When it arrived, in microseconds since 1970.
    pub at_micros: i64,
    /// The test that it belongs to.
    pub test: Option<String>,
    /// The method.
    pub method: String,
    /// The path with its query.
    pub target: String,
    /// Names in lower case, and values.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Bytes,
    /// How it was answered.
    pub answer: JournaledAnswer,
}

/// How a request was answered.
#[derive(Clone, Debug, Default)]
pub struct JournaledAnswer {
    /// The status of the answer; 0 if there was none.
    pub status: u16,
    /// The name of the entry that answered, or would have.
    pub entry: Option<String>,
    /// The action of chaos that took its place: our name of it, and what would have answered.
    pub chaos: Option<(String, &'static str)>,
    /// Whether an upstream answered.
    pub is_live: bool,
    /// Whether the answer was not sent whole.
    pub is_cut: bool,
}

impl JournaledCall {
    /// Returns the entry as the journal shows it.
    pub fn to_json(&self) -> Value {
        let headers = self.headers.iter();
        let headers: Map<String, Value> =
            headers.map(|(name, value)| (name.clone(), value.as_str().into())).collect();
        json!({
            "id": format!("req-{}", self.number),
            "timestamp": self.at_micros / 1000,
            "method": self.method,
            "path": self.target,
            "headers": headers,
            "body": body_value(&self.body),
            "response": self.answer.to_json(),
        })
    }

    /// Returns about how many bytes it takes.
    pub fn approximate_bytes(&self) -> usize {
        let headers = self.headers.iter().map(|(name, value)| name.len() + value.len());
        let body = self.body.len().min(LONGEST_BODY);
        size_of::<Self>() + 2 * self.target.len() + headers.sum::<usize>() + body + 256
    }
}

impl JournaledAnswer {
    fn to_json(&self) -> Value {
        let mut out = Map::new();
        out.insert("status".to_owned(), self.status.into());
        let entry = self.entry.as_ref().map(|entry| json!({ "entry": entry }));
        out.insert("fixture".to_owned(), entry.unwrap_or(Value::Null));
        if let Some((action, front)) = &self.chaos {
            out.insert("chaosAction".to_owned(), action_word(action).into());
            out.insert("source".to_owned(), (*front).into());
        } else if self.is_live {
            out.insert("source".to_owned(), "proxy".into());
        }
        if self.is_cut && self.status != 0 {
            out.insert("interrupted".to_owned(), true.into());
        }
        Value::Object(out)
    }
}

/// Returns the word for an action of chaos.
pub fn action_word(action: &str) -> &str {
    match action {
        "rate_limit" => "rateLimit",
        other => other,
    }
}

/// Returns a body as the journal shows it: null if it is no JSON, a mark if it is too long.
fn body_value(body: &Bytes) -> Value {
    if body.len() > LONGEST_BODY {
        return json!({
            "__aimock_truncated": true,
            "originalByteSize": body.len(),
            "note": "body truncated by aimock journal cap (64 KB limit)",
        });
    }
    serde_json::from_slice(body).unwrap_or(Value::Null)
}

/// What a query asks of the journal.
#[derive(Debug, Default)]
pub struct JournalFilter {
    /// The most entries.
    pub limit: Option<usize>,
    /// How many of the entries are left out first.
    pub offset: usize,
    path: Option<String>,
    method: Option<String>,
    status: Option<usize>,
    service: Option<String>,
    test: Option<String>,
    request_id: Option<String>,
}

impl JournalFilter {
    /// Reads a query.
    ///
    /// # Errors
    /// A parameter that is unknown, or is no whole number.
    pub fn from_query(query: &str) -> Result<Self, CompatRefusal> {
        let mut filter = Self::default();
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
            let whole = |shape: &str| {
                let is_plain = value.trim().bytes().all(|byte| byte.is_ascii_digit());
                let number = value.trim().parse().ok().filter(|_| is_plain);
                number.ok_or_else(|| CompatRefusal(format!("Invalid '{name}': must be {shape}")))
            };
            let text = || Some(value.clone().into_owned());
            match &*name {
                "limit" => filter.limit = Some(whole("an integer >= 0")?),
                "offset" => filter.offset = whole("an integer >= 0")?,
                "status" => filter.status = Some(whole("an integer")?),
                "path" => filter.path = text(),
                "method" => filter.method = text(),
                "service" => filter.service = text(),
                "testId" => filter.test = text(),
                "requestId" => filter.request_id = text(),
                other => {
                    let known = PARAMETERS.join(", ");
                    let why = format!("Unknown query parameter: '{other}'. Supported: {known}");
                    return Err(CompatRefusal(why));
                }
            }
        }
        Ok(filter)
    }

    /// Whether the query asks for an entry.
    pub fn is_match(&self, entry: &JournaledCall) -> bool {
        let holds =
            |wanted: &Option<String>, is: &dyn Fn(&str) -> bool| wanted.as_deref().is_none_or(is);
        let has_header = |name: &str, value: &str| {
            entry.headers.iter().any(|(own, held)| own == name && held == value)
        };
        // A run has no mounted services.
        self.service.is_none()
            && self.status.is_none_or(|status| status == usize::from(entry.answer.status))
            && holds(&self.path, &|part| entry.target.contains(part))
            && holds(&self.method, &|method| entry.method.eq_ignore_ascii_case(method))
            && holds(&self.test, &|test| entry.test.as_deref() == Some(test))
            && holds(&self.request_id, &|id| has_header("x-request-id", id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_of_the_journal_names_known_parameters_and_whole_numbers() {
        let refused = |query: &str| {
            JournalFilter::from_query(query).err().map(|CompatRefusal(why)| why).expect("refused")
        };
        assert!(
            refused("sttus=1").starts_with("Unknown query parameter: 'sttus'. Supported: limit,")
        );
        assert_eq!(refused("limit=-1"), "Invalid 'limit': must be an integer >= 0");
        assert_eq!(refused("status=2x"), "Invalid 'status': must be an integer");
        let filter = JournalFilter::from_query("status=500&limit=2&offset=1").expect("read");
        assert_eq!((filter.status, filter.limit, filter.offset), (Some(500), Some(2), 1));
    }
}
