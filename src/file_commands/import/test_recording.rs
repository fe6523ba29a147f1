//! The names of recordings for cassettes of single tests, as the plug-ins for test frameworks look
//! for them.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use sha2::{Digest, Sha256};

use super::file_list::ImportFile;

/// Names of folders in which tools keep the files of tests.
const ROOTS: [&str; 8] = [
    "cassettes",
    "vcr_cassettes",
    "fixtures",
    "recordings",
    "__recordings__",
    "_recordings",
    "testdata",
    "vcr",
];

/// How the names of cassettes end. The longer ones come first.
const ENDINGS: [&str; 5] = [".json", ".yaml", ".yml", ".har", ".httprr"];

/// The most characters of a file's name in the plug-in for pytest.
const MOST_CHARACTERS: usize = 100;

/// The most bytes of a test module that are searched.
const MODULE_LIMIT: u64 = 4 << 20;

/// Returns the path of a cassette's recording in a folder of recordings.
pub(super) fn recording_path(folder: &Path, file: &ImportFile) -> PathBuf {
    let below = match &file.below {
        Some(below) => below_root(below).unwrap_or_else(|| below.clone()),
        None => below_root(&file.path)
            .or_else(|| file.path.file_name().map(PathBuf::from))
            .unwrap_or_default(),
    };
    let mut parts: Vec<String> = below
        .components()
        .filter_map(|part| match part {
            Component::Normal(part) => Some(part.to_string_lossy().into_owned()),
            _ => None,
        })
        .collect();
    let test = without_ending(&parts.pop().unwrap_or_default()).to_owned();
    let module = match parts.last() {
        // pytest-recording has a folder for each module, the other plug-ins have none.
        Some(last) if has_module(folder, &parts, last) => None,
        _ => module_of(folder, &parts, &test),
    };
    let mut path = match &module {
        Some(_) => beside_tests(folder, &parts),
        None => parts.iter().fold(folder.to_owned(), |path, part| path.join(safe_name(part))),
    };
    path.extend(module.as_deref().map(safe_name));
    path.join(format!("{}.json", safe_name(&test)))
}

/// Returns the path after the last folder in which tools keep the files of tests.
fn below_root(path: &Path) -> Option<PathBuf> {
    let parts: Vec<Component<'_>> = path.components().collect();
    let folders = &parts[..parts.len().saturating_sub(1)];
    let is_root =
        |part: &Component<'_>| ROOTS.iter().any(|root| part.as_os_str() == OsStr::new(root));
    let root = folders.iter().rposition(is_root)?;
    Some(parts[root + 1..].iter().collect())
}

fn without_ending(name: &str) -> &str {
    let name = name.strip_suffix(".gz").unwrap_or(name);
    ENDINGS.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name)
}

/// Returns the folder of the tests below which these folders mirror others.
fn tests_folder(folder: &Path, parts: &[String]) -> PathBuf {
    let tests = folder.parent().unwrap_or(Path::new(""));
    parts.iter().fold(tests.to_owned(), |path, part| path.join(part))
}

/// Returns the folder of recordings beside the tests in these folders.
fn beside_tests(folder: &Path, parts: &[String]) -> PathBuf {
    match folder.file_name() {
        Some(name) => tests_folder(folder, parts).join(name),
        None => folder.to_owned(),
    }
}

/// Whether the last of these folders is named after a test module.
fn has_module(folder: &Path, parts: &[String], last: &str) -> bool {
    let around = &parts[..parts.len() - 1];
    let folder = tests_folder(folder, around);
    folder.join(format!("{last}.py")).is_file()
}

/// Returns the only test module of a folder that defines this test.
fn module_of(folder: &Path, parts: &[String], test: &str) -> Option<String> {
    let whole = test.split('[').next().unwrap_or(test);
    let (class, function) = match whole.rsplit_once('.') {
        Some((class, function)) => (Some(class.rsplit('.').next().unwrap_or(class)), function),
        None => (None, whole),
    };
    let (plain, later) = (format!("def {function}("), format!("async def {function}("));
    // A function of a module stands at the start of a line.
    let is_wanted = |line: &str| {
        let line = if class.is_some() { line.trim_start() } else { line };
        line.starts_with(&plain) || line.starts_with(&later)
    };
    let entries = std::fs::read_dir(tests_folder(folder, parts)).ok()?;
    let mut modules = Vec::new();
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        let stem = path.file_stem().and_then(OsStr::to_str).unwrap_or_default().to_owned();
        let is_test = stem.starts_with("test_") || stem.ends_with("_test");
        if !is_test || path.extension() != Some(OsStr::new("py")) {
            continue;
        }
        let Ok(text) = loomrec_os::read_input(&path, MODULE_LIMIT) else { continue };
        let text = String::from_utf8_lossy(&text);
        let has_class = class.is_none_or(|class| text.contains(&format!("class {class}")));
        if has_class && text.lines().any(is_wanted) {
            modules.push(stem);
        }
    }
    match modules.as_slice() {
        [_] => modules.pop(),
        _ => None,
    }
}

