//! Processes: sending them signals, their groups, how they ended, priority and limits.

use std::io;
use std::process::{Command, ExitStatus};

use rustix::process::{
    Pid, Resource, Rlimit, getpid, getppid, getrlimit, kill_process, kill_process_group, setrlimit,
};

use crate::signal::ProcessSignal;

/// The commands that open a page in the user's browser: a program, and its arguments before the
/// page's address.
pub const PAGE_OPENERS: &[&[&str]] = if cfg!(target_os = "macos") {
    &[&["open"]]
} else if cfg!(windows) {
    &[&["cmd", "/c", "start", ""]]
} else {
    &[&["xdg-open"]]
};

/// Sends a signal to the process with this id.
///
/// # Errors
/// If the process is gone, or this one may not signal it.
pub fn signal_process(id: u32, signal: ProcessSignal) -> io::Result<()> {
    Ok(kill_process(pid(id)?, signal.to_system())?)
}

/// Sends a signal to every process of the group that the process `leader` leads.
///
/// # Errors
/// If the group is gone, or this process may not signal it.
pub fn signal_process_group(leader: u32, signal: ProcessSignal) -> io::Result<()> {
    Ok(kill_process_group(pid(leader)?, signal.to_system())?)
}

fn pid(id: u32) -> io::Result<Pid> {
    let id = i32::try_from(id).ok().and_then(Pid::from_raw);
    id.ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

/// Makes the command start as the leader of a new process group.
pub fn lead_process_group(command: &mut Command) {
    use std::os::unix::process::CommandExt as _;
    command.process_group(0);
}

/// Executes the command in the place of this process. Returns only if that fails.
pub fn replace_process(command: &mut Command) -> io::Error {
    use std::os::unix::process::CommandExt as _;
    command.exec()
}

/// The number of the signal that ended a process; `None` if it exited by itself.
pub fn exit_signal(status: ExitStatus) -> Option<i32> {
    use std::os::unix::process::ExitStatusExt as _;
    status.signal()
}

/// Lowers the priority of the calling thread by this many steps of niceness. If the system refuses,
/// it stays as it is.
#[cfg(target_os = "linux")]
pub fn lower_thread_priority(steps: i32) {
    let _unchanged = rustix::process::nice(steps);
}

/// The same for systems that only lower whole processes: it changes nothing.
#[cfg(not(target_os = "linux"))]
pub fn lower_thread_priority(_steps: i32) {}

/// Raises the limit on open files as far as any process may. A limit that cannot be raised stays as
/// it is.
pub fn raise_open_file_limit() {
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        let _unchanged = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    }
}

/// How many files this process can have open after [`raise_open_file_limit`]; `None` if there is no
/// limit.
pub fn open_file_maximum() -> Option<u64> {
    getrlimit(Resource::Nofile).maximum
}

/// Stops this process, as Ctrl-Z does, if a shell can continue it. Returns whether it was stopped;
/// by then it has been continued, or is about to stop.
pub fn suspend_process() -> bool {
    let has_shell = (|| {
        let own = job(getpid())?;
        let parent = job(getppid()?)?;
        Some(own.session == parent.session && own.group != parent.group)
    })();
    has_shell == Some(true) && signal_process(std::process::id(), ProcessSignal::Stop).is_ok()
}

/// The process group and the session of a process.
#[derive(Debug, PartialEq, Eq)]
struct ProcessJob<Id> {
    group: Id,
    session: Id,
}

/// The job of a process. An id is 0 if its group or session began outside of this container. It
/// reads `/proc`, because the safe wrappers of the system calls cannot return 0.
#[cfg(target_os = "linux")]
fn job(pid: Pid) -> Option<ProcessJob<i32>> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    // After the name, which may hold anything: state, parent, group, session.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(2);
    Some(ProcessJob { group: fields.next()?.parse().ok()?, session: fields.next()?.parse().ok()? })
}

#[cfg(not(target_os = "linux"))]
fn job(pid: Pid) -> Option<ProcessJob<Pid>> {
    use rustix::process::{getpgid, getsid};
    Some(ProcessJob { group: getpgid(Some(pid)).ok()?, session: getsid(Some(pid)).ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sleeper(leads: bool) -> std::process::Child {
        let mut command = Command::new("sleep");
        command.arg("600");
        if leads {
            lead_process_group(&mut command);
        }
        command.spawn().unwrap()
    }

    #[test]
    fn a_signal_reaches_a_process_and_a_group_and_is_told_by_the_exit_status() {
        let mut one = sleeper(false);
        signal_process(one.id(), ProcessSignal::Terminate).unwrap();
        assert_eq!(exit_signal(one.wait().unwrap()), Some(15));
        let mut leader = sleeper(true);
        // Not an interrupt, because a background job of a script ignores that.
        signal_process_group(leader.id(), ProcessSignal::Terminate).unwrap();
        assert_eq!(exit_signal(leader.wait().unwrap()), Some(15));
        let ended = Command::new("false").status().unwrap();
        assert_eq!(exit_signal(ended), None);
    }

    #[test]
    fn no_signal_goes_to_a_number_that_is_no_process() {
        for id in [0, u32::MAX] {
            let error = signal_process(id, ProcessSignal::Interrupt).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        }
    }

    #[test]
    fn a_child_is_in_a_group_of_its_own_only_where_it_leads_one() {
        let group = |child: &std::process::Child| job(pid(child.id()).unwrap()).unwrap().group;
        let (mut with_us, mut alone) = (sleeper(false), sleeper(true));
        let own = job(getpid()).unwrap().group;
        assert_eq!(group(&with_us), own);
        assert_ne!(group(&alone), own);
        for child in [&mut with_us, &mut alone] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    #[test]
    fn the_limit_on_open_files_can_be_raised_to_its_maximum() {
        raise_open_file_limit();
        assert_eq!(getrlimit(Resource::Nofile).current, open_file_maximum());
    }
}
