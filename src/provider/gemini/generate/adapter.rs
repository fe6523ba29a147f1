//! The adapter for Google, turned round.
//!
//! It takes the system's message out of the list, says `model` for every role but the user's, and
//! has a text alone as one part.

use crate::adapter::{
    self, AdapterRow, WorkflowTool, attachment_block, is_text, named_choice, named_members,
    text_block, thinking_member, with_system, with_tools,
};
use loomrec_identity::{AdapterInputs, Json, JsonMember, JsonStr};

pub(super) static ADAPTER: AdapterRow = AdapterRow { headers: &[], inputs };

/// The arguments that are sent in `generationConfig`, and their names there.
const SAMPLING: [(&str, &str); 9] = [
    ("top_p", "topP"),
    ("top_k", "topK"),
    ("stop_sequences", "stopSequences"),
    ("response_mime_type", "responseMimeType"),
    ("response_schema", "responseSchema"),
    ("candidate_count", "candidateCount"),
    ("presence_penalty", "presencePenalty"),
    ("frequency_penalty", "frequencyPenalty"),
    ("seed", "seed"),
];

fn inputs<'a>(body: &'a Json<'a>, model: &'a str) -> Option<AdapterInputs<'a>> {
    let [contents, system, config, tools, choice, safety] = named_members(
        body,
        [
            ("contents", true),
            ("systemInstruction", false),
            ("generationConfig", false),
            ("tools", false),
            ("toolConfig", false),
            ("safetySettings", false),
        ],
    )?;
    let system = match system {
        Some(system) => Some(only_text(system)?),
        None => None,
    };
    let messages = contents?.as_array()?.iter().map(given_message).collect::<Option<_>>()?;
    let Config { temperature, max_tokens, mut extra } = match config {
        Some(config) => Config::from_json(config)?,
        None => Config { temperature: Json::Null, max_tokens: Json::Null, extra: Vec::new() },
    };
    let named = |name, value: Option<&Json<'a>>| Some((JsonStr::from(name), value?.clone()));
    extra.extend(named("safety_settings", safety));
    let mut all = Vec::new();
    if let Some((tools, choice)) = workflow_tools(tools, choice) {
        all.extend(with_tools(&extra, &tools, &choice));
    }
    extra.extend(named("tools", tools));
    extra.extend(named("tool_config", choice));
    all.push(extra);
    Some(AdapterInputs {
        messages: with_system(system, vec![messages])?,
        model: Json::from_text(model),
        temperature,
        max_tokens: vec![max_tokens],
        extra: all.into_iter().map(Json::from_members).collect(),
    })
}

/// Returns the text of a system instruction.
fn only_text<'j, 'a>(system: &'j Json<'a>) -> Option<&'j Json<'a>> {
    let [parts] = named_members(system, [("parts", true)])?;
    let [part] = parts?.as_array()? else { return None };
    let [text] = named_members(part, [("text", true)])?;
    text
}

/// Returns the message that a content comes from.
fn given_message<'a>(content: &Json<'a>) -> Option<Json<'a>> {
    let [role, parts] = named_members(content, [("role", true), ("parts", true)])?;
    let (role, parts) = (role?.as_str()?, parts?.as_array()?);
    let is_call = |part: &Json<'_>| {
        part.get("functionCall").is_some() || part.get("functionResponse").is_some()
    };
    if parts.iter().any(is_call) {
        // The turns of a tool loop are given as they are sent.
        return Some(content.clone());
    }
    let role = match role.as_ref() {
        "user" => Json::from_text("user"),
        "model" => Json::from_text("assistant"),
        _ => return None,
    };
    if let [part] = parts
        && let Some([Some(text @ Json::String(_))]) = named_members(part, [("text", true)])
    {
        return Some(adapter::message_object(&role, text.clone()));
    }
    let blocks = parts.iter().map(part_block).collect::<Option<_>>()?;
    Some(adapter::message_object(&role, Json::Array(blocks)))
}

fn part_block<'a>(part: &Json<'a>) -> Option<Json<'a>> {
    if let Some([text]) = named_members(part, [("text", true)]) {
        return text_block(text?);
    }
    let [data] = named_members(part, [("inline_data", true)])?;
    let [media_type, data] = named_members(data?, [("mime_type", true), ("data", true)])?;
    attachment_block(media_type?, data?)
}

/// What `generationConfig` says.
struct Config<'a> {
    temperature: Json<'a>,
    max_tokens: Json<'a>,
    extra: Vec<JsonMember<'a>>,
}

impl<'a> Config<'a> {
    fn from_json(config: &Json<'a>) -> Option<Self> {
        let (mut temperature, mut max_tokens) = (Json::Null, Json::Null);
        let mut extra = Vec::new();
        for (name, value) in config.as_object()? {
            match name.as_str().as_ref() {
                "temperature" => {
                    value.as_number()?;
                    temperature = value.clone();
                }
                "maxOutputTokens" => {
                    value.as_number()?;
                    max_tokens = value.clone();
                }
                "thinkingConfig" => extra.push(step_thinking(value)?),
                sent => {
                    let (given, _) = SAMPLING.iter().find(|(_, known)| *known == sent)?;
                    extra.push((JsonStr::from(*given), value.clone()));
                }
            }
        }
        // It is not sent empty.
        (!config.as_object()?.is_empty()).then_some(Self { temperature, max_tokens, extra })
    }
}

fn step_thinking<'a>(sent: &Json<'a>) -> Option<JsonMember<'a>> {
    let [budget, level, capture] = named_members(
        sent,
        [("thinkingBudget", false), ("thinkingLevel", false), ("includeThoughts", false)],
    )?;
    let capture = capture.map_or(Some(false), |it| it.as_bool().filter(|it| *it))?;
    Some(thinking_member(budget, level, capture))
}

/// Returns the tools of a workflow, and which of them it lets the model choose.
fn workflow_tools<'a>(
    tools: Option<&Json<'a>>,
    choice: Option<&Json<'a>>,
) -> Option<(Vec<WorkflowTool<'a>>, Json<'a>)> {
    let [group] = tools?.as_array()? else { return None };
    let [declared] = named_members(group, [("function_declarations", true)])?;
    let tools = declared?.as_array()?.iter();
    let tools: Vec<_> =
        tools.map(|tool| WorkflowTool::from_json(tool, "parameters")).collect::<Option<_>>()?;
    let [calling] = named_members(choice?, [("functionCallingConfig", true)])?;
    let [mode, names] = named_members(calling?, [("mode", true), ("allowedFunctionNames", false)])?;
    let mode = mode?;
    let choice = match names {
        Some(names) => match names.as_array()? {
            [name] if is_text(mode, "ANY") => named_choice(name)?,
            _ => return None,
        },
        None => Json::from_text(match mode.as_str()?.as_ref() {
            "AUTO" => "auto",
            "ANY" => "required",
            "NONE" => "none",
            _ => return None,
        }),
    };
    (!tools.is_empty()).then_some((tools, choice))
}
