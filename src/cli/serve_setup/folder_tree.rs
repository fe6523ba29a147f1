//! The tree of the working directory, as Gemini CLI and Qwen Code write it into their prompts.
//!
//! A tree that these programs would write otherwise, because of rules that are not known here, is
//! found in no request: then it is compared like all other text.

use std::cmp::Ordering;
use std::collections::{HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use loomrec_identity::RunValues;
use loomrec_identity::repository_forms::{FOLDER_TREE, SHORT_FOLDER_TREE};

/// How one of the programs writes a tree.
struct TreeForm {
    /// The value that has this form.
    name: &'static str,
    /// The most files and folders that are listed.
    most: usize,
    /// The folders that are not opened.
    closed: &'static [&'static str],
    /// Whether a folder that is not read, because there are too many, is marked.
    marks_unread: bool,
    /// The file that excludes further files. Where there is one, the tree is not known.
    excludes: &'static str,
}

const FORMS: [TreeForm; 2] = [
    TreeForm {
        name: FOLDER_TREE,
        most: 200,
        closed: &["node_modules", ".git", "dist", "__pycache__"],
        marks_unread: false,
        excludes: ".geminiignore",
    },
    TreeForm {
        name: SHORT_FOLDER_TREE,
        most: 20,
        closed: &["node_modules", ".git", "dist"],
        marks_unread: true,
        excludes: ".qwenignore",
    },
];

/// The most names that are read of one folder.
const MOST_NAMES: usize = 10_000;

/// A folder of a tree.
#[derive(Default)]
struct TreeFolder {
    name: String,
    files: Vec<String>,
    /// Indexes of the folders in it.
    folders: Vec<usize>,
    has_more_files: bool,
    has_more_folders: bool,
    is_closed: bool,
}

/// Sets the trees of a folder.
pub(super) fn set_folder_trees(values: &mut RunValues, root: &Path) {
    let ignored = ignored_by_git(root);
    for form in &FORMS {
        if let Some(text) = form.tree_of(root, &ignored) {
            values.set(form.name, text);
        }
    }
}

impl TreeForm {
    /// Returns the lines of a tree; `None` if they are not known.
    fn tree_of(&self, root: &Path, ignored: &HashSet<PathBuf>) -> Option<String> {
        if root.join(self.excludes).exists() {
            return None;
        }
        let mut folders = vec![TreeFolder::default()];
        let mut unread = VecDeque::from([(0, PathBuf::new())]);
        let mut count = 0;
        while let Some((number, path)) = unread.pop_front() {
            if count >= self.most {
                folders[number].has_more_folders = self.marks_unread;
                continue;
            }
            let (files, subfolders) = names_in(&root.join(&path))?;
            for name in files.into_iter().filter(|name| !ignored.contains(&path.join(name))) {
                if count >= self.most {
                    folders[number].has_more_files = true;
                    break;
                }
                folders[number].files.push(name);
                count += 1;
            }
            for name in subfolders {
                if count >= self.most {
                    folders[number].has_more_folders = true;
                    break;
                }
                let inner = path.join(&name);
                let is_closed = self.closed.contains(&name.as_str()) || ignored.contains(&inner);
                let at = folders.len();
                folders.push(TreeFolder { name, is_closed, ..TreeFolder::default() });
                folders[number].folders.push(at);
                count += 1;
                if !is_closed {
                    unread.push_back((at, inner));
                }
            }
        }
        let mut lines = Vec::new();
        write_lines(&folders, 0, "", &mut lines);
        Some(lines.join("\n"))
    }
}

/// Writes what is in a folder, a line each.
fn write_lines(folders: &[TreeFolder], number: usize, indent: &str, lines: &mut Vec<String>) {
    let connector = |is_last: bool| if is_last { "└───" } else { "├───" };
    let folder = &folders[number];
    let has_folders = !folder.folders.is_empty() || folder.has_more_folders;
    for (at, name) in folder.files.iter().enumerate() {
        let is_last = at + 1 == folder.files.len() && !has_folders;
        lines.push(format!("{indent}{}{name}", connector(is_last)));
    }
    if folder.has_more_files {
        lines.push(format!("{indent}{}...", connector(!has_folders)));
    }
    for (at, inner) in folder.folders.iter().enumerate() {
        let is_last = at + 1 == folder.folders.len() && !folder.has_more_folders;
        let TreeFolder { name, is_closed, .. } = &folders[*inner];
        let mark = if *is_closed { "..." } else { "" };
        lines.push(format!("{indent}{}{name}/{mark}", connector(is_last)));
        let deeper = format!("{indent}{}", if is_last { "    " } else { "│   " });
        write_lines(folders, *inner, &deeper, lines);
    }
    if folder.has_more_folders {
        lines.push(format!("{indent}└───..."));
    }
}

