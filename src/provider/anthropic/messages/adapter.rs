//! The adapter for Anthropic, turned round.
//!
//! It takes the system's message out of the list, and sends a limit of 4096 where none was given.

use crate::adapter::{
    self, AdapterRow, WorkflowTool, is_text, named_choice, named_members, thinking_member,
    url_block, with_system, with_tools,
};
use loomrec_identity::{AdapterInputs, Json, JsonMember, JsonStr};

pub(super) static ADAPTER: AdapterRow =
    AdapterRow { headers: &[("anthropic-version", "2023-06-01")], inputs };

/// The limit that is sent where none was given.
const DEFAULT_LIMIT: &str = "4096";

/// The arguments that are sent as they are given.
const EXTRAS: [&str; 4] = ["top_p", "top_k", "stop_sequences", "metadata"];

fn inputs<'a>(body: &'a Json<'a>, model: &'a str) -> Option<AdapterInputs<'a>> {
    const OWN: [&str; 9] = [
        "model",
        "messages",
        "max_tokens",
        "system",
        "temperature",
        "stream",
        "tools",
        "tool_choice",
        "thinking",
    ];
    let is_known = |name: &JsonStr<'_>| OWN.iter().chain(&EXTRAS).any(|known| *name == *known);
    if !body.as_object()?.iter().all(|(name, _)| is_known(name)) {
        return None;
    }
    let limit = body.get("max_tokens")?;
    let is_default = limit.as_number()? == DEFAULT_LIMIT;
    let none = is_default.then_some(Json::Null);
    let temperature = body.get("temperature");
    if temperature.is_some_and(|it| it.as_number().is_none()) {
        return None;
    }
    Some(AdapterInputs {
        messages: with_system(body.get("system"), message_lists(body.get("messages")?)?)?,
        model: Json::from_text(model),
        temperature: temperature.cloned().unwrap_or(Json::Null),
        max_tokens: none.into_iter().chain([limit.clone()]).collect(),
        extra: extra_arguments(body).into_iter().map(Json::from_members).collect(),
    })
}

/// Returns the lists of messages without the system's: with attachments as a workflow has them, and
/// with all blocks as they are.
fn message_lists<'a>(sent: &Json<'a>) -> Option<Vec<Vec<Json<'a>>>> {
    let mut workflow = Vec::new();
    let mut differs = false;
    for message in sent.as_array()? {
        let [role, content] = named_members(message, [("role", true), ("content", true)])?;
        let (role, content) = (role?, content?);
        if role.as_str()? == "system" {
            return None;
        }
        workflow.push(match content {
            Json::String(_) => message.clone(),
            Json::Array(blocks) => {
                let attached = blocks.iter().map(|it| given_block(it).ok_or(it));
                differs |= attached.clone().any(|it| it.is_ok());
                let blocks = attached.map(|it| it.unwrap_or_else(Json::clone)).collect();
                adapter::message_object(role, Json::Array(blocks))
            }
            _ => return None,
        });
    }
    let plain = differs.then(|| sent.as_array().map(<[_]>::to_vec)).flatten();
    Some(std::iter::once(workflow).chain(plain).collect())
}

/// Returns the block of an attachment.
fn given_block<'a>(block: &Json<'a>) -> Option<Json<'a>> {
    let [kind, source] = named_members(block, [("type", true), ("source", true)])?;
    let (kind, source) = (kind?.as_str()?, source?);
    if let Some([Some(by), Some(media_type), Some(data)]) =
        named_members(source, [("type", true), ("media_type", true), ("data", true)])
    {
        let of_kind = |made: &Json<'a>| made.get("type").is_some_and(|it| is_text(it, &kind));
        return adapter::attachment_block(media_type, data)
            .filter(of_kind)
            .filter(|_| is_text(by, "base64"));
    }
    let [by, url] = named_members(source, [("type", true), ("url", true)])?;
    (kind == "image" && is_text(by?, "url")).then(|| url_block(url?)).flatten()
}

/// Returns the further arguments: as a workflow gives them, and as they were sent.
fn extra_arguments<'a>(body: &Json<'a>) -> Vec<Vec<JsonMember<'a>>> {
    let sent = |names: &[&'static str]| {
        let found = |name: &&'static str| Some((JsonStr::from(*name), body.get(name)?.clone()));
        names.iter().filter_map(found).collect::<Vec<_>>()
    };
    let by_step = body.get("thinking").map(step_thinking).unwrap_or_default();
    let mut rest: Vec<_> =
        by_step.into_iter().map(|thinking| [sent(&EXTRAS), vec![thinking]].concat()).collect();
    // What was sent is likelier than the rarer settings of a step.
    rest.insert(rest.len().min(1), [sent(&EXTRAS), sent(&["thinking"])].concat());
    let mut all = Vec::new();
    if let Some((tools, choice)) = workflow_tools(body) {
        all.extend(rest.iter().flat_map(|rest| with_tools(rest, &tools, &choice)));
    }
    let own = sent(&["tools", "tool_choice"]);
    all.extend(rest.into_iter().map(|rest| [rest, own.clone()].concat()));
    all
}

/// Returns what a step's `thinking` can have been. Its level and whether it keeps the thoughts are
/// not sent.
fn step_thinking<'a>(sent: &Json<'a>) -> Vec<JsonMember<'a>> {
    let Some([Some(kind), budget]) =
        named_members(sent, [("type", true), ("budget_tokens", false)])
    else {
        return Vec::new();
    };
    if !is_text(kind, "enabled") {
        return Vec::new();
    }
    let levels = ["low", "medium", "high"].map(|level| Some(Json::from_text(level)));
    let levels: Vec<_> = std::iter::once(None).chain(levels).collect();
    let of = |capture| levels.iter().map(move |level| (level, capture)).collect::<Vec<_>>();
    let all = [of(true), of(false)].concat();
    all.into_iter()
        .map(|(level, capture)| thinking_member(budget, level.as_ref(), capture))
        .collect()
}

/// Returns the tools of a workflow, and which of them it lets the model choose.
fn workflow_tools<'a>(body: &Json<'a>) -> Option<(Vec<WorkflowTool<'a>>, Json<'a>)> {
    let tools = body.get("tools")?.as_array()?.iter();
    let tools: Vec<_> =
        tools.map(|tool| WorkflowTool::from_json(tool, "input_schema")).collect::<Option<_>>()?;
    let [kind, name] = named_members(body.get("tool_choice")?, [("type", true), ("name", false)])?;
    let choice = match (kind?.as_str()?.as_ref(), name) {
        ("auto", None) => Json::from_text("auto"),
        ("any", None) => Json::from_text("required"),
        ("tool", Some(name)) => named_choice(name)?,
        _ => return None,
    };
    (!tools.is_empty()).then_some((tools, choice))
}
