//! Clients that close the side of their connection that sends, and wait for the answer.
//!
//! TCP shows the same for them as for clients that have left: the end of what they send. The system
//! knows more of clients on this machine: whether a process still holds the other end.

use std::time::Duration;

use super::peer::ConnectionPeer;
use super::socket::ConnectionHandle;
use loomrec_os::TcpPeer;

/// The waits between looks at a client, the last of which repeats. The first ones are short: a
/// client that leaves may still hold its end at the moment when it is seen to close it.
const LOOKS: [Duration; 5] = [
    Duration::from_millis(5),
    Duration::from_millis(20),
    Duration::from_millis(100),
    Duration::from_millis(400),
    Duration::from_secs(1),
];

/// How long a client counts as being there after it was seen. Bytes of an answer that are to be sent
/// later wait for another look.
const SEEN_FOR: Duration = Duration::from_millis(100);

/// How long a replay answers a client of which the system says nothing.
const UNKNOWN_PATIENCE: Duration = Duration::from_secs(1);

/// Returns once a client that has closed its side while it is being answered has left. Never
/// returns for any other client. `is_live` says whether the answer comes from an upstream, which
/// may take long: a client of which the system says nothing has then left at once.
pub(super) async fn client_left(
    connection: &ConnectionHandle,
    peer: &ConnectionPeer,
    is_live: bool,
) {
    let state = connection.half_close();
    state.look_wanted().await;
    let mut looks = LOOKS.into_iter();
    loop {
        match peer.look_up().await {
            TcpPeer::Open { .. } => state.note_there(SEEN_FOR),
            TcpPeer::Closed => return,
            TcpPeer::Unknown if is_live => return,
            TcpPeer::Unknown => {
                state.note_there(UNKNOWN_PATIENCE);
                return tokio::time::sleep(UNKNOWN_PATIENCE).await;
            }
        }
        let next = looks.next().unwrap_or(LOOKS[LOOKS.len() - 1]);
        tokio::select! {
            () = tokio::time::sleep(next) => {}
            () = state.look_wanted() => {}
        }
    }
}
