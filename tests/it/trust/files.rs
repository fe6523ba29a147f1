//! Files that settings name: outputs stay in the project and replace nothing else, inputs end.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::Project;

const REPLAY: [&str; 6] = ["replay", "--allow-empty", "-r", "run.json", "--", "true"];
const HOOK: &str = "#!/bin/sh\nexit 0\n";

/// The settings that name an output file.
const OUTPUTS: [&str; 5] = ["summary", "receipt", "journal", "junit", "pending"];

#[test]
fn no_output_of_a_file_is_in_a_folder_of_version_control_or_behind_a_link() {
    let project = Project::new();
    let scene = &project.scene;
    for folder in [".git/hooks", ".hg", "vendor/.git", "bare/objects", "out"] {
        fs::create_dir_all(scene.path(folder)).unwrap();
    }
    fs::write(scene.path("bare/HEAD"), "ref: refs/heads/main\n").unwrap();
    fs::write(scene.path(".git/hooks/pre-commit"), HOOK).unwrap();
    fs::set_permissions(scene.path(".git/hooks/pre-commit"), fs::Permissions::from_mode(0o755))
        .unwrap();
    symlink(".git/hooks", scene.path("hooks")).unwrap();
    symlink("out", scene.path("link")).unwrap();
    symlink("out/target", scene.path("direct")).unwrap();
    for output in OUTPUTS {
        for (place, why) in [
            (".git/hooks/pre-commit", "version control"),
            (".git/hooks/new", "version control"),
            ("out/../.git/hooks/new", "version control"),
            ("hooks/pre-commit", "version control"),
            (".hg/new", "version control"),
            ("vendor/.git/new", "version control"),
            ("bare/new", "version control"),
            ("link/new", "leads through a link"),
            ("direct", "leads through a link"),
            ("out", "not a regular file"),
        ] {
            project.settings(&format!("[replay]\n{output} = {place:?}\n"));
            project.run(&REPLAY).expect(2).says(&["loomrec.toml:2", output, place, why]);
        }
    }
    assert_eq!(fs::read_to_string(scene.path(".git/hooks/pre-commit")).unwrap(), HOOK);
    assert_eq!(fs::read_dir(scene.path("out")).unwrap().count(), 0);
    project.settings("[record]\nrecording = \".git/new.json\"\n");
    project.run(&["record", "--", "true"]).expect(2).says(&["version control"]);
    project.settings("[record]\nrecording = \".git/{session}.json\"\n");
    project.run(&["record", "--", "true"]).expect(2).says(&["version control"]);
}

#[test]
fn output_of_a_file_is_added_only_to_what_loomrec_has_written() {
    let project = Project::new();
    let scene = &project.scene;
    for (text, code) in [("# Read me\n", 2), ("#!/bin/sh\n", 2), ("", 0), ("### loomrec x\n", 0)] {
        fs::write(scene.path("notes.md"), text).unwrap();
        project.settings("summary = \"notes.md\"\n");
        project.run(&REPLAY).expect(code);
        let now = fs::read_to_string(scene.path("notes.md")).unwrap();
        assert!(now.starts_with(text) && (now.len() > text.len()) == (code == 0), "{now}");
    }
    project.run(&REPLAY).expect(0);
    for output in OUTPUTS {
        fs::write(scene.path("package.json"), "{\"name\": \"mine\", \"version\": \"1\"}\n")
            .unwrap();
        project.settings(&format!("[replay]\n{output} = \"package.json\"\n"));
        let line = ["replay", "--recovery", "max_detection_ms=1", "--fault", "step=429"];
        let line = [&line[..], &["--allow-unfired"], &REPLAY[1..]].concat();
        assert_ne!(project.run(&line).code, 0, "{output}");
        let now = fs::read_to_string(scene.path("package.json")).unwrap();
        assert_eq!(now, "{\"name\": \"mine\", \"version\": \"1\"}\n", "{output}");
    }
    let before = project.scene.names();
    project.settings("[record]\nrecording = \"package.json\"\n");
    assert_ne!(project.run(&["record", "--allow-empty", "--", "true"]).code, 0);
    assert_eq!(project.scene.names(), before);
    let now = fs::read_to_string(scene.path("package.json")).unwrap();
    assert_eq!(now, "{\"name\": \"mine\", \"version\": \"1\"}\n");
    // On the command line, the user decides.
    fs::write(scene.path("notes.md"), "# Read me\n").unwrap();
    fs::remove_file(scene.path("loomrec.toml")).unwrap();
    project.run(&[&["replay", "--summary", "notes.md"][..], &REPLAY[1..]].concat()).expect(0);
}

