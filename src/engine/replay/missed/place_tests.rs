use super::*;

fn call(session: Option<&str>, reason: &str, replaces: bool) -> MissedCall {
    let key = RequestKey::parse(&"a".repeat(64)).unwrap();
    let name = EntryName::Hash(key.clone());
    let replaced = ReplacedTake {
        name: name.clone(),
        take: 1,
        request_hash: None,
        recorded_at: None,
        digest: None,
    };
    let place: TakeRef = some_place();
    let (upstream, mount) = ("gw".to_owned(), String::new());
    MissedCall {
        asked: RequestToAnswer { name: name.clone(), key, upstream, mount },
        name,
        place,
        pending: PendingChange {
            reason: reason.to_owned(),
            replaces: replaces.then_some(replaced),
        },
        session: None,
        stays: true,
        own_session: session.map(str::to_owned),
    }
}

/// Returns any place: none of these is read.
fn some_place() -> TakeRef {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("any.json");
    std::fs::write(&path, r#"{"_version": 2, "a": {"content": "x"}}"#).unwrap();
    let recording = Recording::open(&path).unwrap();
    let first = recording.entries().next().unwrap().unwrap();
    first.place
}

fn staying(mut calls: Vec<MissedCall>) -> Vec<bool> {
    leave_out_copies(&mut calls);
    calls.iter().map(|call| call.stays).collect()
}

#[test]
fn copy_is_left_out_when_another_answers_it_as_well() {
    let new = |session| call(session, "unknown", false);
    assert_eq!(staying(vec![new(None), new(None), new(Some("s"))]), [true, false, false]);
    assert_eq!(staying(vec![new(Some("s")), new(Some("t")), new(Some("s"))]), [true, true, false]);
    let old = || call(Some("s"), "drifted", true);
    assert_eq!(staying(vec![new(Some("t")), old(), old()]), [false, true, true]);
    let at_mount = |mount: &str| {
        let call = new(None);
        let asked = RequestToAnswer { mount: mount.to_owned(), ..call.asked };
        MissedCall { asked, ..call }
    };
    assert_eq!(
        staying(vec![at_mount("/groq"), at_mount("/azure"), at_mount("/groq")]),
        [true, true, false]
    );
    let further = call(None, "exhausted", false);
    assert_eq!(staying(vec![old(), further]), [true, true]);
}
