//! Faults on the command line: from flags and plans to the decider, and the receipt's part about
//! faults.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::hash::{BuildHasher as _, Hasher as _};
use std::path::Path;

use serde_json::{Value, json};

use super::args::{FaultArgs, ServeArgs};
use super::score::journal::Reading;
use super::score::{self, ScoredFaults};
use super::script;
use loomrec_cli::exit::CommandFailure;
use loomrec_cli::output::Output;
use loomrec_dialect::suite::read_plan;
use loomrec_engine::replay::Matcher;
use loomrec_engine::route::{RouteTable, UNNAMED, is_upstream_name};
use loomrec_fault::recovery::RecoveryBudget;
use loomrec_fault::{ChaosRates, FaultCounters, FaultDecider, FaultPlan, FaultRule, RuleMatch};
use loomrec_identity::spelling;
use loomrec_proxy::server::fault::FaultContext;
use loomrec_script as scripts;

/// The most bytes of a fault plan.
const LARGEST_PLAN: u64 = 16 << 20;

/// All planned faults, and the file of each rule.
#[derive(Debug, Default)]
pub struct PlannedFaults {
    /// The plan.
    pub plan: FaultPlan,
    /// For each rule, the file that declares it, as the beginning of a message. Empty for rules of
    /// flags.
    places: Vec<String>,
}

impl PlannedFaults {
    fn placed_rules(&self) -> impl Iterator<Item = (&str, &FaultRule)> {
        self.places.iter().map(String::as_str).zip(&self.plan.rules)
    }
}

/// Reads the plans and the fault flags. They are added to the plan of the session, if there is one.
///
/// # Errors
/// A file that cannot be read or is not a plan; a flag that is not a fault; two rules with the same
/// name.
pub fn read_plans(
    args: &ServeArgs,
    of_session: Option<&FaultPlan>,
) -> Result<PlannedFaults, CommandFailure> {
    let flags = &args.trouble;
    let mut plan = of_session.cloned().unwrap_or_default();
    let mut places = vec!["faults: ".to_owned(); plan.rules.len()];
    for path in &flags.faults {
        let one = read_plan_file(path, args)?;
        plan.seed = plan.seed.or(one.seed);
        plan.chaos = plan.chaos.layered_over(&one.chaos);
        if let Some(recovery) = one.recovery
            && plan.recovery.replace(recovery).is_some_and(|known| known != recovery)
        {
            return Err(CommandFailure::usage(format!(
                "failed to read the plan {}: another plan has a `recovery` that differs; a run is \
                 judged by one: keep one of them, or give --recovery",
                path.display()
            )));
        }
        for rule in one.rules {
            if plan.rules.iter().any(|known| known.name == rule.name) {
                return Err(CommandFailure::usage(format!(
                    "failed to read the plan {}: another plan has a rule {:?} as well; give each a \
                     name of its own",
                    path.display(),
                    rule.name
                )));
            }
            plan.rules.push(rule);
            places.push(format!("the plan {}: ", path.display()));
        }
    }
    for (number, text) in (1..).zip(flags.fault.iter().filter(|text| !declares_none(text))) {
        let wrong = |why: &dyn Display| CommandFailure::usage(format!("--fault {text}: {why}"));
        let name = match plan.rules.iter().any(|rule| rule.name == format!("--fault {text}")) {
            true => format!("--fault {text} (number {number})"),
            false => format!("--fault {text}"),
        };
        plan.rules.push(FaultRule::from_flag(name, text).map_err(|error| wrong(&error))?);
        places.push(String::new());
    }
    plan.chaos = chaos_rates(flags)?.layered_over(&plan.chaos);
    Ok(PlannedFaults { plan, places })
}

/// Whether the text of a `--fault` declares no fault: it is empty, or the word `none`, perhaps
/// for a step.
fn declares_none(text: &str) -> bool {
    let step = text.split_once('=').filter(|(step, _)| !step.contains([':', ';']));
    let fault = step.map_or(text, |(_, fault)| fault);
    text.is_empty() || fault.trim() == "none"
}

/// Reads one plan: as YAML if the file's extension says so, otherwise as JSON.
fn read_plan_file(path: &Path, args: &ServeArgs) -> Result<FaultPlan, CommandFailure> {
    script::refuse_overwriting(path, "--faults", args)?;
    let failed = |why: &dyn Display| {
        CommandFailure::usage(format!("failed to read the plan {}: {why}", path.display()))
    };
    let text = loomrec_os::read_input(path, LARGEST_PLAN).map_err(|error| failed(&error))?;
    let value =
        scripts::parse_value(&text, script::file_notation(path)).map_err(|why| failed(&why))?;
    read_plan(&value).map_err(|error| failed(&error))
}

