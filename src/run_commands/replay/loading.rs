//! The recordings of a replay: how they are loaded, and what is in force for their takes.

use std::collections::BTreeSet;

use super::refused_rules;
use crate::args::{RepeatPolicy, ReplayArgs};
use crate::expiry::ExpiredTakes;
use crate::in_force::InForce;
use crate::server_run::RunContext;
use loomrec_cli::exit::CommandFailure;
use loomrec_cli::serve_setup;
use loomrec_engine::replay::{Matcher, Repeat, ReplaySource, ReplayTerms};
use loomrec_store::RecordingLocation;

/// The takes of a replay, and what is in force for them.
pub(super) struct TakesInForce {
    /// The takes.
    pub(super) matcher: Matcher,
    /// The takes that are too old.
    pub(super) expired: Option<ExpiredTakes>,
    /// What is in force.
    pub(super) in_force: InForce,
}

/// Loads every recording, and adds the upstreams that it names to the context.
///
/// # Errors
/// A recording that cannot be read, or must not be used.
pub(super) fn load_takes(
    args: &ReplayArgs,
    ground: &mut RunContext,
) -> Result<TakesInForce, CommandFailure> {
    let (matcher, expired) = load_matcher(args, ground)?;
    refused_rules::refuse(args.strict, &matcher, &ground.output)?;
    let recorded: BTreeSet<String> = matcher.recorded_upstreams().map(str::to_owned).collect();
    serve_setup::add_recorded(&mut ground.upstreams, &recorded);
    let addresses = matcher.recorded_addresses();
    serve_setup::add_recorded_addresses(&mut ground.upstreams, addresses.iter());
    if args.serve.intercept.intercept {
        serve_setup::add_recorded_hosts(&mut ground.upstreams, addresses.iter());
    }
    let in_force = InForce::of_replay(args, &matcher);
    Ok(TakesInForce { matcher, expired, in_force })
}

/// Loads every recording, and checks which takes are too old.
fn load_matcher(
    args: &ReplayArgs,
    ground: &RunContext,
) -> Result<(Matcher, Option<ExpiredTakes>), CommandFailure> {
    let rules = ground.identity_rules(&args.serve)?;
    let is_there =
        |at: &&RecordingLocation| !ground.session.may_lack_recording || at.as_path().exists();
    let open = |at: &RecordingLocation| serve_setup::source(at, args.strict, &ground.output);
    let sources: Result<Vec<ReplaySource>, CommandFailure> =
        args.recordings.iter().filter(is_there).map(open).collect();
    let repeat = args.repeat.or(args.strict.then_some(RepeatPolicy::Error));
    let repeat = repeat.map(|policy| match policy {
        RepeatPolicy::Error => Repeat::Error,
        RepeatPolicy::Last => Repeat::Last,
        RepeatPolicy::Cycle => Repeat::Cycle,
    });
    let refuse_unchecked = args.strict && !args.allow_unchecked;
    let terms = ReplayTerms {
        rules: Some(&rules),
        repeat,
        run_values: Some(&ground.run_values.all),
        repository: Some(&ground.run_values.states),
        ignores_presets: args.serve.run_values.has_no_preset(),
        refuse_unchecked,
        allow_messages: args.allow_unchecked,
        faults_use_takes: args.strict,
        keeps_end_order: args.keeps_end_order(),
        is_of_session: ground.session.may_lack_recording,
        exact_scope: false,
    };
    let sources = sources?;
    let expired = ExpiredTakes::find(&args.expiry, &sources)?;
    Ok((Matcher::new(sources, terms)?, expired))
}
