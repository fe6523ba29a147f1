//! The tree of the working directory, as Gemini CLI and Qwen Code write it into their prompts.
//!
//! A tree that these programs would write otherwise, because of rules that are not known here, is
//! found in no request: then it is compared like all other text.

use std::cmp::Ordering;
use std::collections::{HashSet, VecDeque};
use std::io::Write;
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

/// Sets the trees of the working directory.
pub(super) fn set_folder_trees(values: &mut RunValues) {
    let Ok(root) = std::env::current_dir() else { return };
    let ignored = IgnoredPaths::read(&root);
    for form in &FORMS {
        if let Some(text) = form.tree_of(&root, &ignored) {
            values.set(form.name, text);
        }
    }
}

impl TreeForm {
    /// Returns the lines of a tree; `None` if they are not known.
    fn tree_of(&self, root: &Path, ignored: &IgnoredPaths) -> Option<String> {
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
            for name in files.into_iter().filter(|name| !ignored.has_path(&path, name)) {
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
                let is_closed =
                    self.closed.contains(&name.as_str()) || ignored.has_path(&path, &name);
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

/// What git ignores in a folder.
#[derive(Default)]
struct IgnoredPaths {
    /// Files and folders.
    paths: HashSet<PathBuf>,
    /// Folders that are not ignored themselves, and all that is in them is.
    emptied: HashSet<PathBuf>,
}

impl IgnoredPaths {
    fn read(root: &Path) -> Self {
        let listed = ["--others --directory", "--cached"].map(|which| {
            let words = "ls-files --ignored --exclude-standard -z".split(' ');
            git_output(root, &words.chain(which.split(' ')).collect::<Vec<_>>(), "")
        });
        let (mut files, mut folders) = (Vec::new(), Vec::new());
        for name in listed.iter().flat_map(|text| names_of(text)) {
            match name.strip_suffix('/') {
                Some(folder) => folders.push(folder),
                None => files.push(name),
            }
        }
        let own = match folders.is_empty() {
            true => String::new(),
            false => {
                let words = ["check-ignore", "--no-index", "--stdin", "-z"];
                git_output(root, &words, &folders.join("\0"))
            }
        };
        let own: HashSet<&str> = names_of(&own).collect();
        let (ignored, emptied): (Vec<&str>, Vec<&str>) =
            folders.into_iter().partition(|folder| own.contains(folder));
        Self {
            paths: files.into_iter().chain(ignored).map(PathBuf::from).collect(),
            emptied: emptied.into_iter().map(PathBuf::from).collect(),
        }
    }

    fn has_path(&self, folder: &Path, name: &str) -> bool {
        self.emptied.contains(folder) || self.paths.contains(&folder.join(name))
    }
}

/// Returns the rule by which git ignores a file that it does not track, as `FILE:LINE:PATTERN`.
pub fn ignoring_rule(file: &Path) -> Option<String> {
    let name = file.file_name()?.to_str()?;
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let text =
        git_output(folder.unwrap_or(Path::new(".")), &["check-ignore", "-v", "--", name], "");
    let (rule, _) = text.split_once('\t')?;
    Some(rule.to_owned())
}

/// Returns the names in a text that ends each with a zero byte.
fn names_of(text: &str) -> impl Iterator<Item = &str> {
    text.split('\0').filter(|name| !name.is_empty())
}

/// Returns what git prints in a folder; nothing where it fails.
fn git_output(folder: &Path, arguments: &[&str], input: &str) -> String {
    let mut git = Command::new("git");
    git.current_dir(folder).args(arguments).env("GIT_OPTIONAL_LOCKS", "0");
    git.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let Ok(mut git) = git.spawn() else { return String::new() };
    let stdin = git.stdin.take();
    let output = std::thread::scope(|scope| {
        scope.spawn(|| stdin.map(|mut stdin| stdin.write_all(input.as_bytes())));
        git.wait_with_output().ok()
    });
    String::from_utf8(output.map(|output| output.stdout).unwrap_or_default()).unwrap_or_default()
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
        for inner in ["src/deep", "node_modules/x", "empty", "out", "hidden/inner", "hidden/at"] {
            std::fs::create_dir_all(root.join(inner)).unwrap();
        }
        for file in ["README.md", "b.txt", "a.txt", "src/main.rs", "src/deep/x", "out/y", "z.log"] {
            std::fs::write(root.join(file), "").unwrap();
        }
        for (file, text) in
            [(".gitignore", "out\n*.log\n"), ("hidden/.gitignore", "*\n"), ("hidden/inner/a", "")]
        {
            std::fs::write(root.join(file), text).unwrap();
        }
        assert!(
            Command::new("git").current_dir(root).args(["init", "-q"]).status().unwrap().success()
        );
        let ignored = IgnoredPaths::read(root);
        assert_eq!(
            FORMS[0].tree_of(root, &ignored).unwrap(),
            "├───.gitignore\n├───a.txt\n├───b.txt\n├───README.md\n├───.git/...\n├───empty/\n\
             ├───hidden/\n│   ├───at/...\n│   └───inner/...\n├───node_modules/...\n├───out/...\n\
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
        let text = FORMS[1].tree_of(folder.path(), &IgnoredPaths::default()).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let last = ["├───d4/", "│   └───...", "└───..."];
        assert_eq!(
            (lines.len(), &lines[15..17], &lines[23..]),
            (26, &["├───d0/", "│   └───..."][..], &last[..])
        );
    }
}
