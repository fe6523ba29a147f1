// Opens a page in Chromium, as CMD of a run with --intercept, and prints what the page saw.
//
// usage: open_page.mjs nss|strange|switch|context URL
//   nss      the listener is the proxy for https, and the authority is in the user's database
//   strange  the same without the authority
//   switch   Playwright's `proxy`, and a switch of Chromium that ignores certificates
//   context  Playwright's `proxy` and `ignoreHTTPSErrors`

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium, LAUNCH, LIMIT } from "./support.mjs";

const [trust, url] = process.argv.slice(2);
const home = mkdtempSync(join(tmpdir(), "loomrec-profile-"));

/** Makes the database of a home, and trusts the run's authority in it. */
function trustAuthority() {
  const folder = join(home, ".pki/nssdb");
  mkdirSync(folder, { recursive: true });
  const certutil = (args, input) => execFileSync("certutil", ["-d", `sql:${folder}`, ...args], { input });
  certutil(["-N", "--empty-password"]);
  // The file begins with those of the user's own.
  const [authority] = readFileSync(process.env.NODE_EXTRA_CA_CERTS, "utf8").match(/-----BEGIN.*?-----END [^\n]*\n/gs).slice(-1);
  certutil(["-A", "-a", "-t", "C,,", "-n", "loomrec"], authority);
}

/** A context of Chromium that trusts the run's authority in this way. */
async function opened() {
  const listener = process.env.LOOMREC_URL;
  const ignoring = trust === "switch" ? ["--ignore-certificate-errors"] : [];
  if (trust === "switch" || trust === "context") {
    // Playwright sends calls to this machine through the proxy as well.
    const proxy = { server: listener, bypass: "127.0.0.1" };
    const browser = await chromium.launch({ ...LAUNCH, args: [...LAUNCH.args, ...ignoring], proxy });
    return browser.newContext({ ignoreHTTPSErrors: trust === "context" });
  }
  if (trust === "nss") trustAuthority();
  const args = [...LAUNCH.args, `--proxy-server=https=${new URL(listener).host}`];
  return chromium.launchPersistentContext(join(home, "profile"), { ...LAUNCH, args, env: { ...process.env, HOME: home } });
}

try {
  const context = await opened();
  const page = await context.newPage();
  page.setDefaultTimeout(LIMIT);
  await page.goto(url);
  console.log(JSON.stringify(await page.evaluate(() => window.asked)));
  await (context.browser() ?? context).close();
} finally {
  rmSync(home, { recursive: true, force: true, maxRetries: 5 });
}
