//! Paths of a run that cannot be bound.

use super::{BIND, PROMPT, file, recorded};
use crate::support::Scene;
use crate::support::loomrec::{command, finish};

#[test]
fn path_that_cannot_be_bound_is_named() {
    let scene = Scene::new();
    let (here, _) = recorded(&scene, &BIND, PROMPT);
    let note = "not bound: home / (the root, a relative path, or one with a quote)";
    let replay = |flags: &[&str], home: &str| {
        let file = file(&scene);
        let args = [&["replay", "-r", &file, "--allow-empty"], flags].concat();
        let mut command = command(scene.dir(), &[&args[..], &["--", "true"]].concat());
        finish(command.env("HOME", home).current_dir(&here.cwd), b"").expect(0)
    };
    replay(&["--bind"], "/").says(&[note]);
    for (flags, home) in [(&["--bind"][..], "/home/ann"), (&[], "/")] {
        let said = replay(flags, home).stderr;
        assert!(!said.contains("not bound"), "{said}");
    }
}
