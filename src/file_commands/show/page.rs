//! One entry as a page of text: what it is, request, answer, response, timeline.

use owo_colors::OwoColorize as _;

use super::super::ls::TakeRow;
use super::earlier_take::ContinuedTake;
use super::{damage, pretty, sent, timeline};
use loomrec_cli::amount::{format_dollars, format_milliseconds};
use loomrec_cli::pricing::{PriceSource, UNKNOWN};
use loomrec_cli::terminal;
use loomrec_curation::inspection::CarriedWords;
use loomrec_dialect::plain_entry::TOOL;
use loomrec_provider::{Framing, JudgedAnswer, Operation, RecognisedCall, TokenUsage};
use loomrec_recording::entry::ClientLeft;
use loomrec_recording::{CodedBody, Entry, RecordedCut, ResponseEnd, encoding};

/// The most bytes that a compressed body is decompressed to.
const DECODED: usize = encoding::LARGEST;

/// Formats the page. Its timeline is no wider than `width`. `outside_key` has the names of the
/// request's headers that are not part of its key. What an `earlier` take of the conversation has
/// already is left out.
pub(super) fn format_take(
    row: &TakeRow,
    outside_key: &[String],
    earlier: Option<&ContinuedTake>,
    width: Option<usize>,
) -> String {
    let entry = &row.entry;
    let mut page = DetailPage::default();
    add_head(&mut page, row);
    if let Some(earlier) = earlier {
        let stored = if earlier.continued.is_stored { ", which its provider holds" } else { "" };
        let turn = format!("{}, after {}{stored}", earlier.continued.turn, earlier.key);
        page.add_fact("turn", Some(&turn));
    }
    if let Some(line) = entry.full_request_line() {
        page.add_title("Request");
        page.add_line(&line);
        add_request(&mut page, entry, outside_key, earlier);
    }
    page.add_title("Answer");
    add_answer(&mut page, row);
    if let Some(fault) = &entry.fault {
        page.add_title("Fault, served in place of the response");
        page.add_block(&pretty::format_json(fault));
    }
    match entry.coded_body(DECODED) {
        Some(body) => {
            page.add_title("Response");
            show_response(&mut page, row, &body);
            add_times(&mut page, row, &body, width);
        }
        None if entry.fault.is_none() => {
            page.add_title("Response");
            page.add_line(&format!(
                "not recorded: generated from the answer above, as {TOOL} does"
            ));
        }
        None => {}
    }
    if !entry.messages.is_empty() {
        page.add_title("Messages");
        entry
            .messages
            .iter()
            .for_each(|message| page.add_line(&pretty::cut_text(&sent::message_line(message))));
    }
    page.out
}

/// The text so far.
#[derive(Default)]
struct DetailPage {
    out: String,
}

impl DetailPage {
    /// Adds the heading of a section.
    fn add_title(&mut self, title: &str) {
        self.out.push_str(&format!("\n{}\n", title.bold()));
    }

    /// Adds an indented line.
    fn add_line(&mut self, text: &str) {
        self.out.push_str(&format!("  {}\n", terminal::printable_line(text)));
    }

    /// Adds indented lines that are already safe for a terminal.
    fn add_block(&mut self, text: &str) {
        for line in text.lines() {
            let indent = if line.is_empty() { "" } else { "  " };
            self.out.push_str(&format!("{indent}{line}\n"));
        }
    }

    /// Adds a fact with its name. Adds nothing if it is unknown.
    fn add_fact(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            let name = format!("{name:<10}");
            self.out.push_str(&format!(
                "  {} {}\n",
                name.dimmed(),
                terminal::printable_line(value)
            ));
        }
    }

    /// Adds headers as they are sent over the wire.
    fn add_headers(&mut self, headers: &[(String, String)]) {
        for (name, value) in headers {
            self.add_line(&format!("{name}: {value}"));
        }
    }

    /// Adds a body, after a blank line.
    fn add_body(&mut self, bytes: &[u8]) {
        self.out.push('\n');
        self.add_block(&pretty::format_body(bytes));
    }
}

