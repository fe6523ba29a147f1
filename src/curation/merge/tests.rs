use proptest::prelude::*;

use super::*;

/// Builds a take from a text: the call, its answer, and a mark for what differs with each
/// recording. `a1` and `a1'` are equivalent. No client got the answer of `a1?`.
fn take(file: usize, place: usize, text: &str) -> MergeTake {
    let asks = Entry { session: Some(text[..1].to_owned()), ..Entry::default() };
    let question = TakeIdentity::from_entry(&asks);
    let is_undelivered = text.ends_with('?');
    let at = TakePosition { file, place };
    MergeTake { at, question, whole: Sha256::digest(text).into(), is_undelivered }
}

fn takes(file: usize, text: &str) -> Vec<MergeTake> {
    text.split_whitespace().enumerate().map(|(place, text)| take(file, place, text)).collect()
}

/// Merges takes that are written as texts, and returns the result.
fn merged(
    base: &str,
    ours: &str,
    theirs: &str,
    prefer: ConflictChoice,
) -> (String, Vec<MergeConflict>, bool) {
    let sides = [base, ours, theirs];
    let text = |take: &MergeTake| {
        let text = sides[take.at.file].split_whitespace().nth(take.at.place);
        text.unwrap().to_owned()
    };
    let same = |one: &MergeTake, other: &MergeTake| -> Result<bool, ()> {
        Ok(text(one).trim_end_matches('\'') == text(other).trim_end_matches('\''))
    };
    let all = (takes(0, base), takes(1, ours), takes(2, theirs));
    let MergedName { takes, conflicts, appended } =
        merge_name(&all.0, &all.1, &all.2, prefer, same).unwrap();
    let texts: Vec<String> = takes.iter().map(text).collect();
    (texts.join(" "), conflicts, appended)
}

/// Returns the result of a merge without conflicts.
#[track_caller]
fn clean(base: &str, ours: &str, theirs: &str) -> String {
    let (text, conflicts, _) = merged(base, ours, theirs, ConflictChoice::First);
    assert_eq!(conflicts, [], "{text}");
    text
}

#[test]
fn answer_that_no_client_got_is_given_up_for_one_that_was_got() {
    assert_eq!(clean("", "a1?", "a2"), "a2");
    assert_eq!(clean("", "a1", "a2?"), "a1");
    let conflict = vec![MergeConflict::Changed];
    for (base, ours, theirs) in [("", "a1?", "a2?"), ("a0", "a1?", "a2")] {
        let (text, conflicts, _) = merged(base, ours, theirs, ConflictChoice::First);
        assert_eq!((text.as_str(), conflicts), (ours, conflict.clone()));
    }
}

#[test]
fn call_is_as_the_side_has_it_that_changed_it() {
    for (base, ours, theirs, wanted) in [
        ("a1", "a1", "a2", "a2"),
        ("a1", "a2", "a1", "a2"),
        ("a1", "a1", "", ""),
        ("a1", "", "a1", ""),
        ("", "a1", "", "a1"),
        ("", "", "a1", "a1"),
        ("a1", "a2", "a2'", "a2"),
        ("a1 b1", "a1 b2", "a2 b1", "a2 b2"),
        ("a1 b1", "a1", "a1 b1 c1", "a1 c1"),
        // Recorded again with the same answer, and changed or removed by the other side.
        ("a1", "a1'", "a2", "a2"),
        ("a1", "a2", "a1'", "a2"),
        ("a1", "a1'", "", ""),
        ("a1", "a1", "a1'", "a1'"),
        ("a1", "a1'", "a1", "a1'"),
    ] {
        assert_eq!(clean(base, ours, theirs), wanted, "{base} | {ours} | {theirs}");
    }
}

#[test]
fn take_that_nobody_changed_is_ours() {
    let all = [0, 1, 2].map(|file| takes(file, "a1 b1"));
    let same = |_: &MergeTake, _: &MergeTake| -> Result<bool, ()> { Ok(true) };
    let merged = merge_name(&all[0], &all[1], &all[2], ConflictChoice::Last, same).unwrap();
    assert_eq!(merged.takes, all[1]);
}

