//! The rules for when two requests are the same.

use super::super::args::{HEADER, IdentityArgs, ToolResultPolicy};
use super::super::exit::CommandFailure;
use loomrec_identity::{IdentityRules, NormalizeRule, PlacePattern};
use loomrec_recording::redact;

/// Returns the values of a flag that are not empty.
fn given_texts(texts: &[String]) -> impl Iterator<Item = &String> {
    texts.iter().filter(|text| !text.is_empty())
}

/// Reads a pointer of `--ignore`.
///
/// # Errors
/// A text that is not a JSON pointer.
fn read_pattern(text: &str) -> Result<PlacePattern, CommandFailure> {
    PlacePattern::parse(text)
        .map_err(|error| CommandFailure::usage(format!("--ignore {text}: failed to {error}")))
}

/// Reads `--ignore`, `--identity-header`, `--normalize` and `--tool-results`.
///
/// # Errors
/// A text that is not a JSON pointer or not a rule; a header name that no rule may use.
pub fn read_rules(args: &IdentityArgs) -> Result<IdentityRules, CommandFailure> {
    let refuse =
        |flag: &str, name: &str, why: &str| CommandFailure::usage(format!("{flag}{name}: {why}"));
    let (mut patterns, mut ignored) = (Vec::new(), Vec::new());
    for text in given_texts(&args.ignore) {
        match text.strip_prefix(HEADER) {
            Some(name) => {
                let read = redact::ignorable_name(name);
                ignored.push(read.map_err(|why| refuse("--ignore header:", name, why))?);
            }
            None => patterns.push(read_pattern(text)?),
        }
    }
    let header = |name: &String| {
        redact::identity_name(name).map_err(|why| refuse("--identity-header ", name, why))
    };
    let headers = given_texts(&args.identity_header).map(header).collect::<Result<Vec<_>, _>>()?;
    let rules = IdentityRules::new(patterns).with_headers(&headers, &ignored);
    let rule = |text: &String| {
        NormalizeRule::parse(text).map_err(|error| {
            CommandFailure::usage(format!("--normalize {text}: failed to {error}"))
        })
    };
    let normalize = given_texts(&args.normalize).map(rule).collect::<Result<Vec<_>, _>>()?;
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
