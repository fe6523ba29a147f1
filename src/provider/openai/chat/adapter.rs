//! The adapter for OpenAI, turned round.
//!
//! What is given as it is sent has the key that every chat completion has. Only attachments and
//! the tools of a workflow are given in another form.

use crate::adapter::{
    self, AdapterRow, WorkflowTool, is_text, named_choice, named_members, object, text_block,
    url_block, with_tools,
};
use loomrec_identity::{AdapterInputs, Json, JsonMember, JsonStr};

pub(super) static ADAPTER: AdapterRow = AdapterRow { headers: &[], inputs };

/// The arguments that are sent as they are given.
const EXTRAS: [&str; 10] = [
    "top_p",
    "frequency_penalty",
    "presence_penalty",
    "stop",
    "seed",
    "response_format",
    "logit_bias",
    "n",
    "user",
    "parallel_tool_calls",
];

fn inputs<'a>(body: &'a Json<'a>, model: &'a str) -> Option<AdapterInputs<'a>> {
    const OWN: [&str; 8] = [
        "model",
        "messages",
        "max_tokens",
        "temperature",
        "stream",
        "stream_options",
        "tools",
        "tool_choice",
    ];
    let is_known = |name: &JsonStr<'_>| OWN.iter().chain(&EXTRAS).any(|known| *name == *known);
    if !body.as_object()?.iter().all(|(name, _)| is_known(name)) {
        return None;
    }
    let given = |name: &str| body.get(name).cloned().unwrap_or(Json::Null);
    let messages = body.get("messages")?.as_array()?.iter();
    Some(AdapterInputs {
        messages: vec![Json::Array(messages.map(given_message).collect::<Option<_>>()?)],
        model: Json::from_text(model),
        temperature: given("temperature"),
        max_tokens: vec![given("max_tokens")],
        extra: extra_arguments(body).into_iter().map(Json::from_members).collect(),
    })
}

/// Returns the message that was given for one that was sent.
fn given_message<'a>(sent: &Json<'a>) -> Option<Json<'a>> {
    let role = sent.get("role")?;
    if sent.get("tool_calls").is_some() || is_text(role, "tool") {
        return Some(sent.clone());
    }
    let [_, content] = named_members(sent, [("role", true), ("content", true)])?;
    match content? {
        Json::String(_) => Some(sent.clone()),
        Json::Array(parts) => {
            let blocks = parts.iter().map(given_block).collect::<Option<_>>()?;
            Some(adapter::message_object(role, Json::Array(blocks)))
        }
        _ => None,
    }
}

fn given_block<'a>(part: &Json<'a>) -> Option<Json<'a>> {
    if let Some([Some(kind), text]) = named_members(part, [("type", true), ("text", true)]) {
        return text_block(text?).filter(|_| is_text(kind, "text"));
    }
    if let Some([Some(kind), image]) = named_members(part, [("type", true), ("image_url", true)]) {
        let [url] = named_members(image?, [("url", true)])?;
        return image_block(url?).filter(|_| is_text(kind, "image_url"));
    }
    let [kind, sound] = named_members(part, [("type", true), ("input_audio", true)])?;
    let [data, format] = named_members(sound?, [("data", true), ("format", true)])?;
    let media_type = match format?.as_str()?.as_ref() {
        "wav" => "audio/wav",
        "mp3" => "audio/mpeg",
        _ => return None,
    };
    let made = adapter::attachment_block(&Json::from_text(media_type), data?);
    made.filter(|_| kind.is_some_and(|kind| is_text(kind, "input_audio")))
}

/// Returns the block of an image: of its data, or of its address.
fn image_block<'a>(url: &Json<'a>) -> Option<Json<'a>> {
    let Json::String(text) = url else { return None };
    let (source, false) = text.source() else { return url_block(url) };
    let Some(data) = source.strip_prefix("data:") else { return url_block(url) };
    let (media_type, data) = data.split_once(";base64,")?;
    Some(object([
        ("type", Json::from_text("image")),
        ("data", Json::from_text(data)),
        ("media_type", Json::from_text(media_type)),
    ]))
}

/// Returns the further arguments: as a workflow gives them, and as they were sent.
fn extra_arguments<'a>(body: &Json<'a>) -> Vec<Vec<JsonMember<'a>>> {
    let sent = |names: &[&'static str]| {
        let found = |name: &&'static str| Some((JsonStr::from(*name), body.get(name)?.clone()));
        names.iter().filter_map(found).collect::<Vec<_>>()
    };
    let rest = sent(&EXTRAS);
    let tools = workflow_tools(body);
    let mut all = tools.map_or_else(Vec::new, |(tools, choice)| with_tools(&rest, &tools, &choice));
    all.push([rest, sent(&["tools", "tool_choice"])].concat());
    all
}

/// Returns the tools of a workflow, and which of them it lets the model choose.
fn workflow_tools<'a>(body: &Json<'a>) -> Option<(Vec<WorkflowTool<'a>>, Json<'a>)> {
    let read = |tool: &Json<'a>| {
        let [kind, function] = named_members(tool, [("type", true), ("function", true)])?;
        is_text(kind?, "function")
            .then(|| WorkflowTool::from_json(function?, "parameters"))
            .flatten()
    };
    let tools: Vec<_> = body.get("tools")?.as_array()?.iter().map(read).collect::<Option<_>>()?;
    let choice = match body.get("tool_choice")? {
        word @ Json::String(_) => word.clone(),
        named => {
            let [kind, function] = named_members(named, [("type", true), ("function", true)])?;
            let [name] = named_members(function?, [("name", true)])?;
            named_choice(name?).filter(|_| kind.is_some_and(|kind| is_text(kind, "function")))?
        }
    };
    (!tools.is_empty()).then_some((tools, choice))
}
