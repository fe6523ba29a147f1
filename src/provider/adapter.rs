//! AgentLoom's adapters, turned round: from the request that one sent to what it was given.
//!
//! AgentLoom hashes what it gives an adapter, so the hash in its recordings (plain entries) is not
//! made of the request that was sent. Each operation that an adapter calls has a row that
//! reads its request back. A request that no adapter can have sent has none.

use loomrec_identity::{AdapterInputs, Json, JsonMember, JsonStr};

/// How the requests of one adapter are read.
pub(super) struct AdapterRow {
    /// The headers that it sends and that keys are made of.
    pub(super) headers: &'static [(&'static str, &'static str)],
    /// Reads a body that was sent for this model. Returns `None` if the adapter cannot have sent
    /// it.
    pub(super) inputs: ReadInputs,
}

type ReadInputs = for<'a> fn(&'a Json<'a>, &'a str) -> Option<AdapterInputs<'a>>;

/// The object that `parameters` of a workflow's tool are sent as if they are empty.
const NO_PARAMETERS: &str = "{\"properties\": {}, \"type\": \"object\"}";

/// A tool that a workflow declares, as it was sent.
pub(super) struct WorkflowTool<'a> {
    name: Json<'a>,
    description: Json<'a>,
    parameters: Json<'a>,
}

impl<'a> WorkflowTool<'a> {
    /// Reads a tool whose parameters are called `parameters`. Returns `None` if no workflow's tool
    /// is sent like this.
    pub(super) fn from_json(tool: &Json<'a>, parameters: &str) -> Option<Self> {
        let [name, description, parameters] =
            named_members(tool, [("name", true), ("description", true), (parameters, true)])?;
        let (name, description) = (name?.clone(), description?.clone());
        let parameters = parameters?.clone();
        (name.as_str().is_some() && description.as_str().is_some() && parameters.is_object())
            .then_some(Self { name, description, parameters })
    }

    fn is_without_parameters(&self) -> bool {
        loomrec_identity::canonical::value_text(&self.parameters) == NO_PARAMETERS
    }

    /// Returns the tool as the workflow declares it.
    fn to_declaration(&self, empty: bool) -> Json<'a> {
        let parameters = match empty && self.is_without_parameters() {
            true => Json::Object(Vec::new()),
            false => self.parameters.clone(),
        };
        object([
            ("name", self.name.clone()),
            ("description", self.description.clone()),
            ("parameters", parameters),
        ])
    }
}

/// Returns the arguments of a workflow with these tools beside `rest`: as if parameters were left
/// out where they are empty, and as if they were not.
pub(super) fn with_tools<'a>(
    rest: &[JsonMember<'a>],
    tools: &[WorkflowTool<'a>],
    choice: &Json<'a>,
) -> Vec<Vec<JsonMember<'a>>> {
    let alternatives: &[bool] = match tools.iter().any(WorkflowTool::is_without_parameters) {
        true => &[true, false],
        false => &[false],
    };
    let with = |empty: &bool| {
        let tools = tools.iter().map(|tool| tool.to_declaration(*empty)).collect();
        let own = [
            (JsonStr::from("agentloom_tools"), Json::Array(tools)),
            (JsonStr::from("agentloom_tool_choice"), choice.clone()),
        ];
        rest.iter().cloned().chain(own).collect()
    };
    alternatives.iter().map(with).collect()
}

/// Returns the choice of one tool, as a workflow states it.
pub(super) fn named_choice<'a>(name: &Json<'a>) -> Option<Json<'a>> {
    name.as_str().is_some().then(|| object([("name", name.clone())]))
}

/// Returns a step's `thinking`, as it is given to adapters.
pub(super) fn thinking_member<'a>(
    budget: Option<&Json<'a>>,
    level: Option<&Json<'a>>,
    capture: bool,
) -> JsonMember<'a> {
    let config = object([
        ("enabled", Json::Bool(true)),
        ("budget_tokens", budget.cloned().unwrap_or(Json::Null)),
        ("level", level.cloned().unwrap_or(Json::Null)),
        ("capture_reasoning", Json::Bool(capture)),
    ]);
    (JsonStr::from("thinking_config"), config)
}