/// Returns the chaos rates of the flags.
fn chaos_rates(flags: &FaultArgs) -> Result<ChaosRates, CommandFailure> {
    let (mut rates, mut others) = (serde_json::Map::new(), Vec::new());
    for text in flags.chaos.iter().filter(|text| !text.is_empty()) {
        let wrong = |error| CommandFailure::usage(format!("--chaos {text}: {error}"));
        let (rate, fault) = ChaosRates::parse_named(text).map_err(wrong)?;
        match text.split_once('=') {
            // A plan and headers have rates of these names, too, and replace each other's.
            Some((_, name @ ("drop" | "malformed" | "disconnect" | "rate_limit"))) => {
                rates.insert(name.to_owned(), json!(rate));
            }
            _ => others.push((rate, fault)),
        }
    }
    let wrong = |error| CommandFailure::usage(format!("--chaos: {error}"));
    let mut all = ChaosRates::from_value(&Value::Object(rates)).map_err(wrong)?;
    others.into_iter().for_each(|(rate, fault)| all.add(rate, fault));
    Ok(all)
}

/// Creates the decider for a plan, which counts in `counters`. If a seed is needed and none is given, draws one and prints it.
/// `needs_seed` says whether the run needs one beyond the plan.
pub fn create_decider(
    PlannedFaults { plan, .. }: PlannedFaults,
    counters: FaultCounters,
    given: Option<u64>,
    needs_seed: bool,
    output: &Output,
) -> FaultDecider {
    let seed = given.or(plan.seed);
    let left = plan.rules.iter().any(|rule| rule.probability.is_some()) || !plan.chaos.is_empty();
    let seed = seed.unwrap_or_else(|| {
        if !left && !needs_seed {
            return 0;
        }
        // Each state of the standard library's hasher has other random keys.
        let drawn = std::collections::hash_map::RandomState::new().build_hasher().finish() >> 32;
        output.info(&format!(
            "loomrec: seed {drawn} was drawn; --seed {drawn} repeats this run's random decisions"
        ));
        drawn
    });
    FaultDecider::counting_in(plan, seed, counters)
}

/// Returns what decides that no call gets a fault.
pub fn no_faults() -> FaultDecider {
    FaultDecider::new(FaultPlan::default(), 0)
}

/// Finds the upstreams and steps that the faults of suites are to strike. Refuses a plan that names
/// an upstream which does not exist. `servers` are MCP servers over stdio that exist as well, if CMD may
/// also start others behind `loomrec mcp`.
///
/// # Errors
/// A rule that would never apply for that reason.
pub fn check_upstreams(
    planned: &mut PlannedFaults,
    routes: &RouteTable,
    servers: Option<&[String]>,
    output: &Output,
) -> Result<(), CommandFailure> {
    let mut known: Vec<&str> = routes.named.iter().map(|known| known.name.as_str()).collect();
    known.push(UNNAMED);
    known.extend(servers.into_iter().flatten().map(String::as_str));
    for FaultRule { when, target, .. } in &mut planned.plan.rules {
        target.iter().for_each(|target| target.restrict(when, |name| known.contains(&name)));
    }
    for (place, rule) in planned.placed_rules() {
        let given = &rule.when.upstream;
        let unknown = given.iter().find(|given| !known.contains(&given.as_str()));
        match unknown.filter(|name| servers.is_some() && is_upstream_name(name)) {
            Some(name) if spelling::misspelled_name(name, &known).is_none() => {
                output.warning(&format!(
                    "{place}rule {:?} is for the upstream {name:?}, which no flag and no settings \
                     of an agent have: it applies only if CMD starts `loomrec mcp --name {name}`",
                    rule.name
                ));
            }
            _ => check_known_names((place, rule), "upstream", given, &known)?,
        }
    }
    Ok(())
}

