//! Plans of faults that hold the blocks of an mcptest suite, which say what fails and how soon a program
//! has to recover: `faults`, `agents[].inject` and `recovery`.
//!
//! Its faults strike the calls of a server or a tool. Here, a server is an upstream, and a tool is a
//! step or a tool of MCP: see [`FaultTarget`]. Discovery stays responsive: only calls of known
//! operations get a fault, and of MCP only those of tools. A `recover-after` counts the calls of its upstream.

use serde_json::{Map, Value};

use loomrec_fault::plan::PlanBlocks;
use loomrec_fault::recovery::RecoveryBudget;
use loomrec_fault::{
    CountPer, Fault, FaultPlan, FaultRule, FaultSource, FaultTarget, PlanError, RuleMatch,
};
use loomrec_identity::pointer_token;
use loomrec_identity::typed_field::{
    FieldError, FieldReader, FieldStyle, NullRule, PlaceForm, ShownValue,
};
use loomrec_provider::Operation;

/// The style of the fields of plans.
const STYLE: FieldStyle =
    FieldStyle { place: PlaceForm::Pointer, null: NullRule::Absent, shown: ShownValue::Always };

/// What a target is expected to be.
const EXPECTED: &str = "the name of a server (an upstream) or of a tool (of MCP, or a step), or an \
                        object with server, tool or both";

/// The blocks of a suite.
const BLOCKS: PlanBlocks = PlanBlocks {
    names: &["faults", "agents"],
    unread: &OTHER_BLOCKS,
    rules: read_rules,
    budget: read_budget,
};

/// The blocks of a suite that are about other things than faults. They are not read.
const OTHER_BLOCKS: [&str; 10] = [
    "servers",
    "imports",
    "variables",
    "tools",
    "compliance",
    "evals",
    "model_compatibility",
    "fixtures",
    "performance",
    "corpus",
];

/// Reads a plan that may hold the blocks of a suite.
///
/// # Errors
/// Those of [`FaultPlan::parse`], and a block that is invalid.
pub fn read_plan(value: &Value) -> Result<FaultPlan, PlanError> {
    FaultPlan::parse_with(value, &BLOCKS)
}

fn fields_of<'a>(value: &'a Value, expected: &str) -> Result<FieldReader<'a>, FieldError> {
    FieldReader::from_value(value, "", expected, STYLE)
}

/// Reads the faults of a suite, as rules. A fault of the kind `none` gives no rule.
///
/// # Errors
/// The first fault that is invalid, with its place.
fn read_rules(fields: FieldReader<'_>) -> Result<Vec<FaultRule>, FieldError> {
    let faults = fields.read_list("faults", "a list of faults")?.unwrap_or_default();
    let injected = injected_faults(fields)?;
    let mut rules = Vec::new();
    for (at, value) in faults.iter().enumerate() {
        let place = format!("/faults/{at}");
        let rule = read_rule(at + 1, value).map_err(|error| error.under(&place))?;
        rules.extend(rule);
    }
    let Some(injected) = injected else { return Ok(rules) };
    let names = |fault: &Value| fault.get("name").and_then(Value::as_str).map(str::to_owned);
    let names: Vec<String> = faults.iter().filter_map(names).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    for (place, name) in &injected {
        if !names.contains(&name.as_str()) {
            return Err(FieldError::unknown_word(place.clone(), "fault", name, &names));
        }
    }
    rules.retain(|rule| injected.iter().any(|(_, name)| *name == rule.name));
    Ok(rules)
}

/// Returns the names of the faults that agents inject, each with its place. `None` if no agent says
/// what it injects: then every fault is.
fn injected_faults(fields: FieldReader<'_>) -> Result<Option<Vec<(String, String)>>, FieldError> {
    let Some(agents) = fields.get("agents") else { return Ok(None) };
    let each: Vec<(String, &Value)> = match agents {
        Value::Array(list) => {
            let place = |(at, agent): (usize, _)| (format!("/agents/{at}/inject"), agent);
            list.iter().enumerate().map(place).collect()
        }
        Value::Object(map) => {
            let place = |(name, agent): (&String, _)| {
                (format!("/agents{}/inject", pointer_token(name)), agent)
            };
            map.iter().map(place).collect()
        }
        _ => return Err(fields.wrong_value("agents", "a list of agents")),
    };
    let mut names = Vec::new();
    for (place, agent) in each {
        let Some(inject) = agent.get("inject").filter(|inject| !inject.is_null()) else { continue };
        let list = match inject {
            Value::Array(list) => list.as_slice(),
            one => std::slice::from_ref(one),
        };
        for name in list {
            let wrong = || FieldError::unexpected(&place, "the name of a fault", name.to_string());
            names.push((place.clone(), name.as_str().ok_or_else(wrong)?.to_owned()));
        }
    }
    Ok((!names.is_empty()).then_some(names))
}

fn read_rule(number: usize, value: &Value) -> Result<Option<FaultRule>, FieldError> {
    let fields = fields_of(value, "a fault: an object with a kind")?;
    let kind = fields.read_text("kind")?;
    let kind = kind.as_deref().map(str::trim).ok_or_else(|| {
        FieldError::from_reason("/kind", "a fault of a suite needs it: the fault, such as hang")
    })?;
    let target = read_target(fields)?;
    if kind == "none" {
        return Ok(None);
    }
    let fault = read_fault(kind, value)?;
    let name = match fields.read_text("name")? {
        Some(name) if name.is_empty() || name.contains(char::is_control) => {
            return Err(fields.wrong_value("name", "some characters on one line"));
        }
        Some(name) => name,
        None => format!("fault {number} ({})", fault.name()),
    };
    let known = Operation::all().filter(|operation| *operation != Operation::OTHER);
    let operation = known.map(|operation| operation.as_str().to_owned()).collect();
    let when = RuleMatch { operation, ..RuleMatch::default() };
    let source = FaultSource::Plan;
    Ok(Some(FaultRule {
        name,
        when,
        fault,
        times: None,
        per: None,
        probability: None,
        target,
        source,
    }))
}

