use std::collections::HashMap;

use proptest::prelude::*;

use super::super::loaded_takes::ReplaySource;
use super::super::matcher::Matcher;
use super::super::reason::MissReason;
use super::super::replay_terms::ReplayTerms;
use super::*;
use loomrec_provider::{Operation, Provider, RecognisedCall};
use loomrec_recording::entry::RecordedRequest;
use loomrec_recording::normalized_request::NormalizedRequest;
use loomrec_store::Recording;

/// A take as the tests describe it.
#[derive(Clone, Copy, Debug)]
struct Kept {
    streamed: bool,
    session: Option<u8>,
    step: Option<u8>,
    upstream: Option<u8>,
}

/// What happens to a matcher.
#[derive(Clone, Copy, Debug)]
enum PoolEvent {
    Call(Kept),
    /// A call whose take turns out not to fit it.
    GivenBack(Kept),
    Reset(Option<u8>),
}

fn name(kind: &str, id: Option<u8>) -> Option<String> {
    id.map(|id| format!("{kind}{id}"))
}

fn request(streamed: bool) -> RecordedRequest {
    let stream = if streamed { r#","stream":true"# } else { "" };
    RecordedRequest {
        method: "POST".into(),
        path: "/v1/chat/completions".into(),
        body: format!(r#"{{"model":"m","messages":[]{stream}}}"#).into(),
        ..RecordedRequest::default()
    }
}

fn matcher(takes: &[Kept], repeat: Repeat) -> Matcher {
    let call = RecognisedCall {
        provider: Provider::OPEN_AI,
        operation: Operation::CHAT_COMPLETIONS,
        model: None,
        streamed: false,
        target: None,
        rpc: None,
    };
    let hash = request(false).compute_key(&call, &loomrec_identity::IdentityRules::default());
    let mut file = serde_json::Map::new();
    file.insert("_version".into(), 2.into());
    let mut numbers = std::collections::BTreeMap::<Option<u8>, usize>::new();
    for take in takes {
        let number = numbers.entry(take.step).or_default();
        *number += 1;
        let mut entry = serde_json::json!({
            "content": "x", "request_hash": hash.as_str(),
            "request": { "method": "POST", "path": "/v1/chat/completions",
                "text": String::from_utf8_lossy(&request(take.streamed).body) },
            "response": { "status": 200, "text": "x" },
        });
        if let Some(session) = name("session", take.session) {
            entry["session"] = session.into();
        }
        if let Some(upstream) = name("upstream", take.upstream) {
            entry["upstream"] = upstream.into();
        }
        match name("step", take.step) {
            None if *number == 1 => drop(file.insert(hash.to_string(), entry)),
            None => drop(file.insert(format!("{hash}#{number}"), entry)),
            Some(step) => {
                let turns = file.entry(step).or_insert_with(|| serde_json::json!([]));
                turns.as_array_mut().unwrap().push(entry);
            }
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.json");
    std::fs::write(&path, serde_json::Value::Object(file).to_string()).unwrap();
    let recording = Recording::open(&path).unwrap();
    let terms = ReplayTerms { repeat: Some(repeat), ..ReplayTerms::default() };
    Matcher::new(vec![ReplaySource { label: "run".into(), recording }], terms).unwrap()
}

fn observed(call: Kept) -> NormalizedRequest {
    let upstream = name("upstream", call.upstream).unwrap_or_else(|| "elsewhere".into());
    let mut observed = NormalizedRequest::new(upstream, request(call.streamed), &[]);
    observed.session = name("session", call.session);
    observed.step = name("step", call.step);
    observed
}

#[test]
fn each_call_of_a_take_has_its_number() {
    let take = Kept { streamed: false, session: None, step: None, upstream: None };
    let matcher = matcher(&[take], Repeat::Last);
    let nth = |_| matcher.find_take(&observed(take)).unwrap().nth;
    assert_eq!((0..3).map(nth).collect::<Vec<_>>(), [1, 2, 3]);
}

#[test]
fn open_sessions_use_the_takes_apart_and_the_run_sees_what_none_used() {
    let take = Kept { streamed: false, session: None, step: None, upstream: None };
    let run = matcher(&[take, take, take], Repeat::Error);
    let sessions = ["a", "b"].map(|name| run.for_session(name));
    for session in &sessions {
        assert_eq!(session.find_take(&observed(take)).map(|hit| hit.nth), Ok(1));
        let second = session.find_take(&observed(take)).unwrap().index();
        session.release_take(second, None);
        assert_eq!((session.unused_takes().count(), session.answered_calls(second)), (2, 0));
        session.consume_take(second, None);
        assert_eq!((session.unused_takes().count(), session.answered_calls(second)), (1, 1));
    }
    assert_eq!(run.unused_takes().count(), 1);
    assert_eq!(run.find_take(&observed(take)).unwrap().index(), 0);
    sessions[0].find_take(&observed(take)).unwrap();
    assert_eq!(sessions[0].find_take(&observed(take)).err(), Some(MissReason::Exhausted));
    sessions[0].reset(None);
    assert_eq!(sessions[0].find_take(&observed(take)).unwrap().index(), 0);
    assert_eq!((sessions[1].unused_takes().count(), run.unused_takes().count()), (1, 0));
}

/// A plain implementation of the rules for takes.
struct Plain<'m> {
    matcher: &'m Matcher,
    repeat: Repeat,
    used: HashMap<Option<String>, Vec<bool>>,
}

impl Plain<'_> {
    fn find(&mut self, call: &NormalizedRequest) -> Result<usize, MissReason> {
        let id = |name: &str| self.matcher.names.find(name);
        let wanted = RequestedMode::from_request(call);
        let session = call.session.as_deref().and_then(id);
        let upstream = id(&call.upstream);
        let step = call.step.as_deref().and_then(id);
        let step = step.filter(|step| self.matcher.steps.contains(*step));
        let takes = &self.matcher.takes;
        let used =
            self.used.entry(call.session.clone()).or_insert_with(|| vec![false; takes.len()]);
        let here = |at: &usize| {
            takes[*at].under.upstream.is_none() || takes[*at].under.upstream == upstream
        };
        let plain = |at: &usize| takes[*at].under.step.is_none();
        let stepped = |at: &usize| takes[*at].under.step.is_some() && call.step.is_none();
        let in_step = |at: &usize| takes[*at].under.step == step;
        let kinds: Vec<&dyn Fn(&usize) -> bool> =
            if step.is_some() { vec![&in_step] } else { vec![&plain, &stepped] };
        let (mut exhausted, mut any) = (false, false);
        for kind in kinds {
            let all: Vec<usize> = (0..takes.len()).filter(kind).filter(here).collect();
            let of = |wanted: Option<NameId>| {
                let of = |at: &usize| takes[*at].under.session == wanted;
                all.iter().copied().filter(of).collect::<Vec<usize>>()
            };
            let own = if session.is_some() { of(session) } else { Vec::new() };
            let pool = if own.is_empty() { of(None) } else { own };
            let Some(&last) = pool.last() else { continue };
            any = true;
            let fits = |at: &&usize| takes[**at].form.fits(wanted);
            let next = |used: &[bool]| {
                let unused = |at: &&usize| !used[**at];
                let form = pool.iter().filter(unused).find(fits);
                form.or_else(|| pool.iter().find(unused)).copied()
            };
            let found = match (next(used), self.repeat) {
                (Some(at), _) => at,
                (None, Repeat::Error) => {
                    exhausted = true;
                    continue;
                }
                (None, Repeat::Last) => pool.iter().rev().find(fits).copied().unwrap_or(last),
                (None, Repeat::Cycle) => {
                    pool.iter().for_each(|&at| used[at] = false);
                    next(used).unwrap_or(last)
                }
            };
            used[found] = true;
            return Ok(found);
        }
        let of_step = |at: &usize| takes[*at].under.step == step;
        let left = || (0..takes.len()).filter(of_step).any(|at| !self.matcher.is_used(at));
        Err(match step {
            Some(_) if exhausted && !left() => MissReason::Exhausted,
            Some(_) => MissReason::Drifted,
            None if exhausted => MissReason::Exhausted,
            None if any || (0..takes.len()).any(|at| here(&at)) => MissReason::OtherSession,
            None => MissReason::OtherUpstream,
        })
    }
}

fn kept() -> impl Strategy<Value = Kept> {
    let some = || prop_oneof![3 => Just(None), 2 => (0_u8..2).prop_map(Some)];
    (any::<bool>(), some(), some(), some()).prop_map(|(streamed, session, step, upstream)| Kept {
        streamed,
        session,
        step,
        upstream,
    })
}

fn event() -> impl Strategy<Value = PoolEvent> {
    prop_oneof![
        30 => kept().prop_map(PoolEvent::Call),
        5 => kept().prop_map(PoolEvent::GivenBack),
        1 => prop_oneof![Just(None), (0_u8..3).prop_map(Some)].prop_map(PoolEvent::Reset),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Few takes are searched for each call, many are remembered in pools. Both must follow the
    /// rules.
    #[test]
    fn takes_are_handed_out_as_the_plain_rules_say(
        takes in proptest::collection::vec(kept(), 1..60),
        events in proptest::collection::vec(event(), 1..200),
        repeat in prop_oneof![Just(Repeat::Error), Just(Repeat::Last), Just(Repeat::Cycle)],
    ) {
        let matcher = matcher(&takes, repeat);
        prop_assert_eq!(matcher.len(), takes.len());
        let mut plain = Plain { matcher: &matcher, repeat, used: HashMap::new() };
        for event in events {
            let call = match event {
                PoolEvent::Call(call) | PoolEvent::GivenBack(call) => observed(call),
                PoolEvent::Reset(session) => {
                    let session = name("session", session);
                    matcher.reset(session.as_deref());
                    match session {
                        Some(_) => drop(plain.used.remove(&session)),
                        None => plain.used.clear(),
                    }
                    continue;
                }
            };
            let expected = plain.find(&call);
            let found = matcher.find_take(&call);
            let index = found.as_ref().map(|hit| hit.index).map_err(|reason| *reason);
            prop_assert_eq!(index, expected, "{:?}", call);
            if let (PoolEvent::GivenBack(_), Ok(hit)) = (event, &found) {
                matcher.release_take(hit.index(), call.session.as_deref());
                plain.used.get_mut(&call.session).unwrap()[hit.index] = false;
            }
        }
    }
}

#[test]
fn bits_beyond_the_first_word_are_kept() {
    let mut bits = BitSet::default();
    for at in [0, 63, 64, 1000] {
        assert!(!bits.get(at));
        bits.clear(at);
        bits.set(at);
        assert!(bits.get(at) && !bits.get(at + 1));
    }
    bits.clear(64);
    assert!(bits.get(63) && !bits.get(64) && bits.get(1000) && !bits.get(1001));
}

#[test]
fn looking_for_the_next_take_does_not_depend_on_how_many_are_used() {
    const COUNT: usize = 5_000;
    let plain = Kept { streamed: false, session: None, step: None, upstream: None };
    let kept: Vec<Kept> = (0..COUNT).map(|at| Kept { streamed: at % 2 == 0, ..plain }).collect();
    let matcher = matcher(&kept, Repeat::Cycle);
    let looked = std::cell::Cell::new(0_usize);
    let take = |position: usize| {
        looked.set(looked.get() + 1);
        &matcher.takes[position]
    };
    let key = PoolKey {
        kind: PoolKind::Plain,
        spot: TakeScope {
            upstream: None,
            mount: super::super::take_scope::ScopeLabel::Any,
            host: super::super::take_scope::ScopeLabel::Any,
            has_version: None,
        },
        form: None,
        undelivered: false,
    };
    let mut progress = SessionCursor::default();
    for round in 1..=3 {
        for _ in 0..COUNT {
            let next = progress.next(
                (key, COUNT),
                RequestedMode::Complete,
                |_| Repeat::Cycle,
                || TakeSet::All(COUNT),
                take,
            );
            assert!(matches!(next, PoolChoice::Take(_)));
        }
        assert!(looked.get() <= 3 * round * COUNT, "{} in {round} rounds", looked.get());
    }
}

#[test]
fn take_is_given_back_once_for_each_take_that_is_used_up_in_its_place() {
    let mut progress = SessionCursor::default();
    assert!(progress.consume(0));
    assert!(!progress.exchange(0, &[]), "nothing is there in its place");
    assert!(progress.exchange(0, &[2, 3]));
    assert!(progress.consume(0), "it is unused again");
    assert!(!progress.consume(2), "the other one is used up");
    assert!(progress.consume(3));
    assert!(progress.exchange(0, &[2, 3]), "another call has the last one already");
    assert!(progress.consume(0));
    assert!(!progress.exchange(0, &[2, 3]));
}
