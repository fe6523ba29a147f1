//! Operating system calls, wrapped in plain functions. No other member uses `std::os`, `rustix` or
//! a signal. What the standard library offers on every system is not wrapped.

mod ancestor;
mod file_access;
mod file_status;
mod file_system;
mod input_file;
mod local_socket;
mod process;
mod signal;
mod system_names;
mod tcp_peer;
mod terminal;

pub use ancestor::ancestor_environment;
pub use file_access::{
    create_private_folder, may_execute, read_at, read_exact_at, refuse_links,
    refuse_links_and_waits, set_creation_mode, set_mode, write_all_at,
};
pub use file_status::{FileId, FileKind, FileStatus};
pub use file_system::network_file_system;
pub use input_file::{open_input, read_input};
pub use local_socket::{LocalListener, LocalSocket, connect_local_socket, listen_at_local_socket};
pub use process::{
    PAGE_OPENERS, exit_signal, lead_process_group, lower_thread_priority, open_file_maximum,
    raise_open_file_limit, replace_process, signal_process, signal_process_group, suspend_process,
};
pub use signal::{ProcessSignal, SignalStream, survive_file_size_limit};
pub use system_names::{SystemNames, system_names};
pub use tcp_peer::{SUPERUSER, TcpPeer, current_user, tcp_peer};
pub use terminal::{TerminalModes, TerminalSize, is_terminal_raw, read_typed, terminal_size};
