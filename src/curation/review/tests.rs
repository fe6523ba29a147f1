use proptest::prelude::*;

use super::*;
use loomrec_identity::RequestKey;

fn step(id: &str) -> EntryName {
    EntryName::from_step_id(id).unwrap()
}

fn hash(digit: char) -> RequestKey {
    RequestKey::parse(&digit.to_string().repeat(64)).unwrap()
}

/// Returns a take that was recorded at this time.
fn take(name: &str, take: usize, at: &str) -> ReplacedTake {
    let recorded_at = (!at.is_empty()).then(|| at.to_owned());
    ReplacedTake {
        name: step(name),
        take,
        request_hash: Some(hash('a')),
        recorded_at,
        digest: Some("as it was".to_owned()),
    }
}

fn change(entry: ReplacedTake, replaces: Option<ReplacedTake>) -> ReviewChange {
    ReviewChange { entry, replaces }
}

fn stand(held: &[ReplacedTake], changes: &[ReviewChange]) -> Vec<ChangeStanding> {
    change_standings(held, changes, |_, _| true)
}

/// Returns the new content of the recording in words: `plan<-draft: 1 +0`.
fn told(held: &[ReplacedTake], changes: &[ReviewChange], accepted: &[usize]) -> Vec<String> {
    let outcome = apply_changes(held, changes, &stand(held, changes), accepted);
    let word = |source: &ReviewSource| match source {
        ReviewSource::Held(at) => format!(" {at}"),
        ReviewSource::New(at) => format!(" +{at}"),
    };
    let line = |named: &ReviewedName| {
        let instead = named.instead_of.as_ref().map_or(String::new(), |old| format!("<-{old}"));
        format!("{}{instead}:{}", named.name, named.takes.iter().map(word).collect::<String>())
    };
    outcome.names.iter().map(line).collect()
}

#[test]
fn change_stands_for_the_take_it_was_made_for() {
    let held = [take("a", 1, "1"), take("b", 1, "2"), take("b", 2, "3")];
    let new = |at: &str| take("b", 1, at);
    let of = |replaces| stand(&held, &[change(new("9"), replaces)])[0];
    assert_eq!(of(Some(take("b", 2, "3"))), ChangeStanding::Replaces(2));
    assert_eq!(of(Some(take("b", 3, "3"))), ChangeStanding::Replaces(2), "a take before it went");
    assert_eq!(of(Some(take("b", 2, "4"))), ChangeStanding::Changed(2));
    assert_eq!(of(Some(take("b", 3, "4"))), ChangeStanding::Gone);
    assert_eq!(of(Some(take("b", 0, "4"))), ChangeStanding::Gone);
    assert_eq!(of(Some(take("c", 1, "1"))), ChangeStanding::Gone);
    let other = ReplacedTake { request_hash: Some(hash('b')), ..take("b", 2, "3") };
    assert_eq!(of(Some(other)), ChangeStanding::Changed(2));
    let edited = |take| ReplacedTake { digest: Some("edited".to_owned()), ..take };
    assert_eq!(of(Some(edited(take("b", 2, "3")))), ChangeStanding::Changed(2));
    assert_eq!(of(Some(edited(take("b", 3, "3")))), ChangeStanding::Changed(2));
    let of_earlier_version = ReplacedTake { digest: None, ..take("b", 2, "3") };
    assert_eq!(of(Some(of_earlier_version)), ChangeStanding::Replaces(2));
    assert_eq!(of(None), ChangeStanding::Adds);
}

#[test]
fn time_alone_tells_no_take_where_there_is_none() {
    let held = [take("a", 1, ""), take("a", 2, "")];
    let of = |number| {
        let replaces = Some(take("a", number, ""));
        stand(&held, &[change(take("b", 1, "9"), replaces)])[0]
    };
    assert_eq!(of(2), ChangeStanding::Replaces(1));
    assert_eq!(of(3), ChangeStanding::Gone);
}

#[test]
fn change_that_is_there_already_is_made_and_only_once() {
    let held = [take("a", 1, "9")];
    let again = change(take("a", 1, "9"), Some(take("a", 1, "1")));
    let twice = [again.clone(), change(take("a", 2, "9"), None)];
    assert_eq!(stand(&held, &twice), [ChangeStanding::Made, ChangeStanding::Adds]);
    // It has the same identity, but is a different entry.
    assert_eq!(change_standings(&held, &[again], |_, _| false), [ChangeStanding::Changed(0)]);
}

