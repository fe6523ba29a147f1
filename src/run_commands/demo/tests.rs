use super::*;
use loomrec_cli::exit::UNEXPECTED;

#[tokio::test]
async fn every_scene_shows_what_it_says() {
    let folder = tempfile::tempdir().unwrap();
    let file = RecordingLocation::from(folder.path().join("demo.json"));
    let recorded = show_recording(&file).await.unwrap();
    assert_eq!(recorded.turns.iter().map(|turn| turn.events).collect::<Vec<_>>(), [0, 0, 15]);
    let stream = &recorded.turns[2];
    assert!(stream.first_ms + 200.0 < stream.last_ms, "the stream was held back");
    show_replay(&file, &recorded).await.unwrap();
    show_changed_prompt(&file).await.unwrap();
    let left = std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name());
    let left: Vec<_> = left.filter(|name| name != loomrec_store::STATE_FOLDER).collect();
    assert_eq!(left, ["demo.json"]);
}

#[tokio::test]
async fn a_replay_that_differs_fails_the_demo() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("demo.json");
    let file = RecordingLocation::from(&path);
    let recorded = show_recording(&file).await.unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let changed = text.replace(r#"\"umbrella, "#, r#"\"parasol!, "#);
    assert_ne!(changed, text);
    std::fs::write(&path, changed).unwrap();
    let failure = show_replay(&file, &recorded).await.unwrap_err();
    assert_eq!(failure.code, UNEXPECTED);
    assert!(failure.message.contains("not the recorded one"), "{}", failure.message);
    std::fs::write(&path, text.replace("today?", "tomorrow?")).unwrap();
    assert!(show_changed_prompt(&file).await.is_err_and(|failure| failure.code == UNEXPECTED));
}

#[tokio::test]
async fn a_file_that_is_there_is_not_touched() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.json");
    std::fs::write(&file, "{}").unwrap();
    let failure = run(DemoArgs { keep: Some(file.clone()) }).await.unwrap_err();
    assert_eq!(failure.code, loomrec_cli::exit::USAGE);
    assert_eq!(std::fs::read_to_string(file).unwrap(), "{}");
}

#[test]
fn lines_are_wrapped_at_words() {
    assert_eq!(wrap_text("aa bb  cc dddddd e", 5), ["aa bb", "cc", "dddddd", "e"]);
}
