//! The open connections of a server: how many there are, and their end.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

/// How long connections that are cut at the end of the run have to end.
const CUT_GRACE: Duration = Duration::from_secs(2);

/// The connections of a server. Each of them listens for the end of the run.
#[derive(Clone, Debug)]
pub struct OpenConnections {
    /// Set when the server ends: answers that are on their way are finished. Each connection has a
    /// receiver.
    pub(super) closing: Arc<watch::Sender<bool>>,
    /// Set when every connection ends at once.
    pub(super) over: Arc<watch::Sender<bool>>,
}

impl OpenConnections {
    /// Returns how many are open. Once the server has been told to stop, these are the ones with an
    /// answer on its way.
    pub fn open_count(&self) -> usize {
        self.closing.receiver_count()
    }

    /// Ends those that are still open. Their calls are reported as not answered.
    pub async fn cut_all(&self) {
        self.over.send_replace(true);
        // A connection whose thread hangs stays, and its call stays open.
        drop(tokio::time::timeout(CUT_GRACE, self.closing.closed()).await);
    }
}
