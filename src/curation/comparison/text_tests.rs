//! Changed lines and words. Nothing may be lost or invented.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

/// Returns lines with their signs, and changes in brackets.
fn shown(old: &str, new: &str) -> Vec<String> {
    let line = |line: &DiffLine| {
        let sign = match line.kind {
            LineKind::Same => ' ',
            LineKind::Old => '-',
            LineKind::New => '+',
            LineKind::Gap => '@',
        };
        let piece = |piece: &LinePiece| match piece.changed {
            true => format!("[{}]", piece.text),
            false => piece.text.clone(),
        };
        format!("{sign}{}", line.pieces.iter().map(piece).collect::<String>())
    };
    changed_lines(old, new).iter().map(line).collect()
}

#[test]
fn words_that_changed_are_marked_in_their_lines() {
    assert_eq!(
        shown("You are a terse assistant.", "You are a kind assistant."),
        ["-You are a [terse] assistant.", "+You are a [kind] assistant."]
    );
    assert_eq!(shown("one two", "three four"), ["-[one two]", "+[three four]"]);
    assert_eq!(
        shown("こんにちは世界", "こんにちは人類"),
        ["-こんにちは[世界]", "+こんにちは[人類]"]
    );
}

#[test]
fn lines_that_are_the_same_become_a_gap() {
    let text = |middle: &str| {
        let mut lines: Vec<String> = (0..20).map(|n| format!("line {n}")).collect();
        lines[10] = middle.to_owned();
        lines.join("\n")
    };
    assert_eq!(
        shown(&text("a b c"), &text("a b d")),
        [
            "@… 8 lines the same …",
            " line 8",
            " line 9",
            "-a b [c]",
            "+a b [d]",
            " line 11",
            " line 12",
            "@… 7 lines the same …",
        ]
    );
}

#[test]
fn long_lines_are_folded_around_what_changed() {
    let text = |word: &str| format!("{} {word} {}", "before ".repeat(50), "after ".repeat(50));
    for line in shown(&text("one"), &text("two")) {
        assert!(line.chars().count() < 120 && line.contains('['), "{line}");
    }
}

#[test]
fn huge_texts_that_have_nothing_in_common_cost_little() {
    let text = |salt: usize| (0..300_000).map(|n| format!("{} ", n * salt)).collect::<String>();
    let begin = Instant::now();
    let found = changed_lines(&text(7), &text(11));
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
    assert!(found.iter().all(|line| line.whole_text().len() < 5000));
    let many = |salt: usize| (0..100_000).map(|n| format!("{}\n", n * salt)).collect::<String>();
    assert!(!changed_lines(&many(7), &many(11)).is_empty());
}

proptest! {
    #[test]
    fn words_together_are_the_text(text in "[\\PC\n\t]*") {
        prop_assert_eq!(split_words(&text).concat(), text);
    }

    #[test]
    fn hunks_cover_both_sides(old in "[ab]{0,12}", new in "[ab]{0,12}") {
        let (old, new): (Vec<char>, Vec<char>) = (old.chars().collect(), new.chars().collect());
        let (mut at, mut other) = (0, 0);
        for hunk in find_hunks(&old, &new) {
            prop_assert_eq!((hunk.old.start, hunk.new.start), (at, other));
            (at, other) = (hunk.old.end, hunk.new.end);
            prop_assert_eq!(hunk.same, old[hunk.old] == new[hunk.new]);
        }
        prop_assert_eq!((at, other), (old.len(), new.len()));
    }

    #[test]
    fn short_texts_are_told_whole(
        old in "[ab ]{0,9}(\n[ab ]{0,9}){0,3}",
        new in "[ab ]{0,9}(\n[ab ]{0,9}){0,3}",
    ) {
        prop_assume!(old != new);
        let told = changed_lines(&old, &new);
        let side = |kind: LineKind| -> Vec<String> {
            let of = |line: &&DiffLine| line.kind == kind || line.kind == LineKind::Same;
            told.iter().filter(of).map(DiffLine::whole_text).collect()
        };
        prop_assert_eq!(side(LineKind::Old).join("\n"), old);
        prop_assert_eq!(side(LineKind::New).join("\n"), new);
    }
}