/// Adds what the entry is and where it comes from.
fn add_head(page: &mut DetailPage, row: &TakeRow) {
    let entry = &row.entry;
    let name = terminal::printable_line(&row.name.to_string()).into_owned();
    page.out.push_str(&format!("{}\n", name.bold()));
    page.add_fact("take", Some(&format!("{} of {}", row.take, row.takes)));
    page.add_fact("provider", entry.provider.as_deref());
    page.add_fact("upstream", entry.upstream.as_deref());
    let known = row.call.as_ref().filter(|call| call.operation != Operation::OTHER);
    let operation = known.map(RecognisedCall::operation_title);
    page.add_fact("operation", operation.as_deref());
    page.add_fact("model", row.model_name());
    page.add_fact("session", entry.session.as_deref());
    page.add_fact("recorded", entry.recorded_at.as_deref());
    page.add_fact("edited by hand", entry.edited_at.as_deref());
    let personal: Vec<&str> = entry.run_values.personal_names().collect();
    let personal = (!personal.is_empty()).then(|| personal.join(", "));
    page.add_fact("personal", personal.map(|names| format!("values of its {names}")).as_deref());
    let hash = entry.request_hash.as_ref().filter(|_| row.name.step_id().is_some());
    page.add_fact("request", hash.map(|hash| hash.as_str()));
}

/// Adds the headers and the body of a request.
fn add_request(
    page: &mut DetailPage,
    entry: &Entry,
    outside_key: &[String],
    earlier: Option<&ContinuedTake>,
) {
    let body = entry.request_body().map_or(&[][..], |body| body);
    page.add_headers(entry.request_headers());
    if !outside_key.is_empty() {
        page.add_line(&format!("(not part of the key: {})", outside_key.join(", ")));
    }
    match earlier {
        Some(earlier) => new_parts(page, body, earlier),
        None => page.add_body(body),
    }
}

/// Adds the parts of a request's body that an earlier take does not have.
fn new_parts(page: &mut DetailPage, body: &[u8], earlier: &ContinuedTake) {
    let ContinuedTake { continued, key, carried, .. } = earlier;
    let hint = format!(" (turn {}); --full shows them", continued.turn.saturating_sub(1));
    let words = CarriedWords { earlier: key, hint: &hint };
    page.out.push('\n');
    page.add_block(&pretty::new_parts(body, carried, words));
    let mut gone: Vec<String> =
        carried.missing_members().iter().map(|name| format!("{name:?}")).collect();
    match carried.left_out() {
        0 => {}
        1 => gone.push("1 message in another form".to_owned()),
        count => gone.push(format!("{count} messages in another form")),
    }
    if !gone.is_empty() {
        page.add_line(&format!("… {key} has beside this: {}", gone.join(", ")));
    }
}

/// Adds the answer, combined from the form in which it arrived.
fn add_answer(page: &mut DetailPage, row: &TakeRow) {
    let entry = &row.entry;
    let start = page.out.len();
    if let Some(content) = entry.content.as_deref().filter(|content| !content.is_empty()) {
        page.add_block(&terminal::printable_text(&pretty::cut_text(content)));
    }
    for call in &entry.tool_calls {
        let id = if call.id.is_empty() { String::new() } else { format!(" ({})", call.id) };
        page.add_line(&format!("calls {}{id}", call.name));
        let arguments = pretty::format_json(&call.arguments);
        let indented: Vec<String> = arguments.lines().map(|line| format!("  {line}")).collect();
        page.add_block(&indented.join("\n"));
    }
    if let Some(first) = entry.embeddings.first() {
        let (count, length) = (entry.embeddings.len(), first.len());
        let vectors = if count == 1 { "vector" } else { "vectors" };
        page.add_line(&format!("{count} {vectors} of {length} numbers"));
    }
    if page.out.len() == start {
        page.add_line("(no text)");
    }
    page.add_fact("finish", entry.finish_reason.as_deref());
    page.add_fact("outcome", format_outcome(&row.judged).as_deref());
    page.add_fact("tokens", entry.usage.map(format_tokens).as_deref());
    let cost = match (entry.cost_usd, entry.usage) {
        (None, None) if !entry.has_response() => None,
        _ => Some(PriceSource::built_in().call_cost(entry, entry.model.as_deref())),
    };
    // A failed call used no tokens, so its cost of zero is not shown.
    let cost = cost.filter(|cost| *cost != Some(0.0) || entry.usage.is_some());
    let cost = cost.map(|cost| cost.map_or_else(|| UNKNOWN.to_owned(), format_dollars));
    page.add_fact("cost", cost.as_deref());
    page.add_fact("time", entry.latency_ms.map(format_milliseconds).as_deref());
}

