//! The check of the languages on this machine: whether their clients come through a base URL, through
//! the proxy of `--intercept`, or by neither.

use tokio::task::JoinSet;

use super::client_probe::{uses_proxy, version_of};
use super::finding::DoctorFinding;

/// A program that makes calls, or runs programs that do.
struct CheckedClient {
    /// Its names, the usual one first.
    programs: &'static [&'static str],
    /// The flag that prints its version.
    version: &'static str,
    /// What gives its clients a base URL.
    base_url: &'static str,
    /// Whether its clients use the proxy of their environment.
    proxy: ProxyKnowledge,
    /// What to do if they do not.
    remedy: &'static str,
}

/// What is known of clients and a proxy.
enum ProxyKnowledge {
    /// A program with these arguments shows it.
    Probed(&'static [&'static str]),
    /// They always use it, and trust what `SSL_CERT_FILE` names.
    Always,
    /// They use it only if the program says so.
    OnlyIfTold,
}

/// The known clients. The host that a probe calls has no address (RFC 2606).
const CLIENTS: [CheckedClient; 6] = [
    CheckedClient {
        programs: &["python3", "python"],
        version: "--version",
        base_url: "its SDKs read a base URL from the environment",
        proxy: ProxyKnowledge::Probed(&[
            // Without modules of this folder.
            "-I",
            "-c",
            "import urllib.request as r; r.urlopen('https://loomrec.invalid/', timeout=9)",
        ]),
        remedy: "give its clients a base URL, or let them read HTTPS_PROXY",
    },
    CheckedClient {
        programs: &["node"],
        version: "--version",
        base_url: "its SDKs read a base URL from the environment",
        proxy: ProxyKnowledge::Probed(&["-e", "fetch('https://loomrec.invalid/').catch(() => {})"]),
        remedy: "for --intercept, use Node 22.21, 24 or later",
    },
    CheckedClient {
        programs: &["curl"],
        version: "--version",
        base_url: "call $LOOMREC_URL/openai/v1/…",
        proxy: ProxyKnowledge::Probed(&["-s", "-m", "9", "https://loomrec.invalid/"]),
        remedy: "remove `noproxy` from its .curlrc",
    },
    CheckedClient {
        programs: &["java"],
        version: "-version",
        base_url: "give its clients LOOMREC_URL as a base URL",
        proxy: ProxyKnowledge::OnlyIfTold,
        remedy: "for --intercept, its program sets the proxy and the authorities: docs/reach.md",
    },
    CheckedClient {
        programs: &["go"],
        version: "version",
        base_url: "give its clients LOOMREC_URL as a base URL",
        proxy: ProxyKnowledge::Always,
        remedy: "",
    },
    CheckedClient {
        programs: &["ruby"],
        version: "--version",
        base_url: "give its clients LOOMREC_URL as a base URL",
        proxy: ProxyKnowledge::Probed(&[
            "-rnet/http",
            "-e",
            "Net::HTTP.get(URI('https://loomrec.invalid/'))",
        ]),
        remedy: "give its clients a base URL",
    },
];

/// Reports each language that is on this machine.
pub(super) async fn report_languages(findings: &mut Vec<DoctorFinding>) {
    let mut checks = JoinSet::new();
    for (place, client) in CLIENTS.iter().enumerate() {
        checks.spawn(async move { (place, client.check().await) });
    }
    let mut found = checks.join_all().await;
    found.sort_by_key(|(place, _)| *place);
    findings.extend(found.into_iter().filter_map(|(_, finding)| finding));
}

impl CheckedClient {
    /// Returns what is found of it; `None` if it is not on this machine.
    async fn check(&self) -> Option<DoctorFinding> {
        for program in self.programs {
            if let Some(version) = version_of(program, self.version).await {
                return Some(self.proxy_finding(program, &version).await);
            }
        }
        None
    }

    async fn proxy_finding(&self, program: &str, version: &str) -> DoctorFinding {
        let uses_proxy = match self.proxy {
            ProxyKnowledge::Always => Some(true),
            ProxyKnowledge::OnlyIfTold => Some(false),
            ProxyKnowledge::Probed(arguments) => uses_proxy(program, arguments).await,
        };
        let about = format!("{program} ({version})");
        match uses_proxy {
            Some(true) => {
                let text = format!("{}; --intercept reaches the rest", self.base_url);
                DoctorFinding::fine(about, text)
            }
            Some(false) => {
                let text = format!("{}; it ignores the proxy of --intercept", self.base_url);
                DoctorFinding::warning(about, text, self.remedy)
            }
            None => {
                let text = format!("{}; a call through a proxy did not end in 10 s", self.base_url);
                DoctorFinding::warning(about, text, self.remedy)
            }
        }
    }
}
