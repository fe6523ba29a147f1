//! The drain of a server that is asked to stop: it opens no further session, and waits for those that
//! control calls have begun.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::SessionBegin;
use super::open_session::OpenSession;
use super::table::SessionTable;

/// How often a server that drains looks for open sessions.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

impl SessionTable {
    /// Whether the server is about to stop, and opens no further session.
    pub(crate) fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::Acquire)
    }

    /// Opens no further session from now on. Returns how many are open that control calls have begun.
    pub async fn begin_drain(&self) -> usize {
        self.refuse_new_slots();
        self.count_begun().await
    }

    /// Returns once no session is open that a control call has begun: each was ended, or has expired.
    pub async fn wait_until_drained(&self) {
        while self.count_begun().await > 0 {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    async fn count_begun(&self) -> usize {
        let is_begun = |session: &&Arc<OpenSession>| session.info.begun_by == SessionBegin::Control;
        self.open_sessions().await.iter().filter(is_begun).count()
    }
}
