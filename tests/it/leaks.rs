//! Tests that a secret at a random place, in random spellings, is in no output: recording, log,
//! journal, receipt, pending file, messages, metrics, spans, inspector, output of commands, and
//! exports. `PROOF=full` makes 100,000 of them.

mod case;
mod chains;
mod run;
mod search;
mod spelling;
mod table;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use crate::support::chance::{Chance, rounds};
use crate::support::{Scene, Upstream};
use case::{Case, PLACES};
use run::{OUTPUTS, Outputs, run};
use search::{Leak, LeakSearch};

/// The cases in one batch. It is also how many missed calls the inspector shows.
const CASES: usize = 250;

/// The totals of the batches.
#[derive(Default)]
struct Sum {
    calls: usize,
    lost: usize,
    /// The first leak.
    leak: Option<String>,
}

#[test]
fn what_is_spelled_is_read_again() {
    let mut chance = Chance::new();
    let mut search = LeakSearch::new();
    for _ in 0..rounds(3_000, 300_000) {
        let case = Case::new("a prompt", &mut chance);
        search.forget();
        let found = search.find(case.spelled.as_bytes());
        assert!(found.is_some(), "{} {}", case.secret, case.spelled);
    }
    assert!(LeakSearch::new().find(b"{\"a\": \"[REDACTED] \\u0041%41&#65;\"}").is_none());
}

#[test]
fn what_is_compressed_is_read_again() {
    let scene = Scene::new();
    let upstream = Upstream::forgetful(|request| case::answer(request, false));
    let server = scene.record(&upstream, &[]);
    for place in ["an answer under gzip", "a stream under zstandard"] {
        let mut case = Case::new(place, &mut Chance::new());
        case.is_credential = false;
        server.call(&case.call(place)).expect(200);
    }
    server.stop().expect(0);
    let responses = scene.takes().into_iter().map(|(_, take)| take["response"].to_string());
    for response in responses {
        assert!(response.contains("base64"), "{response}");
        assert!(LeakSearch::new().find(response.as_bytes()).is_some(), "{response}");
    }
}

/// The same words, not as credentials: they are not removed, so the search must find them in every
/// output.
#[test]
fn words_that_are_no_credentials_are_found_in_each_output() {
    let mut chance = Chance::new();
    let mut cases = cases(&mut chance);
    cases.iter_mut().for_each(|case| case.is_credential = false);
    let outputs = run(&cases, 0);
    for name in OUTPUTS {
        let mut search = LeakSearch::new();
        let mut found = outputs.all.iter().filter(|(output, _)| *output == name);
        assert!(found.any(|(_, bytes)| search.find(bytes).is_some()), "nothing in {name}");
    }
}

#[test]
fn secret_at_any_place_in_any_spelling_is_in_no_output() {
    let (seed, batches, began) = (Chance::new().seed(), rounds(1, 400), Instant::now());
    let (next, sum) = (AtomicUsize::new(0), Mutex::new(Sum::default()));
    let work = || {
        loop {
            let batch = next.fetch_add(1, Ordering::SeqCst);
            if batch >= batches || sum.lock().unwrap().leak.is_some() {
                return;
            }
            let outcome = try_batch(batch, seed.wrapping_add(batch as u64));
            let mut sum = sum.lock().unwrap();
            match outcome {
                Ok(outputs) => {
                    (sum.calls, sum.lost) = (sum.calls + outputs.calls, sum.lost + outputs.lost);
                }
                Err(leak) => sum.leak = Some(leak),
            }
            if batch % 20 == 19 {
                eprintln!("{} cases in {:?}", (batch + 1) * CASES, began.elapsed());
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from).min(batches) {
            scope.spawn(work);
        }
    });
    let Sum { calls, lost, leak } = sum.into_inner().unwrap();
    assert!(leak.is_none(), "{}", leak.unwrap_or_default());
    assert!(lost * 50 <= calls, "{lost} of {calls} calls were not kept");
    let cases = batches * CASES;
    eprintln!("{cases} cases in {:?}, {lost} of {calls} calls not kept", began.elapsed());
}

fn cases(chance: &mut Chance) -> Vec<Case> {
    (0..CASES).map(|_| Case::new(PLACES[chance.below(PLACES.len())], chance)).collect()
}

/// Runs one batch; fails with the leak as a message, if there is one.
fn try_batch(batch: usize, seed: u64) -> Result<Outputs, String> {
    let cases = cases(&mut Chance::of(seed));
    let outputs = run(&cases, turn_of(seed));
    let mut search = LeakSearch::new();
    for (output, bytes) in &outputs.all {
        let Some(leak) = search.find(bytes) else { continue };
        let case = case_of(&cases, &leak);
        let Case { place, secret, spelled, .. } = case;
        return Err(format!(
            "batch {batch}: {output} holds the secret {secret:?} of {place}, spelled {spelled:?}; \
             it reads {leak:#?}\nagain: PROOF_SEED={seed} cargo test --test it leaks::secret_at",
        ));
    }
    Ok(outputs)
}

/// Which variants of outputs the batch with this seed has.
fn turn_of(seed: u64) -> usize {
    usize::try_from(seed % 6).unwrap()
}

/// The case whose secret the text shows the longest part of.
fn case_of<'c>(cases: &'c [Case], leak: &Leak) -> &'c Case {
    let text = leak.text.to_ascii_lowercase();
    let shown = |case: &&Case| {
        let secret = case.secret.to_ascii_lowercase();
        let lengths = (1..=secret.len()).rev();
        let mut parts =
            lengths.flat_map(|length| (0..=secret.len() - length).map(move |at| at..at + length));
        parts.find(|part| text.contains(&secret[part.clone()])).map_or(0, |part| part.len())
    };
    cases.iter().max_by_key(shown).unwrap()
}
