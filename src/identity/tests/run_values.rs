use super::*;

fn values(all: &[(&str, &str)]) -> RunValues {
    all.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

fn forms(all: &[(&str, &str)], name: &str) -> Vec<String> {
    let forms = values(all).path_forms();
    forms.into_iter().filter(|form| form.name == name).map(|form| form.text).collect()
}

fn in_hole(all: &[(&str, &str)], name: &str) -> Vec<String> {
    values(all).hole_texts(name).into_iter().flatten().collect()
}

#[test]
fn day_is_written_as_programs_write_it() {
    assert_eq!(
        in_hole(&[("day", "2026-11-03")], "day"),
        [
            "2026-11-03 (Tuesday)",
            "Tuesday, 2026-11-03",
            "2026-11-03",
            "Tuesday, November 3, 2026",
            "Tue Nov 03 2026",
            "11/03/2026",
            "11/3/2026",
            "November 3, 2026",
            "3 November 2026",
            "November 2026"
        ]
    );
    for (day, weekday) in [
        ("2026-11-23", "Monday"),
        ("2024-02-29", "Thursday"),
        ("2000-01-01", "Saturday"),
        ("1970-01-01", "Thursday"),
        ("2027-03-01", "Monday"),
    ] {
        assert_eq!(in_hole(&[("day", day)], "weekday")[0], weekday, "{day}");
    }
}

#[test]
fn directories_have_a_form_as_one_name_and_home_one_relative_to_the_other() {
    let here = [("cwd", "/home/ann/my.app"), ("home", "/home/ann"), ("tmpdir", "/tmp")];
    assert_eq!(forms(&here, "cwd"), ["/home/ann/my.app", "-home-ann-my.app", "-home-ann-my-app"]);
    assert_eq!(forms(&here, "tmpdir"), ["/tmp"]);
    assert_eq!(forms(&here, "home"), ["/home/ann"]);
    assert_eq!(in_hole(&here, "home"), ["/home/ann", ".."]);
    let apart = [("cwd", "/build/1/app"), ("home", "/ci-home")];
    assert_eq!(in_hole(&apart, "home"), ["/ci-home", "../../../ci-home"]);
    assert_eq!(in_hole(&apart, "folder"), ["app"]);
}

#[test]
fn values_that_their_name_cannot_have_are_not_set() {
    let mut values = RunValues::default();
    for (name, text) in [
        ("cwd", "/"),
        ("cwd", "//"),
        ("cwd", "/."),
        ("home", "."),
        ("home", ""),
        ("pwd", "relative/path"),
        ("tmpdir", "/a \"b\""),
        ("day", "today"),
        ("day", "2026-13-01"),
        ("utc_day", "2026-1-1"),
        ("user", ""),
        ("host", "a\nb"),
    ] {
        assert!(!values.set(name, text), "{name} {text}");
    }
    assert!(values.is_empty());
    assert!(values.set("git_status", " M a\n?? \"b\""));
    values.remove("git_status");
    for at in 0..MOST_VALUES {
        assert!(values.set(format!("v{at}"), "text"));
    }
    assert!(!values.set("more", "text"));
    assert!(values.set("v0", "other"));
    assert_eq!(values.get("v0"), Some("other"));
}
