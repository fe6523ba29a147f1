//! Tests of the authority: strict clients accept its certificates, and its key is in no file.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};

use super::{BASED, DIRECT, record, replay, replaying};
use crate::support::Scene;
use crate::support::chance::skipped;
use crate::support::loomrec::{command, finish};

/// Whether a file below a folder holds a text.
fn is_in_files(folder: &Path, text: &[u8]) -> bool {
    std::fs::read_dir(folder).into_iter().flatten().flatten().any(|entry| {
        let path = entry.path();
        match path.is_dir() {
            true => is_in_files(&path, text),
            false => {
                std::fs::read(&path).is_ok_and(|bytes| memchr::memmem::find(&bytes, text).is_some())
            }
        }
    })
}

#[test]
fn strict_clients_accept_the_certificates() {
    if Command::new("openssl").arg("version").output().is_err() {
        return skipped("strict_clients_accept_the_certificates", "openssl is not installed");
    }
    let scene = Scene::new();
    record(&scene, &["--intercept"], &[DIRECT]).expect(0);
    let server = scene.replay(&["--intercept"]);
    let folder = format!(".local/state/loomrec/authority/{}", server.address.port());
    let authority = scene.path(&folder).join("ca.pem");
    for to in ["-proxy", "-connect"] {
        let mut client = Command::new("openssl");
        client.args(["s_client", "-x509_strict", "-verify_return_error", "-CAfile"]);
        client.arg(&authority).args([to, &server.address.to_string()]);
        match to {
            "-proxy" => client.args([
                "-connect",
                "api.openai.com:443",
                "-verify_hostname",
                "api.openai.com",
            ]),
            _ => client.args(["-verify_ip", "127.0.0.1"]),
        };
        let ended = finish(&mut client, b"Q\n");
        assert!(
            ended.stdout.contains("Verify return code: 0 (ok)"),
            "{}{}",
            ended.stdout,
            ended.stderr
        );
        assert!(ended.stdout.contains("Verification: OK"), "{}", ended.stdout);
    }
    server.stop();
}

#[test]
fn key_of_the_authority_is_in_no_file_and_only_the_user_enters_its_folder() {
    let scene = Scene::new();
    let temporary = scene.path("tmp");
    std::fs::create_dir(&temporary).unwrap();
    record(&scene, &["--intercept"], &[DIRECT]).expect(0);
    let listing = "ls -ld \"$(dirname \"$SSL_CERT_FILE\")\"; ls \"$(dirname \"$SSL_CERT_FILE\")\"; \
                   grep -rl 'PRIVATE KEY' \"$TMPDIR\" . ; true";
    let mut args = scene.replay_args(&["--intercept", "--allow-empty", "--log", "trace", "-v"]);
    args.extend(["--journal", "journal.jsonl", "--", "sh", "-c", listing].map(Into::into));
    let ended = finish(command(scene.dir(), &args).env("TMPDIR", &temporary), b"").expect(0);
    assert!(ended.stdout.starts_with("drwx------"), "{}", ended.stdout);
    let files: Vec<&str> = ended.stdout.lines().skip(1).collect();
    assert_eq!(files, ["bundle.pem", "ca.pem"], "{}", ended.stdout);
    assert!(!ended.stderr.contains("PRIVATE"), "{}", ended.stderr);
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0);
    let server = scene.replay(&["--intercept"]);
    assert!(is_in_files(scene.dir(), b"BEGIN CERTIFICATE"));
    assert!(!is_in_files(scene.dir(), b"PRIVATE KEY"));
    server.stop();
}

#[test]
fn authority_of_the_user_signs_if_nobody_else_can_read_its_key() {
    let scene = Scene::new();
    record(&scene, &["--intercept"], &[DIRECT]).expect(0);
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let certificate = params.self_signed(&key).unwrap().pem();
    let path = |name: &str| scene.path(name).display().to_string();
    let (cert, key_path) = (path("mine.pem"), path("mine-key.pem"));
    std::fs::write(&cert, &certificate).unwrap();
    std::fs::write(&key_path, key.serialize_pem()).unwrap();
    let flags = ["--strict", "--intercept", "--tls-cert", &cert, "--tls-key", &key_path];
    let mode = |mode| {
        std::fs::set_permissions(&key_path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(0o644);
    replay(&scene, &flags, &[DIRECT]).expect(2).says(&["--tls-key: others can read", "chmod 600"]);
    mode(0o600);
    replay(&scene, &flags, &[DIRECT]).expect(0).says(&["1 served"]);
    // Only the user's authority is added to what the program trusts.
    let mut args = scene.replay_args(&flags[1..]);
    args.extend(["--allow-empty", "--", "sh", "-c", "cat $NODE_EXTRA_CA_CERTS"].map(Into::into));
    let ended = finish(&mut command(scene.dir(), &args), b"").expect(0);
    assert_eq!(ended.stdout, certificate);
    params.not_after = rcgen::date_time_ymd(2020, 1, 1);
    std::fs::write(&cert, params.self_signed(&key).unwrap().pem()).unwrap();
    let says = ["--tls-cert", "is not valid now: it is valid until 2020-01-01"];
    replay(&scene, &flags, &[DIRECT]).expect(2).says(&says);
}

#[test]
fn printed_variables_name_the_files_that_a_server_at_that_port_writes() {
    let scene = Scene::new();
    record(&scene, &[], &[BASED]).expect(0);
    let printed =
        finish(&mut command(scene.dir(), &scene.replay_args(&["--intercept", "--print-env"])), b"");
    let printed = printed.expect(0).stdout;
    let folder = scene.path(".local/state/loomrec/authority/4141");
    for line in [
        "export HTTPS_PROXY='http://127.0.0.1:4141'".to_owned(),
        format!("export SSL_CERT_FILE='{}'", folder.join("bundle.pem").display()),
        format!("export NODE_EXTRA_CA_CERTS='{}'", folder.join("ca.pem").display()),
    ] {
        assert!(printed.lines().any(|printed| printed == line), "{line}\n{printed}");
    }
}

#[test]
fn file_of_the_environment_that_cannot_be_read_ends_the_run_before_the_command() {
    let scene = Scene::new();
    record(&scene, &[], &[BASED]).expect(0);
    for name in ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"] {
        let mut command = replaying(&scene, &["--intercept"], &[BASED]);
        let ended = finish(command.env(name, "/nowhere/ca.pem"), b"");
        assert_ne!(ended.code, 0);
        let ended = ended.says(&["--intercept", name]);
        assert!(ended.stdout.is_empty(), "{}", ended.stdout);
    }
}
