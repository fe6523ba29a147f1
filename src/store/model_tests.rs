//! Any schedule of recorders, compactions, readers and crashes, compared with a map.

use std::collections::BTreeMap;

use super::*;
use crate::{RecordingAppender, RunChoice};

#[derive(Clone, Debug)]
enum ModelStep {
    /// Opens a recorder whose process dies at its Nth change on disk.
    Open {
        who: usize,
        dies: usize,
    },
    Append {
        who: usize,
        batch: Vec<(u8, u8)>,
        replace: bool,
    },
    Fold {
        who: usize,
    },
    Close {
        who: usize,
    },
    /// Opens a reader that compacts what dead recorders left.
    Read,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Model {
    takes: View,
    /// The names of the current run: for those whose takes replace others, how many it recorded.
    run: BTreeMap<String, Option<usize>>,
}

impl Model {
    fn append(&mut self, (name, time, content): (u8, u8, &str), replace: bool) {
        let name = name_of(name).to_string();
        let takes = self.takes.entry(name.clone()).or_default();
        let own = self.run.entry(name).or_insert(replace.then_some(0));
        // The takes of the run that replace others are at the beginning.
        let before = &takes[..own.unwrap_or(takes.len())];
        let time = format!("t{time}");
        let at = before.iter().rposition(|take| take.0 <= time).map_or(0, |at| at + 1);
        takes.insert(at, (time, content.to_owned()));
        if let Some(own) = own {
            *own += 1;
            if takes.len() > *own {
                takes.remove(*own);
            }
        }
    }
}

fn name_of(name: u8) -> EntryName {
    match name {
        0 => step("a"),
        1 => step("b"),
        2 => hash("c"),
        _ => hash("d"),
    }
}

struct World {
    folder: Folder,
    recorders: [Option<(RecordingAppender, Plan)>; 3],
    model: Model,
    /// The number of entries so far. No two are the same.
    entries: usize,
}

impl World {
    fn new() -> Self {
        Self {
            folder: Folder::new(),
            recorders: [None, None, None],
            model: Model::default(),
            entries: 0,
        }
    }

    fn take(&mut self, step: &ModelStep) {
        match step {
            ModelStep::Open { who, dies } if self.recorders[*who].is_none() => {
                self.open(*who, *dies)
            }
            ModelStep::Append { who, batch, replace } => self.append(*who, batch, *replace),
            ModelStep::Fold { who } => {
                if let Some((recorder, plan)) = &mut self.recorders[*who] {
                    let job = recorder.start_compaction();
                    let compacted = recorder.compaction_done(job.run());
                    assert!(compacted.is_ok() || plan.has_failed(), "{compacted:?}");
                }
            }
            ModelStep::Close { who } => {
                if let Some((mut recorder, plan)) = self.recorders[*who].take() {
                    let closed = recorder.close();
                    assert!(closed.is_ok() || plan.has_failed(), "{closed:?}");
                }
            }
            ModelStep::Read => {
                let _ = Recording::open_merged(&self.folder.path);
            }
            ModelStep::Open { .. } => {}
        }
        for recorder in &mut self.recorders {
            // A recorder whose disk is gone is dead. That ends its part in the run.
            recorder.take_if(|(_, plan)| plan.has_failed());
        }
        if self.recorders.iter().all(Option::is_none) {
            self.model.run.clear();
        }
        assert_eq!(view(&self.folder.path), self.model.takes);
    }

    /// Whether no file but the recording holds calls. A log whose torn tail was set aside may be left
    /// empty.
    fn leaves_no_call(&self) -> bool {
        let paths = &self.folder.paths;
        let length = |path: &Path| fs::metadata(path).map_or(0, |file| file.len());
        length(&paths.log) + length(&paths.folding) == 0 && !self.has_other_files()
    }

    /// Whether there are files that no recorder leaves.
    fn has_other_files(&self) -> bool {
        let own = self.folder.path.file_name().unwrap().to_string_lossy().into_owned();
        let is_own = |name: &String| {
            let suffix = name.strip_prefix(&own);
            suffix.is_some_and(|suffix| ["", ".log", ".folding", ".run", ".lock"].contains(&suffix))
                || name.contains("torn")
        };
        !self.folder.names().iter().all(is_own)
    }

    fn open(&mut self, who: usize, dies: usize) {
        let plan = Plan::new(dies, DiskFailure::Crash);
        let disk = Disk::failing(&plan);
        let rules = IdentityRules::default();
        match RecordingAppender::open_on(disk, &self.folder.path, &RunChoice::New, &rules) {
            Ok(recorder) => self.recorders[who] = Some((recorder, plan)),
            Err(error) => assert!(plan.has_failed(), "{error}"),
        }
    }

    fn append(&mut self, who: usize, batch: &[(u8, u8)], replace: bool) {
        let Some((recorder, plan)) = &mut self.recorders[who] else {
            return;
        };
        let numbers = self.entries..;
        self.entries += batch.len();
        let batch: Vec<_> = batch
            .iter()
            .zip(numbers)
            .map(|((name, time), number)| (*name, *time, number.to_string()))
            .collect();
        let entries = batch
            .iter()
            .map(|(name, time, content)| (name_of(*name), entry(content, &format!("t{time}"))));
        let mut before = self.model.clone();
        for (name, time, content) in &batch {
            self.model.append((*name, *time, content), replace);
        }
        let Err(error) = recorder.append_entries(entries.collect(), replace) else {
            return;
        };
        assert!(plan.has_failed(), "{error}");
        // It was never acknowledged, so any part of it may be there.
        let seen = view(&self.folder.path);
        for (name, time, content) in &batch {
            if before.takes == seen {
                break;
            }
            before.append((*name, *time, content), replace);
        }
        self.model = before;
    }
}

fn any_step() -> impl Strategy<Value = ModelStep> {
    let who = 0_usize..3;
    let batch = prop::collection::vec((0_u8..4, 0_u8..6), 1..4);
    prop_oneof![
        3 => (who.clone(), prop_oneof![Just(usize::MAX), 0_usize..30])
            .prop_map(|(who, dies)| ModelStep::Open { who, dies }),
        6 => (who.clone(), batch, any::<bool>())
            .prop_map(|(who, batch, replace)| ModelStep::Append { who, batch, replace }),
        2 => who.clone().prop_map(|who| ModelStep::Fold { who }),
        1 => who.prop_map(|who| ModelStep::Close { who }),
        1 => Just(ModelStep::Read),
    ]
}

/// Returns the world after these steps, when all recorders have closed and readers have read.
fn after(steps: &[ModelStep]) -> World {
    let mut world = World::new();
    for step in steps {
        world.take(step);
    }
    for who in 0..3 {
        world.take(&ModelStep::Close { who });
    }
    world.take(&ModelStep::Read);
    world
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn readers_see_what_was_acknowledged_whatever_happens(steps in prop::collection::vec(any_step(), 1..40)) {
        let world = after(&steps);
        // All of it is in the file, in loomrec's spelling.
        prop_assert!(world.leaves_no_call(), "{:?}", world.folder.names());
        if world.folder.path.exists() {
            let text = world.folder.text();
            let cassette = format::parse(text.as_bytes()).unwrap();
            prop_assert_eq!(written(&cassette), text);
        }
    }
}
