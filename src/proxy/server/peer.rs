//! The other end of a connection: its address, and the user of this machine that it belongs to.

use std::net::SocketAddr;

use tokio::sync::OnceCell;

use loomrec_engine::blocking;
use loomrec_os::{SUPERUSER, TcpPeer, current_user, tcp_peer};

/// The other end of an accepted connection.
#[derive(Debug)]
pub(super) struct ConnectionPeer {
    /// Its address.
    address: SocketAddr,
    /// The address of this end. `None` if the system does not say.
    local: Option<SocketAddr>,
    /// The user that it belongs to, once that was looked up.
    user: OnceCell<u32>,
}

/// Who makes a control call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ControlCaller {
    pub(super) address: SocketAddr,
    pub(super) standing: CallerStanding,
}

/// What the system says of a caller's user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallerStanding {
    /// It is the user of this process, or the superuser.
    SameUser,
    /// It is another user of this machine.
    OtherUser,
    /// It has closed its connection, so that nobody can say whose it was.
    Gone,
    /// It is on another machine, or the system does not say.
    Unknown,
}

impl ConnectionPeer {
    /// Creates the other end of a connection whose own end is `local`.
    pub(super) fn new(address: SocketAddr, local: Option<SocketAddr>) -> Self {
        Self { address, local, user: OnceCell::new() }
    }

    /// Looks the other end up. Never on the thread that serves the connection.
    pub(super) async fn look_up(&self) -> TcpPeer {
        let (address, Some(local)) = (self.address, self.local) else { return TcpPeer::Unknown };
        Box::pin(blocking::run_blocking(move || tcp_peer(local, address))).await
    }

    /// Returns who makes a control call on the connection, where a token decides.
    pub(super) fn caller_with_token(&self) -> ControlCaller {
        ControlCaller { address: self.address, standing: CallerStanding::Unknown }
    }

    /// Returns who makes a control call on the connection. The user of a connection stays the same,
    /// so it is looked up once.
    pub(super) async fn control_caller(&self) -> ControlCaller {
        let standing = match self.user.get() {
            Some(user) => standing_of(*user),
            None => match self.look_up().await {
                TcpPeer::Open { user } => {
                    standing_of(*self.user.get_or_init(|| async { user }).await)
                }
                TcpPeer::Closed => CallerStanding::Gone,
                TcpPeer::Unknown => CallerStanding::Unknown,
            },
        };
        ControlCaller { address: self.address, standing }
    }
}

fn standing_of(user: u32) -> CallerStanding {
    match user == current_user() || user == SUPERUSER {
        true => CallerStanding::SameUser,
        false => CallerStanding::OtherUser,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_user_of_this_process_and_the_superuser_are_the_same_user() {
        let own = current_user();
        assert_eq!(standing_of(own), CallerStanding::SameUser);
        assert_eq!(standing_of(SUPERUSER), CallerStanding::SameUser);
        assert_eq!(standing_of(own.wrapping_add(1).max(1)), CallerStanding::OtherUser);
    }
}
