use serde_json::Value;

use super::super::tests::seen;
use super::*;

fn read(journal: &Journal, wanted: &mut JournalQuery) -> Vec<Value> {
    let mut all = Vec::new();
    loop {
        let piece = journal.next_lines(wanted);
        if piece.is_empty() {
            return all;
        }
        assert!(piece.len() < PIECE * 2);
        let text = String::from_utf8(piece).unwrap();
        all.extend(text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()));
    }
}

#[test]
fn lines_come_once_each_from_the_place_that_is_asked_for() {
    let journal = Journal::new(None);
    (1..=10).for_each(|at| drop(journal.add_call(&mut seen(at * 1_000_000))));
    let mut wanted = JournalQuery::from_query("since=7").unwrap().unwrap();
    let numbers = |lines: &[Value]| -> Vec<u64> {
        lines.iter().map(|line| line["seq"].as_u64().unwrap()).collect()
    };
    assert_eq!(numbers(&read(&journal, &mut wanted)), [8, 9, 10]);
    assert_eq!(read(&journal, &mut wanted), [] as [Value; 0]);
    journal.add_call(&mut seen(11_000_000));
    assert_eq!(numbers(&read(&journal, &mut wanted)), [11]);
    let mut timed = JournalQuery::from_query("since=1970-01-01T00:00:09Z").unwrap().unwrap();
    assert_eq!(numbers(&read(&journal, &mut timed)), [9, 10, 11]);
    let mut ahead =
        JournalQuery::from_query("since=18446744073709551615&follow=1").unwrap().unwrap();
    assert_eq!(read(&journal, &mut ahead), [] as [Value; 0]);
}

#[test]
fn who_falls_behind_is_told_how_many_lines_are_gone() {
    let journal = Journal::new(None);
    (0..KEPT as i64 + 234).for_each(|at| drop(journal.add_call(&mut seen(at))));
    let lines = read(&journal, &mut JournalQuery::default());
    assert_eq!((&lines[0]["outcome"], &lines[0]["lines"]), (&"skipped".into(), &234.into()));
    assert_eq!(lines[0]["seq"], 234);
    assert_eq!((lines.len(), &lines[1]["seq"]), (KEPT + 1, &235.into()));
}

#[test]
fn queries_that_ask_for_something_else_are_refused() {
    assert_eq!(JournalQuery::from_query("").unwrap(), None);
    assert_eq!(JournalQuery::from_query("session=a").unwrap(), None);
    let all = JournalQuery { follow: true, ..JournalQuery::default() };
    assert_eq!(JournalQuery::from_query("follow=1").unwrap(), Some(all));
    for wrong in ["since=yesterday", "since=-1", "follow=yes", "since="] {
        assert!(JournalQuery::from_query(wrong).is_err(), "{wrong}");
    }
}
