//! Tests of what clients make of a refusal: they give up at once, also those that try again after an
//! answer of a server that fails. Those of the SDK tests are used if they are installed.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::{receipt, recorded, replaying};
use crate::support::Scene;
use crate::support::chance::skipped;
use crate::support::loomrec::finish;

/// The host of a provider, and one that does not exist.
const REFUSED: &str = "api.openai.com";
const DEAD: &str = "nowhere.invalid";

/// A client that tries again after 429, 502, 503 and 504, as exporters of telemetry do.
const AGENT: &str = r#"
const https = require('node:https');
const { HttpsProxyAgent } = require('https-proxy-agent');
const agent = new HttpsProxyAgent(process.env.HTTPS_PROXY);
const once = (url) => new Promise((resolve) => {
  const request = https.get(url, { agent }, (answer) => resolve(answer.resume().statusCode));
  request.on('error', (error) => resolve(error.code));
});
(async () => {
  for (const url of process.argv.slice(1)) {
    for (let tries = 0; tries < 5; tries++) {
      const status = await once(url);
      console.log(url, status);
      if (![429, 502, 503, 504].includes(status)) break;
    }
  }
})();
"#;

/// A client of Google's SDK, with its retries.
const GAXIOS: &str = r#"
const { request } = require('gaxios');
(async () => {
  for (const url of process.argv.slice(1)) {
    await request({ url, retry: true, retryConfig: { retryDelay: 1 } }).catch((error) => console.log(url, error.status));
  }
})();
"#;

/// Node's own client with its retries, through a proxy.
const UNDICI: &str = r#"
const { EnvHttpProxyAgent, RetryAgent, fetch } = require('undici');
const dispatcher = new RetryAgent(new EnvHttpProxyAgent(), { minTimeout: 1, maxRetries: 5 });
(async () => {
  for (const url of process.argv.slice(1)) {
    await fetch(url, { dispatcher }).catch((error) => console.log(url, error.cause?.code));
  }
})();
"#;

const REQUESTS: &str = "
import requests, sys
for url in sys.argv[1:]:
    try: requests.get(url)
    except requests.exceptions.ProxyError as error: print(url, error)
";

const HTTPX: &str = "
import httpx, sys
for url in sys.argv[1:]:
    try: httpx.get(url)
    except httpx.ProxyError as error: print(url, error)
";

const AIOHTTP: &str = "
import aiohttp, asyncio, sys
async def get():
    async with aiohttp.ClientSession(trust_env=True) as session:
        for url in sys.argv[1:]:
            try: await session.get(url)
            except aiohttp.ClientHttpProxyError as error: print(url, error.status)
asyncio.run(get())
";

const URLLIB: &str = "
import sys, urllib.request
for url in sys.argv[1:]:
    try: urllib.request.urlopen(url)
    except OSError as error: print(url, error)
";

/// Runs a client with both addresses in a replay, and checks that it asked once for each.
fn gives_up_at_once(scene: &Scene, name: &str, words: &[&str]) {
    let urls = [REFUSED, DEAD].map(|host| format!("https://{host}/v1/traces"));
    let words = [words, &[urls[0].as_str(), urls[1].as_str()]].concat();
    let mut replay = replaying(scene, &["--strict", "--allow-empty"], &words);
    let ended = finish(&mut replay, b"");
    assert_ne!(ended.code, 0, "{name}: {}", ended.stderr);
    let receipt = receipt(scene);
    let once = |host: &str| json!([{ "host": host, "count": 1 }]);
    assert_eq!(receipt["escapes"], once(REFUSED), "{name}: {}", ended.stdout);
    assert_eq!(receipt["passed_hosts"], once(DEAD), "{name}: {}", ended.stdout);
}

/// A folder with packages of the SDK tests. `None` if they are not installed.
fn installed(place: &str, name: &str) -> Option<PathBuf> {
    let found = Path::new(env!("CARGO_MANIFEST_DIR")).join(".cache/sdk").join(place);
    if !found.exists() {
        skipped(name, "tests/sdk/run --install installs it");
        return None;
    }
    Some(found)
}

#[test]
fn clients_on_every_machine_give_up_at_once() {
    let scene = recorded();
    gives_up_at_once(&scene, "urllib", &["python3", "-c", URLLIB]);
    let curl = ["curl", "-sS", "--retry", "5", "--retry-delay", "1"];
    gives_up_at_once(&scene, "curl", &curl);
}

#[test]
fn clients_of_node_give_up_at_once_with_their_retries() {
    let scene = recorded();
    for (package, script) in [("https-proxy-agent", AGENT), ("gaxios", GAXIOS), ("undici", UNDICI)]
    {
        let place = format!("node/node_modules/{package}");
        let Some(folder) = installed(&place, package) else { continue };
        let script = script
            .replace(&format!("require('{package}')"), &format!("require('{}')", folder.display()));
        gives_up_at_once(&scene, package, &["node", "-e", &script]);
    }
}

#[test]
fn clients_of_python_give_up_at_once() {
    let scene = recorded();
    for (package, script) in [("requests", REQUESTS), ("httpx", HTTPX), ("aiohttp", AIOHTTP)] {
        let Some(python) = installed("python/venv/bin/python", package) else { continue };
        gives_up_at_once(&scene, package, &[python.to_str().unwrap(), "-c", script]);
    }
}
