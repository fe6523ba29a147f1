//! WebSockets (RFC 6455): the handshake on both sides of loomrec, the sockets after it, and the
//! conversations that are held over them. A conversation exchanges messages: fragments are joined,
//! and pings are answered on each side and not passed on.

pub mod conversation;
pub mod handshake;
pub mod socket;
pub mod terms;
pub mod turn_link;