/// Returns an attachment's block: an image, a document or a sound.
pub(super) fn attachment_block<'a>(media_type: &Json<'a>, data: &Json<'a>) -> Option<Json<'a>> {
    let media = media_type.as_str()?;
    let kind = match media.split_once('/')? {
        ("image", _) => "image",
        ("audio", _) => "audio",
        _ if media == "application/pdf" => "document",
        _ => return None,
    };
    data.as_str()?;
    Some(object([
        ("type", Json::from_text(kind)),
        ("data", data.clone()),
        ("media_type", media_type.clone()),
    ]))
}

/// Returns the block of an image that the provider fetches. Its media type is not sent: the
/// adapter takes it from the end of the address.
pub(super) fn url_block<'a>(url: &Json<'a>) -> Option<Json<'a>> {
    let address = url.as_str()?.to_ascii_lowercase();
    let known = MEDIA_TYPES.iter().find(|(end, _)| address.ends_with(end));
    let media_type = known.map_or("image/png", |(_, media_type)| media_type);
    Some(object([
        ("type", Json::from_text("image_url")),
        ("url", url.clone()),
        ("media_type", Json::from_text(media_type)),
    ]))
}

/// The media types of images by the end of their addresses.
const MEDIA_TYPES: [(&str, &str); 7] = [
    (".jpg", "image/jpeg"),
    (".jpeg", "image/jpeg"),
    (".png", "image/png"),
    (".gif", "image/gif"),
    (".webp", "image/webp"),
    (".bmp", "image/bmp"),
    (".svg", "image/svg+xml"),
];

/// Returns a block of text.
pub(super) fn text_block<'a>(text: &Json<'a>) -> Option<Json<'a>> {
    text.as_str()?;
    Some(object([("type", Json::from_text("text")), ("text", text.clone())]))
}

/// Returns a message.
pub(super) fn message_object<'a>(role: &Json<'a>, content: Json<'a>) -> Json<'a> {
    object([("role", role.clone()), ("content", content)])
}

/// Returns the lists of messages that a request without the system's message may come from:
/// without one, or with an empty one. With one there is a single list.
pub(super) fn with_system<'a>(
    system: Option<&Json<'a>>,
    lists: Vec<Vec<Json<'a>>>,
) -> Option<Vec<Json<'a>>> {
    let role = Json::from_text("system");
    let before = |text: Json<'a>, list: &[Json<'a>]| {
        Json::Array(
            std::iter::once(message_object(&role, text)).chain(list.iter().cloned()).collect(),
        )
    };
    if let Some(system) = system {
        let is_sent = system.as_str().is_some_and(|text| !text.is_empty());
        return is_sent.then(|| lists.iter().map(|list| before(system.clone(), list)).collect());
    }
    let empty: Vec<_> = lists.iter().map(|list| before(Json::from_text(""), list)).collect();
    Some(lists.into_iter().map(Json::Array).chain(empty).collect())
}

/// Returns an object with these members.
pub(super) fn object<'a, const N: usize>(members: [(&'a str, Json<'a>); N]) -> Json<'a> {
    Json::from_members(members.map(|(name, value)| (JsonStr::from(name), value)))
}

/// Returns the named members of an object. Returns `None` if it has others, lacks one that is
/// required, or is no object.
pub(super) fn named_members<'j, 'a, const N: usize>(
    object: &'j Json<'a>,
    known: [(&str, bool); N],
) -> Option<[Option<&'j Json<'a>>; N]> {
    let found = known.map(|(name, _)| object.get(name));
    let count = found.iter().flatten().count();
    let has_all = known.iter().zip(&found).all(|((_, required), it)| !required || it.is_some());
    (object.as_object()?.len() == count && has_all).then_some(found)
}

/// Whether a value is this text.
pub(super) fn is_text(value: &Json<'_>, text: &str) -> bool {
    matches!(value, Json::String(found) if *found == text)
}
