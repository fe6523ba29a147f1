//! The vectors of an answer that is written.

use super::answer_draft::AnswerDraft;
use super::answer_form::ModeError;
use super::operation::ResponseFormat;

impl<'a> AnswerDraft<'a> {
    /// The vectors, which an answer that is asked for cannot do without, one for each
    /// text; JSON has no word for numbers that are not finite.
    pub(super) fn vectors(&self, asked: &ResponseFormat<'_>) -> Result<&'a [Vec<f64>], ModeError> {
        let vectors = &self.answer.embeddings;
        let kept = vectors.len();
        if kept == 0 || !vectors.iter().flatten().all(|number| number.is_finite()) {
            return Err(ModeError::NoVectors { operation: asked.operation.name() });
        }
        match asked.inputs.filter(|inputs| *inputs != kept) {
            Some(inputs) => Err(ModeError::OtherCount { asked: inputs, kept }),
            None => Ok(vectors),
        }
    }
}