#[test]
fn takes_stand_where_ours_had_them_and_what_is_new_behind() {
    assert_eq!(clean("a1 b1", "c1 a1 b1", "a2 b1 d1"), "c1 a2 b1 d1");
    assert_eq!(clean("", "b1 a1", "a1 b1 c1"), "b1 a1 c1");
    assert_eq!(clean("a1 b1 a1", "a1 b1 a1", "a1 b1 a1 a2"), "a1 b1 a1 a2");
}

#[test]
fn longer_side_stands_when_the_other_is_its_beginning() {
    assert_eq!(clean("", "a1", "a1' a2"), "a1' a2");
    assert_eq!(clean("", "a1 a2", "a1"), "a1 a2");
    assert_eq!(clean("a1", "a1 a2", "a1 a2 a3"), "a1 a2 a3");
}

#[test]
fn both_stand_when_both_sides_have_gone_on() {
    let (text, conflicts, appended) = merged("a1", "a1 a2", "a1 a3 a4", ConflictChoice::First);
    assert_eq!((text.as_str(), conflicts.as_slice(), appended), ("a1 a2 a3 a4", &[][..], true));
    let (text, conflicts, appended) = merged("a1", "a1 a2 a3", "a1 a2 a4", ConflictChoice::First);
    assert_eq!((text.as_str(), conflicts.as_slice(), appended), ("a1 a2 a3 a4", &[][..], true));
}

#[test]
fn conflict_is_decided_as_preferred_when_both_sides_have_changed_a_call() {
    use ConflictChoice::{Both, First, Last};
    use MergeConflict::{Changed, RemovedByFirst, RemovedByLast};
    for (base, ours, theirs, prefer, wanted, conflict) in [
        ("a1", "a2", "a3", First, "a2", Changed),
        ("a1", "a2", "a3", Last, "a3", Changed),
        ("a1", "a2", "a3", Both, "a2 a3", Changed),
        ("", "a1", "a2", First, "a1", Changed),
        ("", "a1 a2", "a2' a3", Both, "a1 a2 a3", Changed),
        ("", "a1 a1", "a2 a1", Both, "a1 a1 a2", Changed),
        ("a1", "", "a2", First, "", RemovedByFirst),
        ("a1", "", "a2", Last, "a2", RemovedByFirst),
        ("a1", "", "a2", Both, "a2", RemovedByFirst),
        ("a1", "a2", "", First, "a2", RemovedByLast),
        ("a1", "a2", "", Last, "", RemovedByLast),
        ("a1", "a2", "", Both, "a2", RemovedByLast),
        ("a1 a2", "a1", "a1 a3", First, "a1", Changed),
    ] {
        let (text, conflicts, _) = merged(base, ours, theirs, prefer);
        assert_eq!(
            (text.as_str(), &*conflicts),
            (wanted, &[conflict][..]),
            "{base}|{ours}|{theirs}"
        );
    }
}

/// Generates up to five takes of three calls with one of three answers.
fn side() -> impl Strategy<Value = String> {
    prop::collection::vec("[abc][123]'?", 0..5).prop_map(|takes| takes.join(" "))
}

proptest! {
    #[test]
    fn nothing_is_lost_unless_a_side_removed_it(base in side(), ours in side(), theirs in side()) {
        let (text, _, _) = merged(&base, &ours, &theirs, ConflictChoice::Both);
        let say = |text: &str| {
            let words = text.split_whitespace().map(|word| word.trim_end_matches('\''));
            words.map(str::to_owned).collect::<Vec<String>>()
        };
        let (was, out) = (say(&base), say(&text));
        for word in say(&ours).iter().chain(&say(&theirs)) {
            prop_assert!(out.contains(word) || was.contains(word), "{word} of {ours} | {theirs}");
        }
        for word in &out {
            prop_assert!(say(&ours).contains(word) || say(&theirs).contains(word));
        }
    }

    #[test]
    fn side_that_changed_nothing_changes_nothing(base in side(), other in side()) {
        for prefer in [ConflictChoice::First, ConflictChoice::Last, ConflictChoice::Both] {
            let one = merged(&base, &other, &base, prefer);
            prop_assert_eq!(one, (other.clone(), Vec::new(), false));
            let (text, conflicts, _) = merged(&base, &base, &other, prefer);
            prop_assert_eq!(conflicts, []);
            let sorted = |text: &str| {
                let mut words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
                words.sort();
                words
            };
            prop_assert_eq!(sorted(&text), sorted(&other));
        }
    }
}
