use std::os::unix::fs::symlink;

use super::*;

/// Creates other things in the place of a regular file. Returns each path, and the word for it.
fn plants(dir: &Path) -> Vec<(PathBuf, &'static str)> {
    let canary = dir.join("canary");
    fs::write(&canary, "canary").unwrap();
    let other = dir.join("other");
    fs::write(&other, "other").unwrap();
    let at = |name: &str| dir.join(name);
    symlink(&canary, at("link")).unwrap();
    symlink(dir.join("nothing"), at("dangling")).unwrap();
    fs::hard_link(&other, at("hard")).unwrap();
    fs::create_dir(at("folder")).unwrap();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), rustix::fs::FileType::Fifo, mode, 0).unwrap();
    std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
    vec![
        (at("link"), "symbolic link"),
        (at("dangling"), "symbolic link"),
        (at("hard"), "2 names"),
        (at("folder"), "directory"),
        (at("pipe"), "pipe"),
        (at("socket"), "socket"),
        (PathBuf::from("/dev/null"), "device"),
    ]
}

#[test]
fn nothing_but_a_regular_file_with_one_name_is_opened() {
    let dir = tempfile::tempdir().unwrap();
    for (path, word) in plants(dir.path()) {
        let mut append = OpenOptions::new();
        append.read(true).append(true).create(true);
        let opened = [
            open_to_read(&path).map(drop),
            open_checked(&path, OpenOptions::new().read(true).write(true)).map(drop),
            open_checked(&path, &mut append).map(drop),
            look_at(&path).map(drop),
        ];
        for error in opened.map(Result::unwrap_err) {
            let found = UnsafeFileError::find_in_error(&error).expect("an unsafe file");
            assert!(found.to_string().contains(word), "{found}");
            assert_eq!(found.path, path);
        }
    }
    assert_eq!(fs::read(dir.path().join("canary")).unwrap(), b"canary");
    assert!(!dir.path().join("nothing").exists());
}

#[test]
fn regular_file_is_opened_and_a_missing_one_is_none() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    assert!(open_to_read(&path).unwrap().is_none());
    assert!(look_at(&path).unwrap().is_none());
    open_checked(&path, OpenOptions::new().write(true).create(true)).unwrap();
    assert!(open_to_read(&path).unwrap().is_some());
    let open = open_to_read(&path).unwrap().unwrap();
    fs::remove_file(&path).unwrap();
    check_file(&path, &FileStatus::from_file(&open).unwrap()).unwrap();
}

#[test]
fn output_goes_through_no_link_but_to_the_systems_own() {
    let dir = tempfile::tempdir().unwrap();
    for (path, word) in plants(dir.path()) {
        if !matches!(word, "symbolic link" | "2 names") {
            continue;
        }
        let error = open_output(&path, 0o600).unwrap_err();
        assert!(error.to_string().contains(word), "{error}");
    }
    for path in ["/dev/null", "/dev/stdout", "/proc/self/fd/2"] {
        open_output(Path::new(path), 0o600).unwrap();
    }
    open_output(&dir.path().join("new"), 0o600).unwrap();
    assert_eq!(fs::read(dir.path().join("canary")).unwrap(), b"canary");
}

#[test]
fn temporary_place_is_cleared_of_links_and_not_of_directories() {
    let dir = tempfile::tempdir().unwrap();
    for (path, word) in plants(dir.path()) {
        if path.starts_with("/dev") {
            continue;
        }
        match word {
            "directory" => {
                let error = remove_temporary(&path).unwrap_err();
                assert!(UnsafeFileError::find_in_error(&error).is_some(), "{error}");
            }
            _ => {
                remove_temporary(&path).unwrap();
                assert!(!path.is_symlink() && !path.exists());
            }
        }
    }
    remove_temporary(&dir.path().join("missing")).unwrap();
    assert_eq!(fs::read(dir.path().join("canary")).unwrap(), b"canary");
}

#[test]
fn names_of_files_beside_a_recording_are_known() {
    for name in ["a.json.log", "a.lock", "a.log.torn-3", ".a.fold.loomrec-tmp", "a.json.new"] {
        assert!(is_sidecar_name(Path::new(name)), "{name}");
    }
    for name in ["a.json", "log", "renew", "a.json/b"] {
        assert!(!is_sidecar_name(Path::new(name)), "{name}");
    }
}
