//! The files by which programs trust the authority of a run: its certificate, and a bundle with the
//! authorities that they trust anyway. Its key is in no file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::exit::{CommandFailure, UNEXPECTED, UNUSABLE};
use super::user_folder::UserFolder;
use loomrec_engine::upstream::root_certificates;
use loomrec_proxy::server::{CertificateAuthority, certificate_pem, read_certificates};

/// The variables that name one file of authorities to trust instead of all others.
const REPLACING: [&str; 6] = [
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "AWS_CA_BUNDLE",
    "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
];
/// Such variables of single programs. They are set only if the user has them: without them, these
/// programs read one of the others.
const REPLACING_IF_SET: [&str; 6] = [
    "PIP_CERT",
    "HTTPLIB2_CA_CERTS",
    "NIX_SSL_CERT_FILE",
    "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE",
    "CARGO_HTTP_CAINFO",
    "CODEX_CA_CERTIFICATE",
];
/// The variables that name authorities to trust besides those of the program.
const ADDING: [&str; 2] = ["NODE_EXTRA_CA_CERTS", "DENO_CERT"];
/// The variables without which clients ignore that they have a proxy.
const USING_PROXY: [(&str, &str); 2] = [("NODE_USE_ENV_PROXY", "1"), ("AIOHTTP_TRUST_ENV", "True")];

/// The most bytes of a file of certificates.
const LARGEST: u64 = 16 << 20;

/// The files by which programs trust the authority of a run.
#[derive(Debug)]
pub struct AuthorityFiles {
    paths: AuthorityPaths,
    /// The folder of a run with CMD, which is removed with this.
    _folder: Option<TempDir>,
}

/// Where these files are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthorityPaths {
    /// The authority, after those that the user's environment adds.
    pub certificate: PathBuf,
    /// All authorities to trust.
    pub bundle: PathBuf,
}

impl AuthorityPaths {
    fn in_folder(folder: &Path) -> Self {
        Self { certificate: folder.join("ca.pem"), bundle: folder.join("bundle.pem") }
    }

    /// Returns the paths for a server without CMD at this port. They are the same for each run, so
    /// that programs can be started before it.
    ///
    /// # Errors
    /// A user without a folder.
    pub fn of_server(port: u16) -> Result<Self, CommandFailure> {
        let folder = UserFolder::STATE.private_path().ok_or_else(|| {
            CommandFailure::new(
                UNUSABLE,
                "--intercept: there is no folder for the certificate: set HOME or LOOMREC_STATE",
            )
        })?;
        Ok(Self::in_folder(&folder.join("authority").join(port.to_string())))
    }