/// Formats the outcome of an answer that is no success.
fn format_outcome(judged: &JudgedAnswer) -> Option<String> {
    let word = judged.outcome.as_str().replace('_', " ");
    judged.is_failure().then(|| format!("{word}: {}", judged.description()))
}

/// Formats token counts.
fn format_tokens(usage: TokenUsage) -> String {
    let note = |parts: &[(u64, &str)]| {
        let parts: Vec<String> = parts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| format!("{count} {word}"))
            .collect();
        if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
    };
    let input =
        note(&[(usage.cached_tokens, "from cache"), (usage.cache_write_tokens, "to cache")]);
    let output = note(&[(usage.reasoning_tokens, "reasoning")]);
    let (prompt, completion) = (usage.prompt_tokens, usage.completion_tokens);
    format!("{prompt} in{input}, {completion} out{output}, {} in all", usage.total_tokens)
}

/// Adds status and headers, the body if the timeline does not show it whole, and notes about what
/// does not decode.
fn show_response(page: &mut DetailPage, row: &TakeRow, body: &CodedBody) {
    let entry = &row.entry;
    let status = entry.answer_status().unwrap_or_default();
    let known = http::StatusCode::from_u16(status).ok();
    let reason = known.and_then(|status| status.canonical_reason()).unwrap_or_default();
    page.add_line(format!("{status} {reason}").trim_end());
    page.add_headers(entry.answer_headers());
    let operation = row.call.as_ref().map_or(Operation::OTHER, |call| call.operation);
    let framing = body.stream_framing(operation);
    // In this case the timeline shows the body.
    let told = matches!(framing, Some(Framing::Sse | Framing::EventStream));
    if row.is_streamed() != Some(true) || !told {
        page.add_body(body.readable_bytes());
    }
    for (name, value) in entry.answer_trailers() {
        page.add_fact("trailer", Some(&format!("{name}: {value}")));
    }
    // Compressed bytes that do not decode are not checked for events.
    let plain = body.plain_bytes();
    if let (Some(coding), None, false) = (&body.coding, plain, body.bytes.is_empty()) {
        page.add_fact("damage", Some(&format!("the body does not decode as {coding}")));
    }
    if let Some(plain) = plain.filter(|_| entry.has_good_status()) {
        for note in damage::notes(operation, &body.media, plain) {
            page.add_fact("damage", Some(&note));
        }
    }
}

/// Adds when the bytes arrived and how they ended.
fn add_times(page: &mut DetailPage, row: &TakeRow, body: &CodedBody, width: Option<usize>) {
    let chunks = row.entry.answer_chunks().unwrap_or_default();
    let framing = row.entry.received_framing(row.call.as_ref()).filter(|_| body.coding.is_none());
    page.add_title("Timeline");
    if !chunks.is_empty() {
        page.add_block(&timeline::format_chunks(chunks, framing, width));
    }
    let count = chunks.len();
    let noun = if count == 1 { "chunk" } else { "chunks" };
    let meaning = match row.entry.answer_end() {
        Some(ResponseEnd::Complete) | None => "",
        Some(ResponseEnd::UpstreamAbort(RecordedCut::Close)) => {
            ": the upstream closed the connection before the end; replay does the same"
        }
        Some(ResponseEnd::UpstreamAbort(RecordedCut::Reset)) => {
            ": the upstream reset the connection; replay does the same"
        }
        Some(ResponseEnd::ClientAbort) if row.entry.client_left.is_some() => {
            ": the rest did not come"
        }
        Some(ResponseEnd::ClientAbort) => {
            ": the client left and the rest did not come; never served"
        }
        Some(ResponseEnd::Truncated) => ": larger than the limit of --max-body; never served",
    };
    let (bytes, end) = (body.bytes.len(), row.end_words().unwrap_or_default());
    page.add_line(&format!("{count} {noun}, {bytes} bytes; end: {end}{meaning}"));
    if let Some(left) = row.entry.client_left {
        page.add_line(&client_left_words(left));
    }
}

/// Returns what a client got that left before the end, and what replay makes of that.
fn client_left_words(left: ClientLeft) -> String {
    let after = format_milliseconds(left.at_ms);
    match left.bytes {
        None => format!(
            "the client left after {after}, before it got anything: replay serves every other take \
             of this request first, and then keeps a client waiting until it leaves"
        ),
        Some(bytes) => format!(
            "the client left after {after}, with {bytes} bytes of the body: replay gives it these, \
             and then keeps it waiting until it leaves"
        ),
    }
}
