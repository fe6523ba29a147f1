use std::sync::Mutex;

use proptest::prelude::*;
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;

use super::super::order_limits::OrderLimits;
use super::super::recorded_ends::{RecordedEnds, RecordedSpan, TakeSpan};
use super::*;

/// How much longer than in the recorded run a call may take to come.
const LATE: Duration = Duration::from_millis(10);

/// Returns the order of takes that arrived and ended at these times, in microseconds.
fn order(times: &[(i64, i64)]) -> Arc<EndOrder> {
    let span = |(take, &(arrived, ended)): (usize, &(i64, i64))| TakeSpan {
        take: take as u32,
        source: 0,
        session: None,
        span: RecordedSpan { arrived, ended },
    };
    let spans = times.iter().enumerate().map(span).collect();
    let limits = OrderLimits { late: LATE, ..OrderLimits::default() };
    EndOrder::new(&Arc::new(RecordedEnds::new(spans)), limits).unwrap()
}

fn arrive(order: &Arc<EndOrder>, take: usize, session: Option<&str>) -> EndTurn {
    EndTurn::new(Arc::clone(order), order.overlap_place(take).unwrap(), session.map(Arc::from))
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap()
}

/// Waits until the end may be sent.
async fn end(turn: &mut EndTurn) {
    std::future::poll_fn(|cx| turn.poll_end(cx)).await;
}

/// Whether the end may be sent now.
fn may_end(turn: &mut EndTurn) -> bool {
    turn.poll_end(&mut Context::from_waker(std::task::Waker::noop())).is_ready()
}

/// Takes of which B ended first, then C, then A.
const BCA: [(i64, i64); 3] = [(0, 3_000_000), (1, 1_000_000), (2, 2_000_000)];

#[test]
fn answer_waits_for_those_that_ended_first() {
    let runtime = runtime();
    let _in = runtime.enter();
    let order = order(&BCA);
    let (mut b, mut a) = (arrive(&order, 1, None), arrive(&order, 0, None));
    let mut c = arrive(&order, 2, None);
    assert_eq!([&mut a, &mut c, &mut b].map(may_end), [false, false, true]);
    drop(b);
    runtime.block_on(end(&mut c));
    assert!(!may_end(&mut a));
    drop(c);
    runtime.block_on(end(&mut a));
    assert_eq!(order.out_of_order_answers(), 0);
}

#[test]
fn answer_waits_a_moment_for_calls_that_are_still_to_come() {
    let order = order(&BCA);
    let mut a = arrive(&order, 0, None);
    let ended = Mutex::new(Vec::new());
    runtime().block_on(async {
        let note = async |turn: &mut EndTurn, name| {
            end(turn).await;
            ended.lock().unwrap().push(name);
        };
        let others = async {
            let mut c = arrive(&order, 2, None);
            let mut b = arrive(&order, 1, None);
            note(&mut b, "B").await;
            drop(b);
            note(&mut c, "C").await;
        };
        tokio::join!(note(&mut a, "A"), others);
    });
    assert_eq!(
        (ended.into_inner().unwrap(), order.out_of_order_answers()),
        (vec!["B", "C", "A"], 0)
    );
}

#[test]
fn moment_between_ends_is_kept_after_a_call_that_came_and_ended_at_once() {
    let order = order(&[(0, 2_000_000), (1, 1_000_000)]);
    let mut a = arrive(&order, 0, None);
    let runtime = runtime();
    let _in = runtime.enter();
    assert!(!may_end(&mut a));
    drop(arrive(&order, 1, None));
    assert!(!may_end(&mut a));
    runtime.block_on(end(&mut a));
    assert_eq!(order.out_of_order_answers(), 0);
}

#[test]
fn answer_waits_a_moment_for_calls_that_had_arrived_before_its_end() {
    // C had arrived before A and B ended, and ended last.
    let order = order(&[(0, 2_000_000), (1, 3_000_000), (1_000_000, 4_000_000)]);
    let (mut a, mut b) = (arrive(&order, 0, None), arrive(&order, 1, None));
    let runtime = runtime();
    let _in = runtime.enter();
    assert_eq!([&mut a, &mut b].map(may_end), [false, false]);
    let mut c = arrive(&order, 2, None);
    runtime.block_on(end(&mut a));
    assert_eq!([&mut b, &mut c].map(may_end), [false, false]);
    drop(a);
    runtime.block_on(end(&mut b));
    drop(b);
    runtime.block_on(end(&mut c));
    // A call that arrived after the end is not waited for.
    let order = self::order(&[(0, 2_000_000), (1, 4_000_000), (3_000_000, 5_000_000)]);
    let (mut a, mut b) = (arrive(&order, 0, None), arrive(&order, 1, None));
    assert_eq!([&mut a, &mut b].map(may_end), [true, false]);
    assert_eq!(order.out_of_order_answers(), 0);
}

#[test]
fn calls_that_never_come_hold_one_answer_for_a_moment_and_no_other() {
    let runtime = runtime();
    let _in = runtime.enter();
    let order = order(&BCA);
    let mut a = arrive(&order, 0, None);
    assert!(!may_end(&mut a));
    let began = Instant::now();
    runtime.block_on(end(&mut a));
    assert!(began.elapsed() < LATE * 20, "{:?}", began.elapsed());
    drop(a);
    assert!(may_end(&mut arrive(&order, 0, None)), "B and C are not expected any more");
    assert_eq!(order.out_of_order_answers(), 0);
}

