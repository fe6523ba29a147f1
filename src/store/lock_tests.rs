use std::fs;

use super::*;

fn lock(path: &Path) -> RecordingLock {
    RecordingLock::new(path, &Disk::real())
}

fn path(dir: &tempfile::TempDir) -> PathBuf {
    dir.path().join("a.lock")
}

#[test]
fn second_taker_waits_no_longer_than_told_and_names_the_holder() {
    let dir = tempfile::tempdir().unwrap();
    let mut one = lock(&path(&dir));
    let mut two = lock(&path(&dir));
    let guard = one.acquire(WAIT).unwrap();
    let start = Instant::now();
    let error = two.acquire(Duration::from_millis(30)).unwrap_err();
    assert!(start.elapsed() >= Duration::from_millis(30));
    let text = error.to_string();
    assert!(text.contains(&format!("pid {}, since 20", std::process::id())), "{text}");
    assert!(!text.contains("  "), "{text:?}");
    drop(guard);
    two.acquire(WAIT).unwrap();
}

#[test]
fn waiter_gets_the_lock_as_soon_as_it_is_free() {
    let dir = tempfile::tempdir().unwrap();
    let guard = lock(&path(&dir)).acquire(WAIT).unwrap();
    let waiter = {
        let path = path(&dir);
        thread::spawn(move || lock(&path).acquire(WAIT).map(drop))
    };
    // Long enough for the waiter to be in the kernel. Sooner is right as well.
    thread::sleep(Duration::from_millis(20));
    drop(guard);
    waiter.join().unwrap().unwrap();
}

#[test]
fn one_who_was_given_up_on_does_not_keep_the_lock() {
    let dir = tempfile::tempdir().unwrap();
    let mut one = lock(&path(&dir));
    let guard = one.acquire(WAIT).unwrap();
    let mut two = lock(&path(&dir));
    for _ in 0..3 {
        two.acquire(Duration::from_millis(5)).unwrap_err();
    }
    drop(guard);
    drop(two.acquire(WAIT).unwrap());
    drop(one.acquire(WAIT).unwrap());
}

#[test]
fn waiter_starts_over_when_the_lock_file_was_removed() {
    let dir = tempfile::tempdir().unwrap();
    let mut one = lock(&path(&dir));
    let guard = one.acquire(WAIT).unwrap();
    let before = one.file_id();
    let waiter = {
        let path = path(&dir);
        thread::spawn(move || lock(&path).acquire(WAIT))
    };
    // Whether it waits already or comes later, it must end with the new file.
    thread::sleep(Duration::from_millis(20));
    one.remove(guard).unwrap();
    let second = waiter.join().unwrap().unwrap();
    let error = one.acquire(Duration::from_millis(10)).unwrap_err();
    assert!(matches!(error, StoreError::Held { .. }));
    drop(second);
    drop(one.acquire(WAIT).unwrap());
    assert!(one.file_id().is_some() && before.is_some());
}

#[test]
fn lock_of_a_dead_process_is_no_obstacle_and_its_name_goes() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(path(&dir), "loomrec, pid 999999, since 1999-01-01T00:00:00Z\n").unwrap();
    let mut one = lock(&path(&dir));
    let _guard = one.acquire(Duration::from_millis(10)).unwrap();
    assert!(read_holder(&path(&dir)).contains(&format!("pid {}", std::process::id())));
}

#[test]
fn name_on_the_lock_is_its_holders_after_others_had_turns() {
    let dir = tempfile::tempdir().unwrap();
    let mut one = lock(&path(&dir));
    drop(one.acquire(WAIT).unwrap());
    fs::write(path(&dir), "other, pid 7, since then\n").unwrap();
    let _guard = one.acquire(WAIT).unwrap();
    assert!(read_holder(&path(&dir)).contains(&format!("pid {}", std::process::id())));
}

#[test]
fn lock_whose_folder_is_gone_says_so_and_works_again_when_it_is_back() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("f");
    fs::create_dir(&folder).unwrap();
    let mut one = lock(&folder.join("a.lock"));
    drop(one.acquire(WAIT).unwrap());
    fs::rename(&folder, dir.path().join("away")).unwrap();
    let error = one.acquire(WAIT).unwrap_err();
    assert!(error.to_string().contains("a.lock"), "{error}");
    fs::rename(dir.path().join("away"), &folder).unwrap();
    drop(one.acquire(WAIT).unwrap());
}
