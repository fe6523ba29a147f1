//! The vectors of a written answer.

use super::answer_draft::AnswerDraft;
use super::answer_form::ModeError;
use super::operation::ResponseFormat;

impl<'a> AnswerDraft<'a> {
    /// The vectors, one for each text. An answer that asks for vectors needs them, and JSON cannot
    /// express numbers that are not finite.
    pub(super) fn checked_vectors(
        &self,
        format: &ResponseFormat<'_>,
    ) -> Result<&'a [Vec<f64>], ModeError> {
        let vectors = &self.answer.embeddings;
        let kept = vectors.len();
        if kept == 0 || !vectors.iter().flatten().all(|number| number.is_finite()) {
            return Err(ModeError::NoVectors { operation: format.operation.name() });
        }
        match format.inputs.filter(|inputs| *inputs != kept) {
            Some(inputs) => Err(ModeError::OtherCount { requested: inputs, kept }),
            None => Ok(vectors),
        }
    }
}
