//! Changed answers: a recorded answer made to say that it was cut off by its length, or that it
//! calls a tool in a broken way; and results of tools that are broken.
//!
//! The change is made in the provider's own JSON, so that unknown fields are kept. A stream is
//! merged, changed, and split again: it keeps its ids and its usage, and gets new chunks, one per
//! event.

mod call;
mod not_applicable;
mod tool_result;

pub use not_applicable::NotApplicable;

use serde_json::Value;

use super::{Fault, ToolCallChange};
use loomrec_provider::{Answer, AnswerShape, Framing, ResponseFormat};

/// Returns the body of the answer as `fault` changes it ([`Fault::rewrites`]): one piece if it is
/// complete (`framing` is `None`), else the events of the stream.
///
/// # Errors
/// If the answer has no place for the change; [`NotApplicable`] says why.
pub fn rewrite_answer(
    fault: &Fault,
    format: &ResponseFormat<'_>,
    framing: Option<Framing>,
    body: &[u8],
) -> Result<Vec<Vec<u8>>, NotApplicable> {
    if !fault.rewrites() {
        return Err(NotApplicable::Fault { fault: fault.name() });
    }
    if let Fault::ToolResultFault { mode, message } = fault {
        return tool_result::break_answer(*mode, message.as_deref(), framing, body);
    }
    let complete = match framing {
        None => body.to_vec(),
        Some(framing) => loomrec_provider::to_complete(format, framing, body)?,
    };
    let operation = format.operation;
    let not_an_answer = NotApplicable::NotAnAnswer { operation: operation.name() };
    let answer =
        loomrec_provider::read_answer(operation, None, &complete).ok_or(not_an_answer.clone())?;
    let mut body: Value = serde_json::from_slice(&complete).map_err(|_| not_an_answer.clone())?;
    let shape = operation.answer_shape(&body).ok_or(not_an_answer)?;
    let marked = change_body(fault, shape, &answer, framing, &mut body)?;
    let bytes = body.to_string().into_bytes();
    let Some(framing) = framing else { return Ok(vec![bytes]) };
    let events = loomrec_provider::to_stream(&ResponseFormat { framing, ..*format }, &bytes)?;
    Ok(match marked {
        Some(marked) => call::replace_marks(framing, events, &marked),
        None => events,
    })
}

/// Changes the body of a complete answer. Arguments that can only be changed in the stream are
/// replaced by a mark.
fn change_body(
    fault: &Fault,
    shape: &AnswerShape,
    answer: &Answer,
    framing: Option<Framing>,
    body: &mut Value,
) -> Result<Option<call::MarkedArguments>, NotApplicable> {
    match fault {
        Fault::ToolCallFault { change: ToolCallChange::Broken(mode) } => {
            call::break_call(*mode, shape, framing.is_some(), body)
        }
        Fault::ToolCallFault { change: ToolCallChange::Replaced(replacement) } => {
            call::replace_call(replacement, shape, body)?;
            Ok(None)
        }
        Fault::PartialResponse { content } => {
            shape.cut_off(content.as_deref(), answer, body);
            Ok(None)
        }
        other => Err(NotApplicable::Fault { fault: other.name() }),
    }
}

#[cfg(test)]
mod tests;