/// Reads the fault: its kind, and the other fields of its object.
fn read_fault(kind: &str, value: &Value) -> Result<Fault, FieldError> {
    let under_kind = |error: FieldError| FieldError::from_reason("/kind", error.to_string());
    let word = kind.split([':', ';']).next().unwrap_or_default().trim();
    let form = Fault::type_named(word).ok_or_else(|| {
        let mut known = Fault::type_names();
        known.push("none");
        FieldError::unknown_word("/kind", "fault", word, &known)
    })?;
    let mut object = Map::new();
    object.insert("type".to_owned(), form.into());
    if word.len() < kind.len() {
        match Fault::parse(kind).map_err(under_kind)?.to_json() {
            Value::Object(declared) => object = declared,
            _ => return Err(FieldError::from_reason("/kind", "it is no fault")),
        }
    }
    let beside = value.as_object().into_iter().flatten();
    for (name, value) in
        beside.filter(|(name, _)| !["name", "target", "kind"].contains(&name.as_str()))
    {
        object.insert(name.clone(), value.clone());
    }
    if form == "recover_after" && !kind.contains("per=") {
        object.entry("per").or_insert_with(|| CountPer::Upstream.as_str().into());
    }
    Fault::from_value(&Value::Object(object))
}

/// Reads the `target` of a fault: a text, or an object with `server`, `tool` or both. Returns
/// `None` for a fault without a target.
///
/// # Errors
/// If it is neither, or a name is empty.
fn read_target(fault: FieldReader<'_>) -> Result<Option<FaultTarget>, FieldError> {
    let wrong = || fault.wrong_value("target", EXPECTED);
    match fault.get("target") {
        None => Ok(None),
        Some(Value::String(text)) => target_from_text(text).map(Some).ok_or_else(wrong),
        Some(value @ Value::Object(_)) => {
            let names = fields_of(value, EXPECTED).and_then(read_names);
            let names = names.map_err(|error| error.under("/target"))?;
            target_from_names(names).map(Some).ok_or_else(wrong)
        }
        Some(_) => Err(wrong()),
    }
}

fn target_from_names((server, tool): (Option<String>, Option<String>)) -> Option<FaultTarget> {
    match (server, tool) {
        (Some(upstream), Some(step)) => Some(FaultTarget::StepAt { step, upstream }),
        (Some(upstream), None) => Some(FaultTarget::Upstream(upstream)),
        (None, Some(step)) => Some(FaultTarget::Step(step)),
        (None, None) => None,
    }
}

fn target_from_text(text: &str) -> Option<FaultTarget> {
    let (kind, name) = match text.split_once(':') {
        Some(("server" | "upstream", name)) => {
            (FaultTarget::Upstream as fn(String) -> FaultTarget, name)
        }
        Some(("tool" | "step", name)) => (FaultTarget::Step as fn(String) -> FaultTarget, name),
        _ => (FaultTarget::Named as fn(String) -> FaultTarget, text),
    };
    let name = name.trim();
    (!name.is_empty()).then(|| kind(name.to_owned()))
}

/// Reads the names of a server and of a tool.
fn read_names(target: FieldReader<'_>) -> Result<(Option<String>, Option<String>), FieldError> {
    target.refuse_unknown("a target", &["server", "tool"])?;
    let name = |field| match target.read_text(field)?.map(|name| name.trim().to_owned()) {
        Some(name) if name.is_empty() => Err(target.wrong_value(field, "a name")),
        name => Ok(name),
    };
    Ok((name("server")?, name("tool")?))
}

/// Reads the budget of a plan or a suite: `recovery` at the top or, in a suite, within its agents.
///
/// # Errors
/// A budget that is invalid; two budgets that differ.
fn read_budget(fields: FieldReader<'_>) -> Result<Option<RecoveryBudget>, FieldError> {
    let mut found = Vec::new();
    if let Some(value) = fields.get("recovery") {
        found.push(("/recovery".to_owned(), value));
    }
    if let Some(agents) = fields.get("agents") {
        find_budgets(agents, "/agents", &mut found);
    }
    let mut budget: Option<(String, RecoveryBudget)> = None;
    for (place, value) in found {
        let read = RecoveryBudget::from_value(value)
            .map_err(|error| FieldError::from_reason(&*place, error.to_string()))?;
        match &budget {
            Some((first, known)) if *known != read => {
                let why = format!(
                    "it differs from the budget at {first}; a run is judged by one: give one of them"
                );
                return Err(FieldError::from_reason(place, why));
            }
            Some(_) => {}
            None => budget = Some((place, read)),
        }
    }
    Ok(budget.map(|(_, budget)| budget))
}

/// Finds every `recovery` within a value.
fn find_budgets<'a>(value: &'a Value, place: &str, found: &mut Vec<(String, &'a Value)>) {
    match value {
        Value::Object(map) => {
            for (name, inner) in map {
                let place = format!("{place}{}", pointer_token(name));
                match name.as_str() {
                    "recovery" if inner.is_object() => found.push((place, inner)),
                    _ => find_budgets(inner, &place, found),
                }
            }
        }
        Value::Array(list) => {
            for (at, inner) in list.iter().enumerate() {
                find_budgets(inner, &format!("{place}/{at}"), found);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
#[path = "suite_tests.rs"]
mod tests;
