//! The forms in which programs write the state of a repository.

/// The branch.
pub const GIT_BRANCH: &str = "git_branch";
/// What `git status --short` prints.
pub const GIT_STATUS: &str = "git_status";
/// The tree of the working directory, with up to 200 files and folders.
pub const FOLDER_TREE: &str = "folder_tree";
/// The tree with up to 20 files and folders.
pub const SHORT_FOLDER_TREE: &str = "short_folder_tree";
/// The branch and the state, in Markdown. It follows from both.
pub const GIT_OVERVIEW: &str = "git_overview";
/// The state where nothing has changed, as some programs write it.
pub const CLEAN: &str = "(clean)";
/// What other programs write there.
const CLEAN_IN_WORDS: &str = "Working tree clean";

/// The longest text of what a program prints, such as the state of a repository.
const LONGEST_PRINTED: usize = 64 << 10;

/// How many forms a text of the repository has.
pub(super) const REPOSITORY_FORMS: usize = 4;

/// The most lines of the state in an overview.
const MOST_LINES: usize = 20;

/// Whether a value is one of a repository.
pub(super) fn is_of_repository(name: &str) -> bool {
    name.starts_with("git_") || is_tree(name)
}

/// Whether a value of the repository can be this text.
pub(super) fn is_repository_text(name: &str, text: &str) -> bool {
    let is_line = |line: &str| line.contains("───");
    text.len() <= LONGEST_PRINTED && (!is_tree(name) || text.lines().all(is_line))
}

fn is_tree(name: &str) -> bool {
    matches!(name, FOLDER_TREE | SHORT_FOLDER_TREE)
}

/// Returns the forms of what git printed.
pub(super) fn repository_forms(name: &str, text: &str) -> [String; REPOSITORY_FORMS] {
    let is_clean = name == GIT_STATUS && text == CLEAN;
    // The first line of a state may begin with a space, which most programs cut off.
    let trimmed = text.trim();
    [
        text.to_owned(),
        // Some programs mark each line as untrusted.
        format!("git: {}", trimmed.replace('\n', "\ngit: ")),
        if is_clean { CLEAN_IN_WORDS } else { text }.to_owned(),
        trimmed.to_owned(),
    ]
}

/// Returns the branch and the state as gptme writes them; `None` if one of them is unknown.
pub(super) fn repository_overview(branch: Option<&str>, status: Option<&str>) -> Option<String> {
    let (branch, status) = (branch?, status?);
    if status == CLEAN {
        return Some(format!("`{branch}` {CLEAN}"));
    }
    let lines: Vec<&str> = status.trim().lines().collect();
    let mut shown = lines[..lines.len().min(MOST_LINES)].join("\n");
    if let Some(more) = lines.len().checked_sub(MOST_LINES).filter(|more| *more > 0) {
        shown.push_str(&format!("\n... and {more} more files"));
    }
    Some(format!("`{branch}`\n\n````\n{shown}\n````"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_is_written_as_programs_write_it() {
        assert_eq!(
            repository_forms(GIT_STATUS, " M a\n?? b"),
            [" M a\n?? b", "git: M a\ngit: ?? b", " M a\n?? b", "M a\n?? b"]
        );
        assert_eq!(repository_forms(GIT_STATUS, CLEAN)[2], "Working tree clean");
        assert_eq!(repository_forms(GIT_BRANCH, CLEAN)[2], CLEAN);
    }

    #[test]
    fn overview_has_at_most_twenty_lines_of_the_state() {
        let of = |status: &str| repository_overview(Some("main"), Some(status)).unwrap();
        assert_eq!(of(CLEAN), "`main` (clean)");
        assert_eq!(of(" M a\n?? b"), "`main`\n\n````\nM a\n?? b\n````");
        let lines = |count: usize| vec!["?? a"; count].join("\n");
        assert_eq!(of(&lines(20)), format!("`main`\n\n````\n{}\n````", lines(20)));
        assert_eq!(
            of(&lines(23)),
            format!("`main`\n\n````\n{}\n... and 3 more files\n````", lines(20))
        );
        assert_eq!(
            (repository_overview(None, Some("x")), repository_overview(Some("x"), None)),
            (None, None)
        );
    }
}
