//! What programs print about the repository of the working directory.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use loomrec_identity::RunValues;
use loomrec_identity::repository_forms::{CLEAN, GIT_BRANCH, GIT_STATUS};

/// The values, each with the arguments of git that print it.
const VALUES: [(&str, &[&str]); 3] = [
    (GIT_BRANCH, &["rev-parse", "--abbrev-ref", "HEAD"]),
    ("git_commits", &["log", "--oneline", "-n", "5"]),
    (GIT_STATUS, &["status", "--short"]),
];

/// Sets the values of the repository that the working directory is in, if git knows it.
pub(super) fn set_repository(values: &mut RunValues) {
    let Ok(cwd) = std::env::current_dir() else { return };
    if !cwd.ancestors().any(|folder| folder.join(".git").exists()) {
        return;
    }
    // In a large repository each takes a moment: they run at once.
    let running = VALUES.map(|(name, arguments)| (name, start_git(&cwd, arguments)));
    for (name, git) in running {
        if let Some(text) = git.and_then(printed_by) {
            let is_clean = name == GIT_STATUS && text.is_empty();
            values.set(name, if is_clean { CLEAN.to_owned() } else { text });
        }
    }
}

fn start_git(folder: &Path, arguments: &[&str]) -> Option<Child> {
    let mut git = Command::new("git");
    git.current_dir(folder).args(arguments).env("GIT_OPTIONAL_LOCKS", "0");
    git.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()
}

/// Returns what git prints, without the line break at its end.
fn printed_by(git: Child) -> Option<String> {
    let output = git.wait_with_output().ok()?;
    let text = String::from_utf8(output.stdout).ok().filter(|_| output.status.success())?;
    Some(text.trim_end_matches('\n').to_owned())
}
