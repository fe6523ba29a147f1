use proptest::prelude::*;

use super::*;
use crate::content_hash::ContentHash;
use crate::packed_text::pack_text;

fn take(name: &str, recorder: Option<&str>, at: u32) -> ManifestTake {
    ManifestTake {
        recorded_at: Some(format!("2026-01-01T00:{:02}:{:02}.000000Z", at / 60, at % 60)),
        recorder: recorder.map(str::to_owned),
        name: name.to_owned(),
        object: ContentHash::from_bytes(format!("{name} {recorder:?} {at}").as_bytes()),
        bytes: 1,
        session: None,
        request_hash: None,
        adds: false,
        failed: false,
    }
}

fn recorder(id: &str, run: Option<&str>, from: u32, to: u32) -> ManifestRecorder {
    let time = |at: u32| format!("2026-01-01T00:{:02}:{:02}.000000Z", at / 60, at % 60);
    ManifestRecorder {
        id: id.to_owned(),
        run: run.map(str::to_owned),
        started_at: time(from),
        last_at: time(to),
        segments: 1,
        missing: Vec::new(),
    }
}

/// Returns the seconds at which the visible takes were recorded.
fn seconds(manifest: &StateManifest) -> Vec<String> {
    let visible = visible_takes(manifest);
    let second =
        |&at: &usize| manifest.takes[at].recorded_at.as_deref().unwrap()[14..19].to_owned();
    visible.iter().flat_map(|name| name.takes.iter().map(second)).collect()
}

#[test]
fn later_run_replaces_as_many_takes_as_it_records() {
    let mut manifest = StateManifest { takes: vec![take("a", None, 0)], ..Default::default() };
    manifest.add_segments(
        vec![recorder("x", None, 10, 20), recorder("y", None, 30, 40)],
        vec![
            take("a", Some("x"), 11),
            take("a", Some("x"), 12),
            take("a", Some("x"), 13),
            take("a", Some("y"), 31),
        ],
    );
    assert_eq!(seconds(&manifest), ["00:31", "00:12", "00:13"]);
    // A segment that arrives late is merged as if it had been early.
    manifest.add_segments(
        vec![ManifestRecorder { segments: 2, ..recorder("x", None, 10, 20) }],
        vec![take("a", Some("x"), 10)],
    );
    assert_eq!(seconds(&manifest), ["00:31", "00:11", "00:12", "00:13"]);
    assert_eq!(manifest.merged_segments("x"), 2);
}

#[test]
fn recorders_whose_times_overlap_and_those_of_one_name_are_one_run() {
    let takes = vec![take("a", Some("x"), 11), take("a", Some("y"), 16)];
    for (one, other, visible) in [
        (recorder("x", None, 10, 20), recorder("y", None, 15, 25), 2),
        (recorder("x", None, 10, 12), recorder("y", None, 15, 25), 1),
        (recorder("x", Some("r"), 10, 12), recorder("y", Some("r"), 15, 25), 2),
        (recorder("x", Some("r"), 10, 20), recorder("y", Some("s"), 15, 25), 1),
        (recorder("x", None, 10, 20), recorder("y", Some("s"), 15, 25), 1),
    ] {
        let mut manifest = StateManifest::default();
        manifest.add_segments(vec![one, other], takes.clone());
        assert_eq!(seconds(&manifest).len(), visible);
    }
}

#[test]
fn failed_call_never_replaces_a_take_that_succeeded() {
    let failed = |at| ManifestTake { failed: true, ..take("a", Some("y"), at) };
    let base = vec![take("a", None, 1), take("a", None, 2)];
    for (new, visible) in [
        (vec![failed(31)], vec!["00:01", "00:02"]),
        (vec![failed(31), take("a", Some("y"), 32)], vec!["00:31", "00:32", "00:02"]),
    ] {
        let mut manifest = StateManifest { takes: base.clone(), ..Default::default() };
        manifest.add_segments(vec![recorder("y", None, 30, 40)], new);
        assert_eq!(seconds(&manifest), visible);
    }
}

#[test]
fn take_that_adds_is_put_at_its_time() {
    let adds = |at| ManifestTake { adds: true, ..take("a", Some("y"), at) };
    let mut manifest = StateManifest {
        takes: vec![take("a", None, 1), take("a", None, 35)],
        ..Default::default()
    };
    manifest.add_segments(vec![recorder("y", None, 30, 40)], vec![adds(31), adds(36)]);
    assert_eq!(seconds(&manifest), ["00:01", "00:31", "00:35", "00:36"]);
}

#[test]
fn take_of_a_step_replaces_one_with_the_same_request() {
    let of = |request: &str, recorder, at| ManifestTake {
        request_hash: Some(request.to_owned()),
        ..take("step", recorder, at)
    };
    let mut manifest =
        StateManifest { takes: vec![of("p", None, 1), of("q", None, 2)], ..Default::default() };
    manifest.add_segments(vec![recorder("y", None, 30, 40)], vec![of("q", Some("y"), 31)]);
    assert_eq!(seconds(&manifest), ["00:31", "00:01"]);
}

#[test]
fn manifest_of_a_newer_format_is_refused() {
    let text = StateManifest::default().to_text();
    let newer = String::from_utf8(text).unwrap().replace("manifest/1", "manifest/2");
    let error = StateManifest::from_packed(&pack_text(newer.as_bytes()).unwrap()).unwrap_err();
    assert!(error.to_string().contains("manifest/2"), "{error}");
    assert!(StateManifest::from_packed(&pack_text(b"[]").unwrap()).is_err());
}

proptest! {
    #[test]
    fn segments_in_any_order_and_grouping_give_the_same_text(
        takes in proptest::collection::vec((0..4_u32, 0..3_usize, 0..4_usize, any::<bool>(), any::<bool>()), 1..40),
        shuffle in any::<u64>(),
        group in 1..5_usize,
    ) {
        let ids = ["w", "x", "y", "z"];
        let recorders = [
            recorder("w", None, 0, 100),
            recorder("x", None, 50, 200),
            recorder("y", Some("r"), 150, 300),
            recorder("z", None, 400, 500),
        ];
        let mut segments: Vec<(ManifestRecorder, Vec<ManifestTake>)> = Vec::new();
        for (number, (second, name, at, adds, failed)) in takes.into_iter().enumerate() {
            let name = ["a", "b", "c"][name];
            let made = ManifestTake {
                adds,
                failed,
                ..take(name, Some(ids[at]), second * 100 + u32::try_from(number).unwrap())
            };
            segments.push((recorders[at].clone(), vec![made]));
        }
        let base = StateManifest { takes: vec![take("a", None, 0), take("b", None, 1)], ..Default::default() };
        let mut forward = base.clone();
        for (recorder, takes) in segments.clone() {
            forward.add_segments(vec![recorder], takes);
        }
        let mut seed = shuffle;
        segments.sort_by_cached_key(|_| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            seed >> 33
        });
        let mut shuffled = base;
        for group in segments.chunks(group) {
            let (recorders, takes): (Vec<_>, Vec<_>) = group.iter().cloned().unzip();
            shuffled.add_segments(recorders, takes.into_iter().flatten().collect());
        }
        let text = forward.to_text();
        prop_assert_eq!(&text, &shuffled.to_text());
        let read = StateManifest::from_packed(&pack_text(&text).unwrap()).unwrap();
        prop_assert_eq!(read.to_text(), text);
        prop_assert_eq!(seconds(&read), seconds(&forward));
    }
}