/// Returns a name as the plug-in for pytest makes it (`safe_name` in `recording_path.py`).
fn safe_name(name: &str) -> String {
    let is_kept = |c: char| c.is_ascii_alphanumeric() || "_.,=@+()[]-".contains(c);
    let (mut safe, mut is_run) = (String::new(), false);
    for character in name.chars() {
        match is_kept(character) {
            true => safe.push(character),
            false if !is_run => safe.push('-'),
            false => {}
        }
        is_run = !is_kept(character);
    }
    let safe: String = safe.chars().take(MOST_CHARACTERS).collect();
    if safe == name && !safe.starts_with('.') && !is_device(&safe) {
        return safe;
    }
    let digest = Sha256::digest(name.as_bytes());
    let start: String = digest.iter().take(3).map(|byte| format!("{byte:02x}")).collect();
    format!("{}~{start}", safe.trim_start_matches('.'))
}

/// Whether Windows reserves this name for a device.
fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name).to_ascii_lowercase();
    let is_numbered = |start: &str| {
        let digit = stem.strip_prefix(start).unwrap_or_default();
        digit.len() == 1 && digit.bytes().all(|digit| digit.is_ascii_digit())
    };
    matches!(stem.as_str(), "con" | "prn" | "aux" | "nul")
        || is_numbered("com")
        || is_numbered("lpt")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn named(path: &str) -> ImportFile {
        ImportFile { path: path.into(), label: path.to_owned(), below: None }
    }

    #[test]
    fn recording_has_the_path_of_its_cassette() {
        for (file, wanted) in [
            ("tests/cassettes/test_a/test_x.yaml", "out/test_a/test_x.json"),
            ("t/cassettes/T.test_x[a-1].yaml.gz", "out/T.test_x[a-1].json"),
            ("plain.har", "out/plain.json"),
        ] {
            assert_eq!(recording_path(Path::new("out"), &named(file)), Path::new(wanted), "{file}");
        }
        let below = ImportFile { below: Some("a/b c.yml".into()), ..named("x/a/b c.yml") };
        let path = recording_path(Path::new("out"), &below);
        assert!(path.to_string_lossy().starts_with("out/a/b-c~"), "{path:?}");
    }

    #[test]
    fn cassette_without_a_module_gets_that_of_its_test() {
        let outer = tempfile::tempdir().unwrap();
        let tests = outer.path().join("tests");
        fs::create_dir_all(tests.join("sub")).unwrap();
        fs::write(tests.join("test_a.py"), "def test_x():\n  pass\n").unwrap();
        fs::write(tests.join("test_b.py"), "class TestB:\n  def test_x(self):\n    pass\n")
            .unwrap();
        fs::write(tests.join("sub/test_c.py"), "async def test_z(a):\n  pass\n").unwrap();
        let folder = tests.join("recordings");
        let path = |file: &str| {
            let path = recording_path(&folder, &named(file));
            path.strip_prefix(&tests).unwrap().to_string_lossy().into_owned()
        };
        assert_eq!(path("cassettes/TestB.test_x.yaml"), "recordings/test_b/TestB.test_x.json");
        assert_eq!(path("cassettes/sub/test_z[1].yaml"), "sub/recordings/test_c/test_z[1].json");
        assert_eq!(path("cassettes/test_a/test_x.yaml"), "recordings/test_a/test_x.json");
        assert_eq!(path("cassettes/test_x.yaml"), "recordings/test_a/test_x.json");
        assert_eq!(path("cassettes/test_none.yaml"), "recordings/test_none.json");
    }

    #[test]
    fn name_is_made_as_the_plug_in_for_pytest_makes_it() {
        assert_eq!(safe_name("test_x[a-1]"), "test_x[a-1]");
        assert_eq!(safe_name("con.x"), "con.x~9c23ce");
        assert_eq!(safe_name("t ü"), "t-~3fd5b3");
    }
}