#[test]
fn accepted_entry_stands_where_the_old_take_stood() {
    let held = [take("a", 1, "1"), take("b", 1, "2"), take("b", 2, "3"), take("c", 1, "4")];
    let in_place = change(take("b", 1, "9"), Some(take("b", 2, "3")));
    let elsewhere = change(take("x", 1, "9"), Some(take("a", 1, "1")));
    let joins = change(take("c", 1, "9"), Some(take("a", 1, "1")));
    let new = change(take("n", 1, "9"), None);
    let further = change(take("c", 2, "8"), None);
    let all = [in_place, elsewhere, joins, new, further];
    assert_eq!(told(&held, &all, &[0]), ["b: 1 +0"]);
    assert_eq!(told(&held, &all, &[1]), ["x<-a: +1"]);
    assert_eq!(told(&held, &all, &[2]), ["a:", "c: 3 +2"]);
    assert_eq!(told(&held, &all, &[3, 4]), ["n: +3", "c: 3 +4"]);
    assert_eq!(told(&held, &all, &[1, 2]), ["x<-a: +1", "c: 3 +2"], "the first has the place");
    assert_eq!(told(&held, &all, &[]), [""; 0]);
}

#[test]
fn name_is_inherited_only_once_all_its_takes_are_gone() {
    let held = [take("b", 1, "2"), take("b", 2, "3")];
    let first = change(take("x", 1, "8"), Some(take("b", 1, "2")));
    let second = change(take("x", 2, "9"), Some(take("b", 2, "3")));
    let other = change(take("y", 1, "9"), Some(take("b", 2, "3")));
    let all = [first, second, other];
    assert_eq!(told(&held, &all, &[0]), ["b: 1", "x: +0"]);
    assert_eq!(told(&held, &all, &[0, 1]), ["x<-b: +0 +1"]);
    assert_eq!(told(&held, &all, &[0, 2]), ["x<-b: +0", "y: +2"]);
    let outcome = apply_changes(&held, &all, &stand(&held, &all), &[0]);
    assert_eq!(outcome.moved, [(1, 1)], "what was take 2 is take 1 now");
}

#[test]
fn conflict_that_is_forced_loses_nothing_but_what_stands_there() {
    let held = [take("a", 1, "5")];
    let changed = change(take("a", 1, "9"), Some(take("a", 1, "1")));
    let gone = change(take("z", 1, "9"), Some(take("q", 1, "1")));
    assert_eq!(told(&held, &[changed, gone], &[0, 1]), ["a: +0", "z: +1"]);
}

proptest! {
    /// Whatever waits: every accepted change is in the recording once, and every take that no
    /// change replaces stays, in order.
    #[test]
    fn nothing_is_lost_and_nothing_comes_twice(
        takes in prop::collection::vec((0..4usize, 0..3u8), 0..10),
        waiting in prop::collection::vec((0..5usize, 0..5usize, 0..4usize, 0..4u8, any::<bool>()), 0..10),
    ) {
        let names = ["a", "b", "c", "d", "e"];
        let mut held = Vec::new();
        for (at, name) in names.iter().enumerate() {
            let of_name = takes.iter().filter(|(of, _)| *of == at).enumerate();
            held.extend(of_name.map(|(n, (_, time))| take(name, n + 1, &time.to_string())));
        }
        let changes: Vec<ReviewChange> = waiting
            .iter()
            .map(|(name, of, number, time, adds)| {
                let replaces = (!adds).then(|| take(names[*of], *number, &time.to_string()));
                change(take(names[*name], 1, "9"), replaces)
            })
            .collect();
        let standings = stand(&held, &changes);
        let accepted: Vec<usize> = (0..changes.len()).collect();
        let outcome = apply_changes(&held, &changes, &standings, &accepted);
        let mut fresh = Vec::new();
        let mut kept = Vec::new();
        for named in &outcome.names {
            for take in &named.takes {
                match take {
                    ReviewSource::New(at) => {
                        prop_assert_eq!(&changes[*at].entry.name, &named.name);
                        fresh.push(*at);
                    }
                    ReviewSource::Held(at) => {
                        prop_assert_eq!(&held[*at].name, &named.name);
                        kept.push(*at);
                    }
                }
            }
        }
        fresh.sort_unstable();
        prop_assert_eq!(fresh, accepted);
        let replaced: BTreeSet<usize> = standings.iter().filter_map(|s| s.replaced_index()).collect();
        let changed: BTreeSet<&EntryName> = outcome
            .names
            .iter()
            .flat_map(|named| [Some(&named.name), named.instead_of.as_ref()])
            .flatten()
            .collect();
        let stay: Vec<usize> = (0..held.len())
            .filter(|at| changed.contains(&held[*at].name) && !replaced.contains(at))
            .collect();
        kept.sort_unstable();
        prop_assert_eq!(kept, stay);
    }
}
