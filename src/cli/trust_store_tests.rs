use std::fs::File;

use super::*;

fn store(folder: &Path) -> TrustStore {
    TrustStore { folder: folder.join("state/trust") }
}

fn settings(number: usize) -> TrustedItem {
    settings_of(&format!("/p/{number}"), 7)
}

fn settings_of(path: &str, byte: u8) -> TrustedItem {
    TrustedItem::Settings(TrustedSettings { path: path.into(), sha256: to_hex(&[byte; 32]) })
}

#[test]
fn bucket_is_held_until_it_is_forgotten_and_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(dir.path());
    let bucket = |url: &str| TrustedItem::Bucket(BucketUrl::of_url(url).unwrap());
    store.add(&bucket("s3://one")).unwrap();
    store.add(&settings(1)).unwrap();
    assert!(store.is_trusted(&bucket("s3://one/agent")));
    for other in ["s3://two", "gs://one", "s3://one."] {
        assert!(!store.is_trusted(&bucket(other)), "{other}");
    }
    assert_eq!(store.items().unwrap().len(), 2);
    assert_eq!(store.forget(|known| *known == bucket("s3://one")).unwrap(), 1);
    assert!(!store.is_trusted(&bucket("s3://one")) && store.is_trusted(&settings(1)));
}

#[test]
fn item_is_held_for_its_path_and_content_alone_until_it_is_forgotten() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(dir.path());
    let item = settings(1);
    assert!(!store.is_trusted(&item) && store.items().unwrap().is_empty());
    assert_eq!(store.forget(|_| true).unwrap(), 0);
    store.add(&item).unwrap();
    store.add(&item).unwrap();
    store.add(&settings(3)).unwrap();
    assert!(store.is_trusted(&item) && store.is_trusted(&settings(3)));
    let changed = settings_of("/p/1", 8);
    for other in [settings(2), changed] {
        assert!(!store.is_trusted(&other), "{other:?}");
    }
    assert_eq!(store.items().unwrap().len(), 2);
    assert_eq!(store.forget(|known| *known == item).unwrap(), 1);
    assert!(!store.is_trusted(&item));
}

#[test]
fn only_what_is_the_users_alone_counts() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(dir.path());
    let item = settings(1);
    store.add(&item).unwrap();
    let mode = |path: &Path| FileStatus::at_path(path).unwrap().unwrap().mode;
    let file = store.folder.join(item.file_name());
    assert_eq!((mode(&file), mode(&store.folder)), (0o600, 0o700));
    for (path, open) in [(&file, 0o602), (&file, 0o644), (&store.folder, 0o755)] {
        let closed = mode(path);
        loomrec_os::set_mode(&File::open(path).unwrap(), open).unwrap();
        assert!(!store.is_trusted(&item), "{}", path.display());
        loomrec_os::set_mode(&File::open(path).unwrap(), closed).unwrap();
        assert!(store.is_trusted(&item));
    }
    let elsewhere = dir.path().join("elsewhere");
    fs::rename(&file, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &file).unwrap();
    assert!(!store.is_trusted(&item), "a link is not followed");
    fs::remove_file(&file).unwrap();
    let private = |text: &str| {
        fs::write(&file, text).unwrap();
        loomrec_os::set_mode(&File::open(&file).unwrap(), 0o600).unwrap();
    };
    private(&item.to_json().to_string());
    assert!(store.is_trusted(&item));
    private(&settings(2).to_json().to_string());
    assert!(!store.is_trusted(&item), "the content decides, and not the name");
    private(&" ".repeat(1 << 20));
    assert!(!store.is_trusted(&item));
}

#[test]
fn oldest_item_gives_way_and_leftovers_are_removed() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(dir.path());
    store.add(&settings(0)).unwrap();
    let age = |path: &Path, seconds: u64| {
        let file = File::options().write(true).open(path).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
    };
    age(&store.folder.join(settings(0).file_name()), 100);
    let left = store.folder.join(format!("{UNFINISHED}1"));
    fs::write(&left, "").unwrap();
    age(&left, 2 * LEFT_OVER.as_secs());
    for number in 1..MOST {
        let text = settings(number).to_json().to_string();
        fs::write(store.folder.join(settings(number).file_name()), text).unwrap();
    }
    store.add(&settings(MOST)).unwrap();
    assert_eq!(store.item_files().unwrap().len(), MOST);
    assert!(!store.is_trusted(&settings(0)) && store.is_trusted(&settings(MOST)) && !left.exists());
}

#[test]
fn items_that_are_added_at_the_same_time_are_all_held() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(dir.path());
    std::thread::scope(|scope| {
        for number in 0..16 {
            let store = &store;
            scope.spawn(move || {
                store.add(&settings(number)).unwrap();
                store.add(&settings(99)).unwrap();
            });
        }
    });
    assert!((0..16).chain([99]).all(|number| store.is_trusted(&settings(number))));
    assert_eq!(store.items().unwrap().len(), 17);
}