    /// Returns the variables that have programs trust the authority, and use the proxy at `proxy`.
    /// `current` is the user's environment.
    pub fn proxy_variables(
        &self,
        proxy: &str,
        current: &BTreeMap<String, String>,
    ) -> Vec<(String, String)> {
        let bundle = self.bundle.display().to_string();
        let certificate = self.certificate.display().to_string();
        let if_set = REPLACING_IF_SET.into_iter().filter(|name| current.contains_key(*name));
        let replacing = REPLACING.into_iter().chain(if_set).map(|name| (name, bundle.clone()));
        let adding = ADDING.map(|name| (name, certificate.clone()));
        let using = USING_PROXY.map(|(name, value)| (name, value.to_owned()));
        let proxies = ["HTTPS_PROXY", "https_proxy"].map(|name| (name, proxy.to_owned()));
        let all = proxies.into_iter().chain(using).chain(adding).chain(replacing);
        all.map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

impl AuthorityFiles {
    /// Writes the files for CMD, into a folder that only the user may enter and that is removed at
    /// the end.
    ///
    /// # Errors
    /// A file that cannot be written or read.
    pub fn for_command(
        authority: &CertificateAuthority,
        current: &BTreeMap<String, String>,
    ) -> Result<Self, CommandFailure> {
        let folder = tempfile::Builder::new().prefix("loomrec-authority-").tempdir();
        let folder = folder.map_err(|error| write_failure(&std::env::temp_dir(), &error))?;
        let private = folder.path().join("tls");
        let created = loomrec_os::create_private_folder(&private);
        created.map_err(|error| write_failure(&private, &error))?;
        let paths = AuthorityPaths::in_folder(&private);
        write(&paths, authority, current)?;
        Ok(Self { paths, _folder: Some(folder) })
    }

    /// Writes the files for a server without CMD at this port.
    ///
    /// # Errors
    /// A file that cannot be written or read.
    pub fn for_server(
        authority: &CertificateAuthority,
        current: &BTreeMap<String, String>,
        port: u16,
    ) -> Result<Self, CommandFailure> {
        let paths = AuthorityPaths::of_server(port)?;
        if let Some(folder) = paths.certificate.parent() {
            loomrec_os::create_private_folder(folder)
                .map_err(|error| write_failure(folder, &error))?;
        }
        write(&paths, authority, current)?;
        Ok(Self { paths, _folder: None })
    }

    /// Returns where they are.
    pub fn paths(&self) -> &AuthorityPaths {
        &self.paths
    }
}

fn write(
    paths: &AuthorityPaths,
    authority: &CertificateAuthority,
    current: &BTreeMap<String, String>,
) -> Result<(), CommandFailure> {
    let own: String = authority.trusted_certificates().iter().map(certificate_pem).collect();
    let added = named_certificates(&ADDING, current)?;
    let roots = root_certificates().map_err(|error| {
        CommandFailure::new(UNUSABLE, format!("--intercept: failed to {error}"))
    })?;
    let mut all: BTreeSet<String> = roots.iter().map(certificate_pem).collect();
    // The first is among the roots already.
    all.extend(named_certificates(&REPLACING[1..], current)?);
    all.extend(named_certificates(&REPLACING_IF_SET, current)?);
    all.extend(added.iter().cloned());
    let text = |certificates: BTreeSet<String>| {
        certificates.into_iter().chain([own.clone()]).collect::<String>()
    };
    for (path, text) in [(&paths.certificate, text(added)), (&paths.bundle, text(all))] {
        replace_file(path, &text).map_err(|error| write_failure(path, &error))?;
    }
    Ok(())
}

/// Returns the certificates in the files that these variables of the user name, as PEM.
fn named_certificates(
    names: &[&str],
    current: &BTreeMap<String, String>,
) -> Result<BTreeSet<String>, CommandFailure> {
    let mut found = BTreeSet::new();
    for name in names {
        let Some(path) = current.get(*name).filter(|path| !path.is_empty()) else { continue };
        let refused = |why: String| {
            CommandFailure::new(UNUSABLE, format!("--intercept: {name}: {path} {why}"))
        };
        let read = loomrec_os::read_input(Path::new(path), LARGEST);
        let text = read.map_err(|error| refused(format!("cannot be read: {error}")))?;
        let certificates = read_certificates(&text).map_err(|error| refused(error.to_string()))?;
        found.extend(certificates.iter().map(certificate_pem));
    }
    Ok(found)
}

/// Writes a file anew, so that no program reads a half of it.
fn replace_file(path: &Path, text: &str) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    std::io::Write::write_all(&mut file, text.as_bytes())?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

fn write_failure(path: &Path, error: &std::io::Error) -> CommandFailure {
    let text = format!("--intercept: failed to write {}: {error}", path.display());
    CommandFailure::new(UNEXPECTED, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(names: &[(&str, &Path)]) -> BTreeMap<String, String> {
        let text = |(name, path): &(&str, &Path)| ((*name).to_owned(), path.display().to_string());
        names.iter().map(text).collect()
    }

    #[test]
    fn bundle_has_what_the_environment_names_and_the_folder_goes_with_the_run() {
        let authority = CertificateAuthority::for_this_run().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let other = |name: &str| {
            let other = CertificateAuthority::for_this_run().unwrap();
            let (path, text) =
                (folder.path().join(name), certificate_pem(&other.trusted_certificates()[0]));
            std::fs::write(&path, &text).unwrap();
            (path, text)
        };
        let ((extra, extra_text), (requests, requests_text)) = (other("extra"), other("requests"));
        let current =
            environment(&[("NODE_EXTRA_CA_CERTS", &extra), ("REQUESTS_CA_BUNDLE", &requests)]);
        let files = AuthorityFiles::for_command(&authority, &current).unwrap();
        let own = certificate_pem(&authority.trusted_certificates()[0]);
        let read = |path: &Path| std::fs::read_to_string(path).unwrap();
        assert_eq!(read(&files.paths().certificate), format!("{extra_text}{own}"));
        let bundle = read(&files.paths().bundle);
        for text in [&extra_text, &requests_text, &own] {
            assert_eq!(bundle.matches(text.as_str()).count(), 1);
        }
        assert!(!bundle.contains("PRIVATE KEY"));
        let paths = files.paths().clone();
        drop(files);
        assert!(!paths.bundle.exists() && !paths.bundle.parent().unwrap().exists());
    }

    #[test]
    fn file_of_the_environment_that_holds_no_certificate_is_an_error_that_names_its_variable() {
        let authority = CertificateAuthority::for_this_run().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let (absent, empty) = (folder.path().join("absent"), folder.path().join("empty"));
        std::fs::write(&empty, "no certificate").unwrap();
        for (name, path) in [("CURL_CA_BUNDLE", absent), ("DENO_CERT", empty)] {
            let current = environment(&[(name, &path)]);
            let failure = AuthorityFiles::for_command(&authority, &current).unwrap_err();
            assert!(failure.message.contains(name), "{}", failure.message);
        }
    }

    #[test]
    fn variables_replace_what_is_set_and_never_weaken_verification() {
        let paths = AuthorityPaths::in_folder(Path::new("/a"));
        let current = environment(&[("PIP_CERT", Path::new("/mine"))]);
        let variables: BTreeMap<_, _> =
            paths.proxy_variables("http://127.0.0.1:1", &current).into_iter().collect();
        assert_eq!(variables["PIP_CERT"], "/a/bundle.pem");
        assert_eq!(variables["NODE_EXTRA_CA_CERTS"], "/a/ca.pem");
        assert_eq!(variables["SSL_CERT_FILE"], "/a/bundle.pem");
        assert_eq!(variables["https_proxy"], "http://127.0.0.1:1");
        for name in ["CARGO_HTTP_CAINFO", "HTTP_PROXY", "NODE_TLS_REJECT_UNAUTHORIZED"] {
            assert!(!variables.contains_key(name), "{name}");
        }
    }
}
