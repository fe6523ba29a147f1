//! The threads that serve connections, each with a runtime of its own.
//!
//! A connection stays on the thread that it was assigned to, with all tasks of its calls and the
//! upstream connections that they use, so a call never waits for another thread to wake up.

use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use super::keep_awake;

/// The threads of a server. They end when this is dropped, with the connections that are still
/// open on them.
#[derive(Debug)]
pub struct ServerThreads {
    threads: Vec<ServerThread>,
}

#[derive(Debug)]
struct ServerThread {
    runtime: Handle,
    /// The number of open connections.
    connections: Arc<AtomicUsize>,
    /// Dropping it ends the thread.
    _stop: oneshot::Sender<()>,
}

/// The place of one connection on a thread. The place is free again when this is dropped.
#[derive(Debug)]
pub(super) struct ThreadPlace {
    runtime: Handle,
    connections: Arc<AtomicUsize>,
}

impl ServerThreads {
    /// Starts a thread for each core.
    ///
    /// # Errors
    /// The system's refusal of a thread or of what a runtime needs.
    pub fn start() -> io::Result<Self> {
        let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let threads = (0..cores).map(|_| ServerThread::start()).collect::<io::Result<_>>()?;
        Ok(Self { threads })
    }

    /// Assigns a connection to the thread that has the fewest, and returns its place there.
    pub(super) fn assign_thread(&self) -> Option<ThreadPlace> {
        let count = |thread: &&ServerThread| thread.connections.load(Ordering::Relaxed);
        let ServerThread { runtime, connections, .. } = self.threads.iter().min_by_key(count)?;
        connections.fetch_add(1, Ordering::Relaxed);
        Some(ThreadPlace { runtime: runtime.clone(), connections: Arc::clone(connections) })
    }
}

impl ServerThread {
    fn start() -> io::Result<Self> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .on_thread_unpark(keep_awake::note_work)
            .build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        thread::Builder::new().name("loomrec-server".to_owned()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    // Ready when the sender is dropped: nothing is ever sent.
                    _ = stopped => {}
                    () = keep_awake::keep_awake() => {}
                }
            });
            runtime.shutdown_background();
        })?;
        Ok(Self { runtime: handle, connections: Arc::default(), _stop: stop })
    }
}

impl ThreadPlace {
    /// The runtime of the thread.
    pub(super) fn runtime(&self) -> &Handle {
        &self.runtime
    }
}

impl Drop for ThreadPlace {
    fn drop(&mut self) {
        self.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(threads: &ServerThreads) -> Vec<usize> {
        let count = |thread: &ServerThread| thread.connections.load(Ordering::Relaxed);
        threads.threads.iter().map(count).collect()
    }

    #[test]
    fn connections_are_spread_evenly_and_free_their_place() {
        let threads = [(); 3].map(|()| ServerThread::start().unwrap());
        let threads = ServerThreads { threads: threads.into() };
        let mut places: Vec<_> = (0..7).map(|_| threads.assign_thread().unwrap()).collect();
        assert_eq!(counts(&threads), [3, 2, 2]);
        // The second, fifth, and third connection.
        for index in [1, 3, 1] {
            drop(places.remove(index));
        }
        assert_eq!(counts(&threads), [3, 0, 1]);
        places.push(threads.assign_thread().unwrap());
        assert_eq!(counts(&threads), [3, 1, 1]);
    }

    #[test]
    fn a_thread_ends_with_the_tasks_it_has_left() {
        let threads = ServerThreads { threads: vec![ServerThread::start().unwrap()] };
        let (alive, ended) = std::sync::mpsc::channel::<()>();
        threads.assign_thread().unwrap().runtime().spawn(async move {
            std::future::pending::<()>().await;
            drop(alive);
        });
        drop(threads);
        let end = ended.recv_timeout(std::time::Duration::from_secs(30));
        assert_eq!(end, Err(std::sync::mpsc::RecvTimeoutError::Disconnected));
    }
}
