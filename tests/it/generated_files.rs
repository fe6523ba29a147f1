//! Tests of `config --generate`: completions that work, and pages that a formatter accepts without a
//! warning.

use std::process::Command;

use crate::support::Scene;

/// Runs a program in the scene's folder; `None` if it is not installed.
fn tried(scene: &Scene, program: &str, args: &[&str]) -> Option<(bool, String)> {
    let ran = Command::new(program).args(args).current_dir(scene.dir()).output().ok()?;
    let said = [ran.stdout, ran.stderr].concat();
    Some((ran.status.success(), String::from_utf8_lossy(&said).into_owned()))
}

/// A scene with the completions for a shell in `script`.
fn generated(shell: &str) -> Scene {
    let scene = Scene::new();
    let text = scene.run(&["config", "--generate", shell]).expect(0).stdout;
    std::fs::write(scene.path("script"), text).unwrap();
    scene
}

#[test]
fn bash_completes_commands_flags_and_values() {
    let scene = generated("bash");
    for (words, wanted, unwanted) in [
        (&["loomrec", "re"][..], &["record", "replay", "redact"][..], "merge"),
        (&["loomrec", "me"], &["merge"], "record"),
        (&["loomrec", "replay", "--on-"], &["--on-miss"], "--strict"),
        (&["loomrec", "merge", "--on-conflict", ""], &["first", "last", "both", "fail"], "--json"),
        (&["loomrec", "config", "--generate", ""], &["bash", "zsh", "fish"], "record"),
    ] {
        let last = words.len() - 1;
        let line = format!(
            "source ./script; complete -p loomrec; COMP_WORDS=({}); COMP_CWORD={last}; \
             _loomrec loomrec '{}' '{}'; printf '<%s>' \"${{COMPREPLY[@]}}\"",
            words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" "),
            words[last],
            words[last - 1],
        );
        let (fine, said) = tried(&scene, "bash", &["-c", &line]).unwrap();
        assert!(fine && said.contains("-F _loomrec loomrec"), "{said}");
        for word in wanted {
            assert!(said.contains(&format!("<{word}>")), "{word} of {words:?} not in {said}");
        }
        assert!(!said.contains(&format!("<{unwanted}>")), "{said}");
    }
}

#[test]
fn other_shells_take_their_completions() {
    for (shell, program, args, says) in [
        ("zsh", "zsh", &["-n", "script"][..], "#compdef loomrec"),
        ("fish", "fish", &["--no-execute", "script"], "complete -c loomrec"),
        ("elvish", "elvish", &["-compileonly", "script"], "loomrec;record"),
        ("powershell", "pwsh", &["-NoProfile", "-File", "script"], "Register-ArgumentCompleter"),
    ] {
        let scene = generated(shell);
        let script = std::fs::read_to_string(scene.path("script")).unwrap();
        assert!(script.contains(says) && script.contains("on-conflict"), "{shell}:\n{script}");
        // The shell, if it is installed, checks whether this is its language.
        if let Some((fine, said)) = tried(&scene, program, args) {
            assert!(fine, "{shell}: {said}");
        }
    }
    let scene = Scene::new();
    scene.run(&["config", "--generate", "tcsh"]).expect(2).says(&["elvish"]);
}

#[test]
fn each_command_has_a_manual_page() {
    let scene = Scene::new();
    scene.run(&["config", "--generate", "man", "-o", "pages/man1"]).expect(0);
    let help = scene.run(&["--help"]).expect(0).stdout;
    for command in loomrec_arguments::COMMAND_GROUPS.iter().flat_map(|(_, names)| *names) {
        assert!(help.lines().any(|line| line.starts_with(&format!("  {command} "))), "{help}");
        let path = scene.path(&format!("pages/man1/loomrec-{command}.1"));
        let page = std::fs::read_to_string(&path).unwrap();
        assert!(page.contains(".SH SYNOPSIS"), "{page}");
    }
    let page = std::fs::read_to_string(scene.path("pages/man1/loomrec-replay.1")).unwrap();
    for part in ["\\-\\-max\\-age", "LOOMREC_MAX_AGE", "Examples:", "loomrec\\-replay"] {
        assert!(page.contains(part), "{part} not in:\n{page}");
    }
    for file in std::fs::read_dir(scene.path("pages/man1")).unwrap() {
        let path = file.unwrap().path();
        let path = path.to_str().unwrap();
        if let Some((fine, said)) =
            tried(&scene, "groff", &["-Kutf8", "-man", "-Tutf8", "-ww", "-z", path])
        {
            assert!(fine && said.is_empty(), "{path}: {said}");
        }
        if let Some((fine, said)) = tried(&scene, "mandoc", &["-Tlint", "-Werror", path]) {
            assert!(fine, "{path}: {said}");
        }
    }
    let own = scene.run(&["config", "--generate", "man"]).expect(0).stdout;
    assert!(own.contains("loomrec\\-record(1)"), "{own}");
    std::fs::write(scene.path("file"), "").unwrap();
    scene.run(&["config", "--generate", "man", "-o", "file/man1"]).expect(3).says(&["file/man1"]);
}
