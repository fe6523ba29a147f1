//! The resource use of processes, as the kernel counts it: processor time and memory.

use std::fs;
use std::time::Duration;

/// Returns the processor time of a process and of its child processes, over all threads.
pub fn cpu(process: u32) -> Duration {
    let own: Duration = tasks(process)
        .iter()
        .map(|task| spent(&format!("/proc/{process}/task/{task}/schedstat")))
        .sum();
    own + children(process).into_iter().map(cpu).sum::<Duration>()
}

/// Returns the processor time of the calling thread.
pub fn own_thread() -> Duration {
    spent("/proc/thread-self/schedstat")
}

/// Returns the peak memory of a process and its child processes, in bytes.
pub fn peak(process: u32) -> u64 {
    let own = fs::read_to_string(format!("/proc/{process}/status")).ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    });
    own.unwrap_or(0) * 1024 + children(process).into_iter().map(peak).sum::<u64>()
}

/// Reads the processor time from a schedstat file, whose first number is in nanoseconds.
fn spent(path: &str) -> Duration {
    let text = fs::read_to_string(path).unwrap_or_default();
    let first = text.split_whitespace().next().and_then(|word| word.parse().ok());
    Duration::from_nanos(first.unwrap_or(0))
}

fn tasks(process: u32) -> Vec<String> {
    let Ok(folder) = fs::read_dir(format!("/proc/{process}/task")) else { return Vec::new() };
    folder.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

fn children(process: u32) -> Vec<u32> {
    let read = |task: &String| fs::read_to_string(format!("/proc/{process}/task/{task}/children"));
    let texts: Vec<String> = tasks(process).iter().filter_map(|task| read(task).ok()).collect();
    texts
        .iter()
        .flat_map(|text| text.split_whitespace())
        .filter_map(|word| word.parse().ok())
        .collect()
}
