//! Compactions in memory, interrupted at any point and at the same time as others.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::state_loader::load_manifest;
use crate::tests::failing_store::{StoreWorld, bucket};
use crate::tests::made_segment::{MadeSegment, make_segments, upload};

/// Returns the text of the newest state after a last compaction.
async fn final_text(world: &Arc<StoreWorld>, cache: &LocalCache) -> Vec<u8> {
    let whole = bucket(world, i64::MAX, 0);
    let done = compact(&whole, cache, GapChoice::Refuse).await.unwrap();
    assert!(whole.list_segments().await.unwrap().is_empty());
    load_manifest(&whole, cache, &done.manifest.unwrap()).await.unwrap().to_text()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_interleaving_and_any_crash_give_the_same_manifest(
        sizes in proptest::array::uniform3(proptest::array::uniform2(1..4_u32)),
        order in any::<u64>(),
        crashes in proptest::collection::vec(0..40_i64, 1..6),
        seed in 0..1000_i64,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let cache = |name: &str| LocalCache::new(folder.path().join(name), None);
        let segments = make_segments(folder.path(), sizes);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let (expected, found) = runtime.block_on(async {
            let world = Arc::new(StoreWorld::default());
            let whole = bucket(&world, i64::MAX, 0);
            for segment in &segments {
                upload(&whole, segment).await;
            }
            let expected = final_text(&world, &cache("one")).await;

            let world = Arc::new(StoreWorld::default());
            let whole = bucket(&world, i64::MAX, 0);
            let mut waiting: Vec<&MadeSegment> = segments.iter().collect();
            let mut order = order;
            for (number, crash) in crashes.iter().enumerate() {
                // Recorders upload in order; which of them is next is left to chance.
                for _ in 0..2 {
                    if waiting.is_empty() {
                        break;
                    }
                    order = order.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    let recorder = waiting[(order >> 33) as usize % waiting.len()].name.recorder.clone();
                    let at = waiting.iter().position(|segment| segment.name.recorder == recorder).unwrap();
                    upload(&whole, waiting.remove(at)).await;
                }
                let (one, other) = (bucket(&world, *crash, seed), bucket(&world, *crash * 2, seed + 3));
                let (cache_of_one, cache_of_other) = (cache(&format!("a{number}")), cache(&format!("b{number}")));
                // Both may be killed.
                let _ = tokio::join!(compact(&one, &cache_of_one, GapChoice::Refuse), compact(&other, &cache_of_other, GapChoice::Refuse));
                // A segment that was merged and removed is uploaded again by one whose answer was lost.
                if let Some(again) = segments.iter().find(|segment| !waiting.iter().any(|left| left.name == segment.name)) {
                    upload(&whole, again).await;
                }
            }
            for segment in waiting {
                upload(&whole, segment).await;
            }
            (expected, final_text(&world, &cache("last")).await)
        });
        prop_assert_eq!(String::from_utf8(expected).unwrap(), String::from_utf8(found).unwrap());
    }
}
