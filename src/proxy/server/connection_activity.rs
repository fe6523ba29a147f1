//! How long a connection may stay open without a request.

use std::time::{Duration, Instant};

use super::socket::ConnectionHandle;

/// What to do with a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConnectionVerdict {
    /// Wait: the connection is busy.
    Wait,
    /// It has been idle for a while: its HTTP state can be dropped.
    Rest,
    /// It has been idle for too long, or its client has not read a response of loomrec's own for
    /// too long.
    Leave,
}

/// The state of a connection when it was last checked, and since when it has been so.
#[derive(Debug, Default)]
pub(super) struct ConnectionActivity {
    idle: Option<(u64, Instant)>,
    stuck: Option<(u64, Instant)>,
}

impl ConnectionActivity {
    /// Checks a connection, which may be idle for `silence`. A connection is not idle while its
    /// client is slow to read an answer.
    pub(super) fn check_silence(
        &mut self,
        connection: &ConnectionHandle,
        now: Instant,
        silence: Duration,
    ) -> ConnectionVerdict {
        let idle = connection.requests_if_idle().filter(|_| !connection.is_full());
        let idle = time_of(&mut self.idle, idle, now);
        let stuck = time_of(&mut self.stuck, connection.bytes_if_stuck(), now);
        if idle.is_some_and(|time| time >= silence) || stuck.is_some_and(|time| time >= silence / 2)
        {
            return ConnectionVerdict::Leave;
        }
        match idle {
            Some(time) if !time.is_zero() => ConnectionVerdict::Rest,
            _ => ConnectionVerdict::Wait,
        }
    }
}

/// Returns how long a value has been unchanged.
fn time_of(seen: &mut Option<(u64, Instant)>, is: Option<u64>, now: Instant) -> Option<Duration> {
    let since = match *seen {
        Some((before, since)) if is == Some(before) => since,
        _ => now,
    };
    *seen = is.map(|is| (is, since));
    is.map(|_| now.saturating_duration_since(since))
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};

    use super::super::socket::ClientSocket;
    use super::*;

    const SILENCE: Duration = Duration::from_secs(60);

    /// Returns the verdicts on a connection, one for each check, which are made this many seconds
    /// after the first.
    fn looks(
        connection: &ConnectionHandle,
        patience: &mut ConnectionActivity,
        at: &[u64],
    ) -> Vec<ConnectionVerdict> {
        let start = Instant::now();
        at.iter()
            .map(|at| patience.check_silence(connection, start + Duration::from_secs(*at), SILENCE))
            .collect()
    }

    #[test]
    fn connection_rests_and_then_is_left_when_no_request_comes() {
        let connection = ConnectionHandle::default();
        connection.note_request();
        connection.note_response_end();
        let verdicts = looks(&connection, &mut ConnectionActivity::default(), &[0, 2, 59, 60]);
        assert_eq!(
            verdicts,
            [
                ConnectionVerdict::Wait,
                ConnectionVerdict::Rest,
                ConnectionVerdict::Rest,
                ConnectionVerdict::Leave
            ]
        );
    }

    #[test]
    fn connection_is_kept_when_a_request_is_being_answered_or_others_come() {
        let (connection, mut patience) =
            (ConnectionHandle::default(), ConnectionActivity::default());
        connection.note_request();
        let verdicts = looks(&connection, &mut patience, &[0, 100, 1000]);
        assert_eq!(verdicts, [ConnectionVerdict::Wait; 3]);
        connection.note_response_end();
        let start = Instant::now();
        for round in 0..100 {
            let at = start + Duration::from_secs(30 * round);
            assert_ne!(patience.check_silence(&connection, at, SILENCE), ConnectionVerdict::Leave);
            connection.note_request();
            connection.note_response_end();
        }
    }

    /// Returns a socket whose peer has stopped reading, and that peer.
    async fn full() -> (ClientSocket<TcpStream>, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let other = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let mut socket = ClientSocket::new(listener.accept().await.unwrap().0);
        let more = async { while socket.write(&[b'x'; 1 << 16]).await.is_ok() {} };
        assert!(tokio::time::timeout(Duration::from_millis(100), more).await.is_err());
        (socket, other)
    }

    #[tokio::test]
    async fn connection_is_left_when_a_text_of_ours_is_not_taken() {
        let (mut socket, mut other) = full().await;
        let connection = socket.connection_handle();
        connection.note_request();
        connection.note_response_end();
        // A client may take as long as it likes to read the answer of a call.
        let verdicts = looks(&connection, &mut ConnectionActivity::default(), &[0, 1000, 2000]);
        assert_eq!(verdicts, [ConnectionVerdict::Wait; 3]);
        connection.set_own_response(true);
        let verdicts = looks(&connection, &mut ConnectionActivity::default(), &[0, 29, 30]);
        assert_eq!(
            verdicts,
            [ConnectionVerdict::Wait, ConnectionVerdict::Wait, ConnectionVerdict::Leave]
        );
        // A peer that reads, however slowly, is not stuck.
        let before = connection.bytes_if_stuck();
        other.read_exact(&mut vec![0; 1 << 20]).await.unwrap();
        socket.write_all(b"x").await.unwrap();
        assert!(before.is_some() && connection.bytes_if_stuck().is_none());
    }
}
