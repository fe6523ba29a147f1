//! The answers of rules, in the shape that a call asks for.

use super::render::RenderedResponse;
use super::rule::{RuleAnswer, ScriptRule};
use crate::plain_answer;
use crate::response_draft::ResponseDraft;
use loomrec_dialect::interchange::FixturePace;
use loomrec_provider::{Answer, Provider};
use loomrec_recording::entry::{RecordedCut, ResponseEnd};
use loomrec_recording::normalized_request::NormalizedRequest;

/// The most texts to which one vector is given, and the most numbers in all.
const MOST_INPUTS: usize = 4096;
const MOST_NUMBERS: usize = 4 << 20;

impl ScriptRule {
    /// Returns the answer of the rule. Ids are made from `seed`.
    ///
    /// # Errors
    /// The reason why the rule cannot answer this request.
    pub(super) fn render_answer(
        &self,
        observed: &NormalizedRequest,
        shape: Provider,
        seed: &str,
    ) -> Result<RenderedResponse, String> {
        match &self.answer {
            Some(RuleAnswer::Entries(entries)) => {
                RenderedResponse::from_entries(entries, None, observed, shape, seed)
            }
            Some(RuleAnswer::Paced { entries, model, pace }) => {
                let model = model.as_deref();
                let mut rendered =
                    RenderedResponse::from_entries(entries, model, observed, shape, seed)?;
                if rendered.streamed {
                    apply_pace(pace, &mut rendered.delivery);
                }
                Ok(rendered)
            }
            Some(RuleAnswer::Vectors(answer)) => {
                let answer = share_vector(answer, observed)?;
                let delivery = plain_answer::build(&answer, observed, seed, 0.0)?;
                Ok(RenderedResponse { delivery, streamed: observed.call.streamed, withheld: None })
            }
            None => {
                Err("it has a fault and no answer, and this call gets another fault".to_owned())
            }
        }
    }
}

/// Gives the events of a stream the times of a fixture, and cuts the stream where the fixture says.
fn apply_pace(pace: &FixturePace, delivery: &mut ResponseDraft) {
    let mut now = 0.0;
    for (index, chunk) in delivery.chunks.iter_mut().enumerate() {
        now += pace.wait_ms(index);
        chunk.at_ms = now;
    }
    // The cut is after an event, so at least one is sent.
    let kept = pace.truncate_after.map_or(usize::MAX, |events| events.max(1));
    let in_time =
        |limit: f64| delivery.chunks.iter().take_while(|chunk| chunk.at_ms < limit).count();
    let kept = kept.min(pace.disconnect_after_ms.map_or(usize::MAX, in_time));
    if kept < delivery.chunks.len() {
        delivery.chunks.truncate(kept);
        delivery.end = ResponseEnd::UpstreamAbort(RecordedCut::Reset);
    }
}

/// Gives the one vector of an answer to each text of a request.
fn share_vector(answer: &Answer, observed: &NormalizedRequest) -> Result<Answer, String> {
    let mut answer = answer.clone();
    let inputs = observed.asked_format().inputs.unwrap_or(1);
    if let [vector] = answer.embeddings.as_slice() {
        let numbers = vector.len().saturating_mul(inputs);
        if inputs > MOST_INPUTS || numbers > MOST_NUMBERS {
            return Err(format!(
                "its vector would be given to {inputs} texts, which is more than {MOST_INPUTS} \
                 texts or {MOST_NUMBERS} numbers"
            ));
        }
        answer.embeddings = vec![vector.clone(); inputs];
    }
    Ok(answer)
}
