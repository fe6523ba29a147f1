//! The rules for when two requests are the same.

use super::super::args::{IdentityArgs, ToolResultPolicy};
use super::super::exit::CommandFailure;
use loomrec_identity::{IdentityRules, NormalizeRule, PlacePattern};
use loomrec_recording::redact;

/// Reads `--ignore`.
///
/// # Errors
/// A text that is not a JSON pointer.
fn read_patterns(flags: &[String]) -> Result<Vec<PlacePattern>, CommandFailure> {
    let parse = |text: &String| {
        PlacePattern::parse(text)
            .map_err(|error| CommandFailure::usage(format!("--ignore {text}: failed to {error}")))
    };
    flags.iter().filter(|text| !text.is_empty()).map(parse).collect()
}

/// Reads `--ignore`, `--ignore-header`, `--identity-header`, `--normalize` and `--tool-results`.
///
/// # Errors
/// A text that is not a JSON pointer or not a rule; a header name that no rule may use.
pub fn read_rules(args: &IdentityArgs) -> Result<IdentityRules, CommandFailure> {
    let names = |flag: &str, flags: &[String], read: fn(&str) -> Result<String, &'static str>| {
        let name = |text: &String| {
            read(text).map_err(|why| CommandFailure::usage(format!("{flag} {text}: {why}")))
        };
        flags.iter().filter(|text| !text.is_empty()).map(name).collect::<Result<Vec<_>, _>>()
    };
    let headers = names("--identity-header", &args.identity_header, redact::identity_name)?;
    let ignored = names("--ignore-header", &args.ignore_header, redact::ignorable_name)?;
    let rules = IdentityRules::new(read_patterns(&args.ignore)?).with_headers(&headers, &ignored);
    let rule = |text: &String| {
        NormalizeRule::parse(text).map_err(|error| {
            CommandFailure::usage(format!("--normalize {text}: failed to {error}"))
        })
    };
    let normalize = args.normalize.iter().filter(|text| !text.is_empty());
    let normalize = normalize.map(rule).collect::<Result<Vec<_>, _>>()?;
    let of_results = args.tool_results.and_then(rule_of_results);
    Ok(rules.with_normalize(normalize).with_normalize(of_results))
}

/// Returns the rule of `--tool-results`; `None` if results are compared as all else.
pub fn rule_of_results(policy: ToolResultPolicy) -> Option<NormalizeRule> {
    match policy {
        ToolResultPolicy::Exact => None,
        ToolResultPolicy::ByCall => Some(NormalizeRule::tool_results_by_call()),
        ToolResultPolicy::AnyOrder => Some(NormalizeRule::tool_results_in_any_order()),
    }
}