#[test]
fn input_of_a_file_is_a_regular_file_and_every_input_ends() {
    let project = Project::new();
    let scene = &project.scene;
    symlink("/dev/zero", scene.path("endless.json")).unwrap();
    let pipe = std::process::Command::new("mkfifo").arg(scene.path("pipe")).status().unwrap();
    assert!(pipe.success());
    for (setting, command) in [
        ("faults", "replay"),
        ("script", "replay"),
        ("tls-cert", "replay"),
        ("tls-key", "replay"),
        ("prices", "record"),
    ] {
        for place in ["/dev/zero", "endless.json", "pipe", "."] {
            project.settings(&format!("[{command}]\n{setting} = {place:?}\n"));
            let line = [command, "--allow-empty", "-r", "run.json", "--", "true"];
            let says = ["loomrec.toml:2", setting, "is not a regular file"];
            project.run(&line).expect(2).says(&says);
        }
    }
    fs::remove_file(scene.path("loomrec.toml")).unwrap();
    for (line, code) in [
        (&["replay", "--faults", "/dev/zero", "-r", "run.json"][..], 2),
        (&["replay", "--script", "/dev/zero"], 2),
        (&["replay", "-r", "run.json", "--tls-cert", "/dev/zero", "--tls-key", "/dev/zero"], 2),
        (&["record", "-r", "run.json", "--prices", "/dev/zero", "--", "true"], 2),
        (&["ls", "run.json", "--prices", "endless.json"], 2),
        (&["stats", "run.json", "--prices", "/dev/zero"], 2),
        (&["journal", "/dev/zero", "--recovery", "/dev/zero"], 2),
        (&["journal", "/dev/zero", "--recovery"], 4),
        (&["journal", "/dev/zero"], 4),
        (&["prune", "run.json", "--unused", "/dev/zero"], 4),
        (&["prune", "run.json", "--journal", "/dev/zero"], 4),
        (&["rerecord", "--drifted", "/dev/zero", "run.json"], 4),
        (&["import", "/dev/zero", "-o", "new.json"], 4),
        (&["ls", "/dev/zero"], 4),
        (&["ls", "run.json", "--config", "/dev/zero"], 2),
        (&["ls", "run.json", "--config", "."], 2),
    ] {
        let ended = project.run(line);
        assert_eq!(ended.code, code, "{line:?}: {}", ended.stderr);
        assert!(ended.stderr.contains("/dev/zero") || code == 2, "{line:?}: {}", ended.stderr);
    }
    let large = format!("# {}\n", "x".repeat(1 << 20));
    fs::write(scene.path("large.toml"), large).unwrap();
    let ended = project.run(&["ls", "run.json", "--config", "large.toml"]).expect(2);
    ended.says(&["large.toml", "it has more than 1048576 bytes"]);
    // A pipe that is typed is read.
    let read = "exec \"$0\" ls run.json --prices /dev/stdin < prices.json";
    fs::write(scene.path("prices.json"), "{}").unwrap();
    let mut shell = project.command(&[]);
    let loomrec = shell.get_program().to_owned();
    shell = std::process::Command::new("sh");
    shell.args(["-c", read]).arg(loomrec).current_dir(scene.dir());
    assert_ne!(shell.status().unwrap().code(), Some(4));
}
