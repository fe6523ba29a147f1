//! The writer of faults as they are declared; reading its output gives the same fault.

use serde_json::{Map, Value, json};

use super::kind::{CountPer, Fault, GarbleKind, HANG_MS, HttpError};
use super::read::{garble_word, mode_word, raise_word, result_mode_word};
use super::tool_fault::{ToolCallChange, ToolFault, ToolResultMode};
use super::truncation::{FaultPoint, SocketClose, Truncation, TruncationEnd};

impl Fault {
    /// Returns the fault as an object; default values are left out.
    pub fn to_json(&self) -> Value {
        let mut out = FaultMembers(Map::new());
        out.set("type", self.name());
        match self {
            Self::Timeout { after_ms } => out.set("after_ms", *after_ms),
            Self::Hang { max_ms } | Self::Wedged { max_ms } => {
                out.set_some("max_ms", Some(*max_ms).filter(|max_ms| *max_ms != HANG_MS));
            }
            Self::Slow { delay_ms } => out.set("delay_ms", *delay_ms),
            Self::RecoverAfter { failures, per, fault } => {
                out.set("failures", *failures);
                let per = Some(*per).filter(|per| *per != CountPer::default());
                out.set_some("per", per.map(CountPer::as_str));
                if **fault != (Self::Hang { max_ms: HANG_MS }) {
                    out.set("fault", fault.to_json());
                }
            }
            Self::HttpError(error) => out.http_error(error),
            Self::MalformedResponse { raw } => out.set_some("raw", raw.as_deref()),
            Self::StreamTruncate(truncate) => out.set_truncation(truncate),
            Self::PartialResponse { content } => out.set_some("content", content.as_deref()),
            Self::ToolCallFault { change: ToolCallChange::Broken(mode) } => {
                let mode = Some(*mode).filter(|mode| *mode != ToolFault::default());
                out.set_some("mode", mode.map(mode_word));
            }
            Self::ToolCallFault { change: ToolCallChange::Replaced(replacement) } => {
                out.set_some("name", replacement.name.as_deref());
                out.set_some("arguments", replacement.arguments.clone());
            }
            Self::ToolResultFault { mode, message } => {
                let mode = Some(*mode).filter(|mode| *mode != ToolResultMode::default());
                out.set_some("mode", mode.map(result_mode_word));
                out.set_some("message", message.as_deref());
            }
            Self::StreamStall { after, for_ms } => {
                out.set_place(*after);
                out.set_some("for_ms", *for_ms);
            }
            Self::Throttle { bytes_per_second } => out.set("bytes_per_second", *bytes_per_second),
            Self::Slice { bytes, delay_ms } => {
                out.set("bytes", *bytes);
                out.set_some("delay_ms", Some(*delay_ms).filter(|delay_ms| *delay_ms != 0));
            }
            Self::StreamGarble { chunk, how } => {
                out.set("chunk", *chunk);
                let how = Some(*how).filter(|how| *how != GarbleKind::default());
                out.set_some("how", how.map(garble_word));
            }
            Self::Malformed { whole } => out.set_some("whole", Some(*whole).filter(|whole| *whole)),
            Self::WrongLength { by } => out.set("by", *by),
            Self::ConnectionReset
            | Self::ConnectionDrop
            | Self::BadEncoding
            | Self::Drop
            | Self::RateLimit
            | Self::Disconnect => {}
        }
        Value::Object(out.0)
    }
}

struct FaultMembers(Map<String, Value>);

impl FaultMembers {
    fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.to_owned(), value.into());
    }

    fn set_some(&mut self, name: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.set(name, value);
        }
    }

    fn set_place(&mut self, after: FaultPoint) {
        match after {
            FaultPoint::Default => {}
            FaultPoint::Chunks(count) => self.set("after_chunks", count),
            FaultPoint::Events(count) => self.set("after_events", count),
            FaultPoint::TextEvents(count) => self.set("after_text_events", count),
            FaultPoint::Bytes(count) => self.set("after_bytes", count),
        }
    }

    fn set_truncation(&mut self, truncate: &Truncation) {
        self.set_place(truncate.after);
        let is_usual = truncate.close.is_some() || truncate.raise == TruncationEnd::default();
        let is_default = is_usual && truncate.exception.is_none();
        self.set_some("raise", (!is_default).then(|| raise_word(truncate)));
        self.set_some("status_code", truncate.status_code);
        self.set_some("message", truncate.message.as_deref());
        if let Some(SocketClose { code, reason }) = &truncate.close {
            self.set("code", *code);
            self.set_some("reason", Some(reason.as_str()).filter(|reason| !reason.is_empty()));
        }
    }

    fn http_error(&mut self, error: &HttpError) {
        self.set("status_code", error.status_code);
        if !error.headers.is_empty() {
            let mut headers: Map<String, Value> = Map::new();
            for (name, value) in &error.headers {
                match headers.get_mut(name) {
                    None => drop(headers.insert(name.clone(), json!(value))),
                    Some(Value::Array(values)) => values.push(json!(value)),
                    Some(one) => *one = json!([one, value]),
                }
            }
            self.set("headers", headers);
        }
        self.set_some("body", error.body.clone());
        self.set_some("message", error.message.as_deref());
        self.set_some("code", error.code.as_deref());
        self.set_some("retry_after", error.retry_after);
        self.set_some("retry_after_ms", error.retry_after_ms);
        self.set_some("x_should_retry", error.x_should_retry);
    }
}