/// Refuses a plan that names entries which are in none of the recordings. If the recordings have no
/// step ids, the program may still send some, so those are not checked.
///
/// # Errors
/// A rule with a step id or request hash that no take has.
pub fn check_entry_names(
    planned: &PlannedFaults,
    matcher: &Matcher,
    output: &Output,
) -> Result<(), CommandFailure> {
    // There may be a million step ids.
    let is_asked_for = planned.placed_rules().any(|(_, rule)| !rule.when.step_id.is_empty());
    let steps = if is_asked_for { matcher.step_ids() } else { BTreeSet::new() };
    let steps: Vec<&str> = steps.into_iter().collect();
    let tools: Vec<&str> = matcher.recorded_servers().called_tools().collect();
    for (place, rule) in planned.placed_rules() {
        check_tools((place, rule), &steps, &tools)?;
        match (step_alone(&rule.when, &tools), steps.is_empty()) {
            (Some(step), true) => output.warning(&format!(
                "{place}rule {:?} is for the step {step:?}, but no recorded call has a step id: it \
                 applies only if the program sends one, {HOW_TO_SEND}",
                rule.name
            )),
            (Some(_), false) if !rule.when.step_or_tool => {
                check_known_names((place, rule), "recorded step id", &rule.when.step_id, &steps)?;
            }
            _ => {}
        }
        let hashes = &rule.when.request_hash;
        if let Some(hash) = hashes.iter().find(|hash| !matcher.knows_hash(hash)) {
            return Err(CommandFailure::usage(format!(
                "{place}rule {:?} would never apply: no recorded call has a request_hash that \
                 begins with {hash}; `loomrec ls` lists them",
                rule.name
            )));
        }
    }
    Ok(())
}

/// Refuses a rule for a tool that no recorded call names, in a recording with tools.
fn check_tools(
    (place, rule): (&str, &FaultRule),
    steps: &[&str],
    tools: &[&str],
) -> Result<(), CommandFailure> {
    let steps = if rule.when.step_or_tool { steps } else { &[] };
    let what = match (steps.is_empty(), tools.is_empty()) {
        (true, true) => return Ok(()),
        (true, false) => "recorded tool",
        (false, true) => "recorded step id",
        (false, false) => "recorded step id or tool",
    };
    check_known_names((place, rule), what, &rule.when.tool, &[steps, tools].concat())
}

/// Returns the step that a rule is for, unless it is a tool.
fn step_alone<'r>(when: &'r RuleMatch, tools: &[&str]) -> Option<&'r String> {
    let is_tool = |step: &&String| when.step_or_tool && tools.contains(&step.as_str());
    when.step_id.first().filter(|step| !is_tool(step))
}

/// How a program sends a step id.
pub(super) const HOW_TO_SEND: &str =
    "in the header x-loomrec-step-id or in that of --step-id-header";

/// At most this many names are listed in an error.
const SHOWN: usize = 20;

/// Refuses a rule with a name that is not among the known ones.
fn check_known_names(
    (place, rule): (&str, &FaultRule),
    what: &str,
    given: &[String],
    known: &[&str],
) -> Result<(), CommandFailure> {
    let Some(unknown) = given.iter().find(|given| !known.contains(&given.as_str())) else {
        return Ok(());
    };
    let hint = match spelling::nearest_name(unknown, known) {
        Some(near) => format!("did you mean {near:?}?"),
        None if known.len() > SHOWN => {
            let more = known.len() - SHOWN;
            format!("there are: {} and {more} more", known[..SHOWN].join(", "))
        }
        None => format!("there are: {}", known.join(", ")),
    };
    let name = &rule.name;
    Err(CommandFailure::usage(format!(
        "{place}rule {name:?} would never apply: there is no {what} {unknown:?}; {hint}"
    )))
}

/// Returns the budget: that of `--recovery`, else that of a plan.
///
/// # Errors
/// A text that is not a budget; a report that is requested without a budget.
pub fn recovery_budget(
    flags: &FaultArgs,
    planned: &PlannedFaults,
) -> Result<Option<RecoveryBudget>, CommandFailure> {
    let text = flags.recovery.as_deref().filter(|text| !text.is_empty());
    let budget = text.map(score::recovery_budget).transpose()?.or(planned.plan.recovery);
    if budget.is_none() && flags.junit.is_some() {
        return Err(CommandFailure::usage(
            "--junit reports on recovery: give --recovery a budget, or use loomrec journal --recovery",
        ));
    }
    Ok(budget)
}

/// Judges the recovery from each fault.
pub fn judge_recovery(faults: &FaultContext, budget: &RecoveryBudget) -> ScoredFaults {
    let mut reading = Reading::default();
    for line in faults.journal_lines() {
        // loomrec wrote these lines itself, so they are valid.
        drop(reading.add_line(&line));
    }
    ScoredFaults::from_incidents(reading.finish().incidents, Some(budget))
}
