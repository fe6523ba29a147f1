//! The peak memory of processes.

use std::time::{Duration, Instant};

use super::Scene;
use super::loomrec::{Process, command};

/// The peak memory of a process so far, in kB.
pub(crate) fn peak_of(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0");
    line.trim().trim_end_matches(" kB").parse().unwrap_or(0)
}

/// Runs a command to its end; returns its peak memory in kB, and its output.
#[track_caller]
pub(crate) fn measured(scene: &Scene, args: &[&str], code: i32) -> (u64, String) {
    let mut process = Process::spawn(&mut command(scene.dir(), args));
    let (mut most, began) = (0, Instant::now());
    while !process.has_ended() {
        most = most.max(peak_of(process.pid()));
        assert!(began.elapsed() < Duration::from_secs(60), "{args:?} takes too long");
        std::thread::sleep(Duration::from_millis(2));
    }
    let ended = process.wait().expect(code);
    (most, format!("{}{}", ended.stdout, ended.stderr))
}