/// Returns the names of the files and of the folders in a folder, in the programs' order. `None` if
/// there are too many, or if their order is not known.
fn names_in(folder: &Path) -> Option<(Vec<String>, Vec<String>)> {
    // A folder that may not be read is shown as an empty one.
    let Ok(entries) = std::fs::read_dir(folder) else { return Some(Default::default()) };
    let (mut files, mut folders) = (Vec::new(), Vec::new());
    for entry in entries.take(MOST_NAMES + 1) {
        let entry = entry.ok()?;
        let (kind, name) = (entry.file_type().ok()?, entry.file_name().into_string().ok()?);
        if !name.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            return None;
        }
        if kind.is_dir() {
            folders.push(name);
        } else if kind.is_file() {
            files.push(name);
        }
    }
    if files.len() + folders.len() > MOST_NAMES {
        return None;
    }
    files.sort_by(|one, other| by_locale(one, other));
    folders.sort_by(|one, other| by_locale(one, other));
    Some((files, folders))
}

/// Compares two names of ASCII in the order of Unicode's root locale: marks, digits, then letters
/// without regard to their case; of names that differ only in case, the one in lower case first.
fn by_locale(one: &str, other: &str) -> Ordering {
    const MARKS: &str = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$";
    let rank = |letter: char| match MARKS.find(letter) {
        Some(at) => (at, '\0'),
        None => (MARKS.len(), letter.to_ascii_lowercase()),
    };
    let cases = |name: &str| name.chars().map(|it| it.is_ascii_uppercase()).collect::<Vec<_>>();
    one.chars().map(rank).cmp(other.chars().map(rank)).then_with(|| cases(one).cmp(&cases(other)))
}

/// Returns the files and the folders in a folder that git ignores.
fn ignored_by_git(root: &Path) -> HashSet<PathBuf> {
    let list = |which: &[&str]| {
        let mut git = Command::new("git");
        git.current_dir(root).args(["ls-files", "--ignored", "--exclude-standard", "-z"]);
        git.args(which).env("GIT_OPTIONAL_LOCKS", "0");
        let output = git.stdin(Stdio::null()).stderr(Stdio::null()).output().ok();
        let bytes = output.filter(|output| output.status.success()).map(|output| output.stdout);
        String::from_utf8(bytes.unwrap_or_default()).unwrap_or_default()
    };
    let printed = [list(&["--others", "--directory"]), list(&["--cached"])];
    let names = printed.iter().flat_map(|text| text.split('\0')).filter(|name| !name.is_empty());
    names.map(|name| PathBuf::from(name.trim_end_matches('/'))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_the_order_of_the_root_locale() {
        let mut names = ["b", "B", "a2", "A1", "_x", "-y", ".git", "README.md", "readme", "1", "~"];
        names.sort_by(|one, other| by_locale(one, other));
        assert_eq!(
            names,
            ["_x", "-y", ".git", "~", "1", "A1", "a2", "b", "B", "readme", "README.md"]
        );
    }

    #[test]
    fn trees_are_those_of_the_programs() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for inner in ["src/deep", "node_modules/x", "empty", "out"] {
            std::fs::create_dir_all(root.join(inner)).unwrap();
        }
        for file in ["README.md", "b.txt", "a.txt", "src/main.rs", "src/deep/x", "out/y", "z.log"] {
            std::fs::write(root.join(file), "").unwrap();
        }
        let ignored = HashSet::from([PathBuf::from("out"), PathBuf::from("z.log")]);
        assert_eq!(
            FORMS[0].tree_of(root, &ignored).unwrap(),
            "├───a.txt\n├───b.txt\n├───README.md\n├───empty/\n├───node_modules/...\n├───out/...\n\
             └───src/\n    ├───main.rs\n    └───deep/\n        └───x"
        );
        std::fs::write(root.join(".geminiignore"), "").unwrap();
        assert_eq!(FORMS[0].tree_of(root, &ignored), None);
    }

    #[test]
    fn long_trees_end_where_those_of_the_programs_end() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..15 {
            std::fs::write(folder.path().join(format!("f{number:02}")), "").unwrap();
        }
        for number in 0..7 {
            let inner = folder.path().join(format!("d{number}"));
            std::fs::create_dir(&inner).unwrap();
            std::fs::write(inner.join("file"), "").unwrap();
        }
        let text = FORMS[1].tree_of(folder.path(), &HashSet::new()).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let last = ["├───d4/", "│   └───...", "└───..."];
        assert_eq!(
            (lines.len(), &lines[15..17], &lines[23..]),
            (26, &["├───d0/", "│   └───..."][..], &last[..])
        );
    }
}
