use std::fs;
use std::path::Path;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use super::*;
use crate::AppenderEvent;
use crate::disk::Disk;
use crate::disk::failing::{DiskFailure, Plan};
use crate::{LogItem, RunChoice, load_recording};
use loomrec_identity::IdentityRules;
use loomrec_recording::{Entry, EntryName};

/// Longer than a compaction that failed once needs until its retry.
const PATIENCE: Duration = Duration::from_secs(60);

fn start(path: &Path, plan: &Plan) -> (SharedAppender, Receiver<String>) {
    let (disk, rules) = (Disk::failing(plan), IdentityRules::default());
    let appender = RecordingAppender::open_on(disk, path, &RunChoice::New, &rules).unwrap();
    let (events, reported) = mpsc::channel();
    let on_event: OnAppenderEvent = Arc::new(move |event| {
        let text = match event {
            AppenderEvent::Compacted(_) => "compacted".to_owned(),
            other => format!("{other:?}"),
        };
        events.send(text).unwrap();
    });
    (SharedAppender::start(appender, on_event).unwrap(), reported)
}

fn append(appender: &SharedAppender, step: &str) {
    let entry = Entry { content: Some(step.to_owned()), ..Entry::default() };
    let name = EntryName::from_step_id(step).unwrap();
    let item = LogItem::new(name, entry, Arc::default());
    let frame = appender.encoder(true).encode(&item).unwrap();
    appender.append_now(&mut [frame]).expect("nobody is in the way").unwrap();
}

fn steps(path: &Path) -> Vec<String> {
    load_recording(path).unwrap().entries().map(|(name, take, _)| name.take_key(take)).collect()
}

/// Returns the steps in the recording's own file.
fn steps_in_file(path: &Path) -> usize {
    fs::read_to_string(path).map_or(0, |text| text.matches("\"content\"").count())
}

#[test]
fn a_compaction_comes_by_itself_and_one_that_failed_is_reported_and_tried_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("r.json");
    let plan = Plan::counting();
    let (appender, reported) = start(&path, &plan);
    append(&appender, "a");
    plan.fail_now(DiskFailure::Full);
    let failure = reported.recv_timeout(PATIENCE).unwrap();
    assert!(failure.starts_with("CompactionFailed(\"write "), "{failure}");
    assert_eq!(steps_in_file(&path), 0);
    plan.heal();
    append(&appender, "b");
    assert_eq!(reported.recv_timeout(PATIENCE).unwrap(), "compacted");
    assert_eq!(steps_in_file(&path), 2);
    appender.close().unwrap();
    assert_eq!(steps(&path), ["a", "b"]);
    drop(appender);
    assert_eq!(reported.iter().collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn closing_compacts_what_is_left_and_reports_what_somebody_removed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("r.json");
    let (appender, reported) = start(&path, &Plan::counting());
    append(&appender, "a");
    assert_eq!(reported.recv_timeout(PATIENCE).unwrap(), "compacted");
    fs::remove_file(&path).unwrap();
    append(&appender, "b");
    appender.close().unwrap();
    // A second close finds nothing to do.
    appender.close().unwrap();
    drop(appender);
    let events: Vec<_> = reported.iter().collect();
    assert!(matches!(&events[..], [lost] if lost.starts_with("Lost(")), "{events:?}");
    assert_eq!(steps(&path), ["b"]);
}

#[test]
fn an_appender_that_is_dropped_leaves_a_whole_recording() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("r.json");
    let (appender, _reported) = start(&path, &Plan::counting());
    append(&appender, "a");
    append(&appender, "b");
    drop(appender);
    assert_eq!(steps_in_file(&path), 2);
    assert_eq!(crate::state_folder::all_names(dir.path()), ["r.json"]);
}
