//! Work that takes long, kept off the threads that serve calls.
//!
//! A thread serves many connections, so work on one large body would delay the calls of all of
//! them.

use std::panic::resume_unwind;

/// The largest body, in bytes, that is worked on by the thread that serves its call.
const LARGEST_INLINE: usize = 1 << 20;

/// Whether work on a body of this many bytes belongs on a blocking thread.
pub fn is_large(bytes: usize) -> bool {
    bytes > LARGEST_INLINE
}

/// Runs `work` on a blocking thread, and returns its result. A panic of `work` is passed on.
pub async fn run_blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            // The runtime ends before the work began: nothing waits for its result any more.
            Err(_cancelled) => std::future::pending().await,
        },
    }
}
