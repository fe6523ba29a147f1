//! Clients that call without pause while recorders start and end.

use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::chance::Chance;
use super::client::{Call, Client};
use super::gate::PATIENCE;
use super::ledger::Ledger;
use super::shape::{chat, chat_streamed};

/// The behaviour of clients.
#[derive(Clone, Copy)]
pub(crate) struct Habit {
    /// Clients on each recorder.
    pub(crate) clients: usize,
    /// How many of a thousand calls have a big body.
    pub(crate) big: usize,
    /// How many of a hundred calls get a stream that breaks off.
    pub(crate) cut: usize,
    /// How long a client waits between two calls; it limits how much a long run writes.
    pub(crate) pause: Duration,
}

impl Default for Habit {
    fn default() -> Self {
        Self { clients: 3, big: 10, cut: 0, pause: Duration::ZERO }
    }
}

/// The address and the run of a recorder. Names of calls carry the run, because a call's takes are
/// replaced by those of a later run.
type Place = (SocketAddr, usize);

#[derive(Default)]
struct State {
    seats: Vec<Option<Place>>,
    stopped: bool,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

/// Running clients; each belongs to a seat, and calls the recorder in it.
pub(crate) struct Swarm {
    pub(crate) ledger: Ledger,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

impl Swarm {
    /// Starts the clients; they wait for the first recorder.
    pub(crate) fn start(seats: usize, habit: Habit, chance: &mut Chance) -> Self {
        let ledger = Ledger::default();
        let shared = Arc::new(Shared::default());
        shared.state.lock().unwrap().seats = vec![None; seats];
        let start = |id: usize| {
            let (shared, ledger, mut chance) = (Arc::clone(&shared), ledger.clone(), chance.fork());
            std::thread::spawn(move || {
                let client = Worker { id, seat: id % seats, habit, shared, ledger };
                client.work(&mut chance);
            })
        };
        let threads = (0..seats * habit.clients).map(start).collect();
        Self { ledger, shared, threads }
    }

    /// Puts a recorder, in this run, into a seat.
    pub(crate) fn seat(&self, seat: usize, address: SocketAddr, run: usize) {
        self.shared.state.lock().unwrap().seats[seat] = Some((address, run));
        self.shared.changed.notify_all();
    }

    /// Ends the clients, and fails if one of them failed.
    pub(crate) fn stop(self) {
        self.shared.state.lock().unwrap().stopped = true;
        self.shared.changed.notify_all();
        self.threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
}

impl Shared {
    /// Waits for a recorder in this seat and returns its place; `None` at the end.
    fn wait(&self, seat: usize) -> Option<Place> {
        let vacant = |state: &mut State| !state.stopped && state.seats[seat].is_none();
        let state = self.state.lock().unwrap();
        let state = self.changed.wait_timeout_while(state, PATIENCE * 4, vacant).unwrap().0;
        if state.stopped { None } else { state.seats[seat] }
    }

    /// Notes that no recorder listens there any more.
    fn gone(&self, seat: usize, place: Place) {
        let mut state = self.state.lock().unwrap();
        if state.seats[seat] == Some(place) {
            state.seats[seat] = None;
        }
    }

    fn stopped(&self) -> bool {
        self.state.lock().unwrap().stopped
    }
}

struct Worker {
    id: usize,
    seat: usize,
    habit: Habit,
    shared: Arc<Shared>,
    ledger: Ledger,
}

impl Worker {
    fn work(&self, chance: &mut Chance) {
        let mut number = 0;
        while let Some(place) = self.shared.wait(self.seat) {
            let Some(mut client) = Client::try_connect(place.0) else {
                self.shared.gone(self.seat, place);
                continue;
            };
            while !self.shared.stopped() {
                number += 1;
                let began = Instant::now();
                client.send(&self.next(place.1, number, chance));
                let Some(answer) = client.try_collect() else { break };
                self.ledger.note(&answer.text(), began.elapsed());
                std::thread::sleep(self.habit.pause);
            }
        }
    }

    /// The next call: one that only this client makes, or one that others make too.
    fn next(&self, run: usize, number: usize, chance: &mut Chance) -> Call {
        let (id, at) = (self.id, chance.below(100));
        let kind = match at {
            _ if at < self.habit.cut => "cut",
            0..60 => "chat",
            60..92 => "stream",
            _ => "error",
        };
        let big = if chance.below(1000) < self.habit.big { "-x200000" } else { "" };
        call(&match chance.below(5) {
            0 => format!("{kind}-run{run}-shared{}", chance.below(20)),
            _ => format!("{kind}-run{run}-client{id}-call{number}{big}"),
        })
    }
}

/// The call of a name. The name begins with the kind of call; one that ends with `-x` and a number
/// has a prompt of about that many bytes.
pub(crate) fn call(name: &str) -> Call {
    let more: Option<usize> = name.rsplit_once("-x").map(|(_, bytes)| bytes.parse().unwrap());
    let prompt = match more {
        None => name.to_owned(),
        Some(bytes) => format!("{name}\n{}", "what was said before ".repeat(bytes / 21)),
    };
    match name.split('-').next() {
        Some("stream" | "cut") => chat_streamed(&prompt),
        _ => chat(&prompt),
    }
}
