//! Texts of the requests of two runs: values, ids and measurements, and what people wrote.

/// The values of the two runs.
pub(super) const VALUES: [(&str, &str, &str); 15] = [
    ("cwd", "/home/ann/src/app", "/builds/7/app-main"),
    ("home", "/home/ann", "/root-ci"),
    ("tmpdir", "/tmp", "/var/tmp"),
    ("day", "2026-11-23", "2026-12-04"),
    ("utc_day", "2026-11-23", "2026-12-04"),
    ("git_branch", "main", "ci/7"),
    (
        "git_commits",
        "1a2b3c4 Add the parser\n5d6e7f8 Begin",
        "9f8e7d6 Merge\n1a2b3c4 Add the parser",
    ),
    ("git_status", "M src/a.rs\n?? notes.txt", "(clean)"),
    (
        "folder_tree",
        "├───notes.txt\n└───src/\n    └───a.rs",
        "├───README.md\n├───.git/...\n└───src/\n    └───a.rs",
    ),
    ("short_folder_tree", "├───a\n└───b", "└───a"),
    ("host", "annes-laptop", "runner-12"),
    ("os_release", "6.8.0-45-generic", "5.15.0-1074-azure"),
    ("os_version", "6.8.0-45-generic #46-Ubuntu SMP", "5.15.0-1074-azure #83~22 SMP"),
    ("timezone", "Europe/Berlin", "Etc/UTC"),
    ("user", "annlee", "runner"),
];

/// Texts of each kind that is no value: of the recorded run, and of this one.
pub(super) const KINDS: [(&str, &str, &str); 19] = [
    ("uuid", "0190a5b2-7c1d-7e3f-8a9b-0c1d2e3f4a5b", "1290a5b2-7c1d-4e3f-9a9b-0c1d2e3f4a5b"),
    ("hex5", "4f53a", "0be21"),
    ("hex6", "46e5bd", "0a5f11"),
    ("hex8", "46e5bd46", "0a5f110a"),
    ("hex12", "46e5bd46e5bd", "0a5f110a5f11"),
    ("hex16", "46e5bd46e5bd46e5", "0a5f110a5f110a5f"),
    ("hex17", "ad915745accf88a58", "a54e37c5f884bf1c3"),
    ("hex32", "46e5bd46e5bd46e546e5bd46e5bd46e5", "0a5f110a5f110a5f0a5f110a5f110a5f"),
    (
        "hex64",
        "46e5bd46e5bd46e546e5bd46e5bd46e546e5bd46e5bd46e546e5bd46e5bd46e5",
        "0a5f110a5f110a5f0a5f110a5f110a5f0a5f110a5f110a5f0a5f110a5f110a5f",
    ),
    ("id", "Zz98Yy76Xx", "Qq12Ww34Ee"),
    ("epoch", "1795392426123", "1795999999456"),
    ("date", "2026-03-04", "2027-05-06"),
    ("time", "10:11:12", "21:22:23"),
    ("duration", "0.0051", "0.4242"),
    ("pid", "835411", "911922"),
    ("port", "50123", "61234"),
    ("count", "8712", "9823"),
    (
        "git_state",
        "{\"latest_git_commit_hash\":\"46e5bd46e5bd46e546e5bd46e5bd46e546e5bd46\",\"has_changes\":true}",
        "{\"latest_git_commit_hash\":\"0a5f110a5f110a5f0a5f110a5f110a5f0a5f110a\",\"has_changes\":false}",
    ),
    ("any", "", ""),
];

/// What people and tools wrote around it: words, numbers, dates and paths with a meaning.
pub(super) const AROUND: &str = "Deadline 2026-11-27, today is no holiday. Move 12 of 850 files from /srv/data/in to \
                      /srv/data/out before 10:30 UTC; never touch /home/bob. The build is GREEN.";