#[test]
fn chunks_wait_for_the_ends_before_them_alone() {
    let runtime = runtime();
    let _in = runtime.enter();
    let order = order(&[(0, 1_000_000), (1, 3_000_000)]);
    let (a, mut b) = (arrive(&order, 0, None), arrive(&order, 1, None));
    let mut cx = Context::from_waker(std::task::Waker::noop());
    let chunk = |at_ms| b.place.span.chunk_time(at_ms);
    let (before, after) = (chunk(900.0), chunk(1100.0));
    assert!(b.poll(before, false, &mut cx).is_ready());
    assert!(b.poll(after, false, &mut cx).is_pending());
    drop(a);
}

#[test]
fn calls_of_other_sessions_do_not_wait_for_each_other() {
    let runtime = runtime();
    let _in = runtime.enter();
    let order = order(&[(0, 1_000_000), (1, 3_000_000)]);
    let _first = arrive(&order, 0, Some("a"));
    let (mut other, mut same) = (arrive(&order, 1, Some("b")), arrive(&order, 1, Some("a")));
    assert!(may_end(&mut other));
    assert!(!may_end(&mut same));
}

#[test]
fn call_that_waits_for_what_a_waiting_answer_holds_steps_aside() {
    let order = order(&[(0, 1_000_000), (1, 3_000_000)]);
    let (mut a, mut b) = (arrive(&order, 0, None), arrive(&order, 1, None));
    runtime().block_on(async {
        let room = Semaphore::new(1);
        let held = room.try_acquire().unwrap();
        let first = async {
            let _room = EndTurn::step_aside(Some(&mut a), room.acquire()).await.unwrap();
            end(&mut a).await;
        };
        let second = async {
            end(&mut b).await;
            drop(held);
        };
        tokio::time::timeout(order.limits().longest_wait, async { tokio::join!(first, second) })
            .await
            .unwrap();
    });
    assert_eq!(order.out_of_order_answers(), 0);
}

/// What a call of a random program does.
#[derive(Clone, Copy, Debug)]
enum Manner {
    /// It arrives with the others, and reads its answer.
    Reads,
    /// It arrives after this many turns of the others, and reads its answer.
    IsLate(usize),
    /// Its client leaves after this many turns.
    Leaves(usize),
    /// It never arrives.
    IsMissing,
}

fn any_manner() -> impl Strategy<Value = Manner> {
    prop_oneof![
        6 => Just(Manner::Reads),
        1 => (0_usize..20).prop_map(Manner::IsLate),
        1 => (0_usize..20).prop_map(Manner::Leaves),
        1 => Just(Manner::IsMissing),
    ]
}

async fn run_call(
    order: Arc<EndOrder>,
    take: usize,
    manner: Manner,
    ended: Arc<Mutex<Vec<usize>>>,
) {
    let turns = match manner {
        Manner::IsMissing => return,
        Manner::Reads => 0,
        Manner::IsLate(turns) | Manner::Leaves(turns) => turns,
    };
    let pause = async || {
        for _ in 0..turns {
            tokio::task::yield_now().await;
        }
    };
    if matches!(manner, Manner::IsLate(_)) {
        pause().await;
    }
    let mut turn = arrive(&order, take, None);
    // All of them arrive before the first one ends.
    tokio::task::yield_now().await;
    if matches!(manner, Manner::Leaves(_)) {
        return tokio::select! {
            biased;
            () = pause() => {}
            () = end(&mut turn) => {}
        };
    }
    end(&mut turn).await;
    ended.lock().unwrap().push(take);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn no_program_stops_and_ends_keep_the_recorded_order(
        times in prop::collection::vec((0_i64..60, 60_i64..200), 2..9),
        manners in prop::collection::vec(any_manner(), 9),
        arrival in prop::collection::vec(any::<u32>(), 9),
    ) {
        let order = order(&times);
        let mut calls: Vec<usize> = (0..times.len()).collect();
        calls.sort_by_key(|call| arrival[*call]);
        let ended = Arc::<Mutex<Vec<usize>>>::default();
        runtime().block_on(async {
            let spawn = |&call: &usize| {
                let (order, ended) = (Arc::clone(&order), Arc::clone(&ended));
                tokio::spawn(run_call(order, call, manners[call], ended))
            };
            for task in calls.iter().map(spawn).collect::<Vec<_>>() {
                task.await.unwrap();
            }
        });
        prop_assert_eq!(order.out_of_order_answers(), 0, "an answer waited for too long");
        let ended = ended.lock().unwrap();
        let reads = |call: usize| matches!(manners[call], Manner::Reads);
        let expected = (0..times.len()).filter(|call| matches!(manners[*call], Manner::Reads | Manner::IsLate(_)));
        prop_assert_eq!(ended.len(), expected.count());
        for (at, later) in ended.iter().enumerate() {
            for earlier in ended[at + 1..].iter().filter(|call| reads(**call) && reads(*later)) {
                let [a, b] = [*earlier, *later].map(|call| times[call].1);
                prop_assert!(a >= b, "{earlier} ended after {later}");
            }
        }
    }
}
