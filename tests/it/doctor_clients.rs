//! Tests of what the doctor says of the clients on this machine.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use crate::support::Scene;
use crate::support::loomrec::{command, finish};

/// Asks the proxy of its environment for a tunnel.
const PROXIED: &str = "address=${HTTPS_PROXY#http://}\n\
                       exec 3<>/dev/tcp/${address%:*}/${address#*:}\n\
                       printf 'CONNECT loomrec.invalid:443 HTTP/1.1\\r\\n\\r\\n' >&3\n\
                       read -r line <&3\n[[ $line == *403* ]]\n";

/// A program that prints this version, and otherwise does this.
fn program(scene: &Scene, name: &str, version: &str, otherwise: &str) {
    let folder = scene.path("bin");
    fs::create_dir_all(&folder).unwrap();
    let text =
        format!("#!/bin/bash\ncase $1 in *version) echo '{version}'; exit;; esac\n{otherwise}");
    fs::write(folder.join(name), text).unwrap();
    fs::set_permissions(folder.join(name), fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn doctor_says_of_each_client_whether_the_proxy_reaches_it() {
    let scene = Scene::new();
    program(&scene, "python3", "", "exit 3");
    program(&scene, "python", "Python 3.14.0", PROXIED);
    program(&scene, "node", "v20.1.0", "exit 0");
    program(&scene, "curl", "curl 8.20.0\nand more", "exec /bin/sleep 30");
    program(&scene, "java", "openjdk 25", "exit 1");
    program(&scene, "go", "go version go1.30", "exit 1");
    let mut line = command(scene.dir(), &["doctor", "--json"]);
    // A proxy of the user's own decides nothing here.
    line.env("PATH", scene.path("bin"))
        .env("NO_PROXY", "*")
        .env("https_proxy", "http://127.0.0.1:1");
    let done = finish(&mut line, b"").expect(0);
    let all: Value = serde_json::from_str(&done.stdout).unwrap();
    let of = |about: &str| {
        let found = all["findings"].as_array().unwrap().iter().find(|it| it["about"] == about);
        let found = found.unwrap_or_else(|| panic!("no {about} in {all:#}"));
        (found["level"].as_str().unwrap().to_owned(), found["text"].as_str().unwrap().to_owned())
    };
    for (about, level, text) in [
        ("python (Python 3.14.0)", "ok", "--intercept reaches the rest"),
        ("node (v20.1.0)", "warning", "it ignores the proxy of --intercept"),
        ("curl (curl 8.20.0)", "warning", "did not end in 10 s"),
        ("java (openjdk 25)", "warning", "it ignores the proxy of --intercept"),
        ("go (go version go1.30)", "ok", "--intercept reaches the rest"),
    ] {
        let (found, said) = of(about);
        assert_eq!(found, level, "{about}: {said}");
        assert!(said.ends_with(text), "{about}: {said}");
    }
    assert!(!done.stdout.contains("ruby"), "{}", done.stdout);
}
