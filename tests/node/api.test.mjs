// The Node API: a server, its sessions, and what they tell.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { home, run, Upstream } from './harness.mjs';

const inside = createRequire(path.join(home, 'current/package.json'));
const { LoomrecClient, LoomrecError, startServer } = inside('@loomrec/cli');
const { default: OpenAI } = inside('openai');
const folder = path.join(home, 'work', `api-${process.pid}`);
const template = path.join(folder, 'recordings/{session}.json');
let upstream;

before(async () => {
  fs.mkdirSync(folder, { recursive: true });
  upstream = await Upstream.start();
});
after(async () => {
  await upstream.stop();
  fs.rmSync(folder, { recursive: true, force: true });
});

/** Asks with a client that reads the variables of a prefix. */
async function ask(server, prefix, prompt) {
  const { OPENAI_BASE_URL: baseURL } = await server.environment(prefix);
  const client = new OpenAI({ baseURL, apiKey: 'sk-none' });
  const answer = await client.chat.completions.create({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: prompt }] });
  return answer.choices[0].message.content;
}

async function withServer(options, use) {
  const server = await startServer({ recording: template, cwd: folder, ...options });
  try {
    return await use(server);
  } finally {
    await server.stop();
  }
}

test('a session is recorded, kept, and replayed', async () => {
  await withServer({ command: 'record', args: ['--upstream', `openai=${upstream.url}`] }, async (server) => {
    const session = await server.begin({ prefix: 'one', name: 'first', recording: 'first.json' });
    assert.equal(session.exists, false);
    assert.equal(session.url, `${server.url}/@one`);
    assert.match(await ask(server, 'one', 'Hello?'), /Hello\?/);
    assert.equal((await session.show()).recorded, 1);
    assert.equal((await server.sessions()).open.length, 1);
    const result = await session.end();
    assert.equal(result.kept, true);
    assert.equal(result.calls[0].outcome, 'recorded');
    assert.ok(result.usage.input > 0 && result.cost > 0);
  });
  await withServer({}, async (server) => {
    // A program that is not the server's parent may begin sessions, too.
    const session = await new LoomrecClient(server.url).begin({ prefix: 'two', recording: 'first.json' });
    assert.equal(session.exists, true);
    assert.match(await ask(server, 'two', 'Hello?'), /Hello\?/);
    await assert.rejects(ask(server, 'two', 'Goodbye?'), /RecordingMismatchError/);
    const { served, missed, receipt } = await session.end();
    assert.deepEqual([served, missed, receipt.verdict], [1, 1, 'failed']);
  });
});

test('a session that is not kept leaves nothing', async () => {
  await withServer({ command: 'record', args: ['--upstream', `openai=${upstream.url}`] }, async (server) => {
    const session = await server.begin({ prefix: 'one', recording: 'discarded.json' });
    await ask(server, 'one', 'Hello?');
    assert.equal((await session.end({ keep: false })).kept, false);
  });
  assert.deepEqual(fs.readdirSync(path.join(folder, 'recordings')).filter((name) => name.startsWith('discarded')), []);
});

test('what the server refuses is an error with its status', async () => {
  await withServer({}, async (server) => {
    await server.begin({ prefix: 'one', recording: 'first.json' });
    const refused = (status) => (error) => error instanceof LoomrecError && error.status === status;
    await assert.rejects(server.begin({ prefix: 'one', recording: 'first.json' }), refused(409));
    await assert.rejects(server.begin({ prefix: 'two', recording: 'first.json', mode: 'record' }), refused(403));
    await assert.rejects(server.begin({ prefix: 'two', recording: '../outside.json' }), refused(400));
    await assert.rejects(server.endSession('nobody'), refused(404));
    await assert.rejects(server.begin({ prefix: 'two', recordign: 'x.json' }), /unknown option recordign; did you mean recording\?/);
  });
});

test('values of the run can be added until the first call', async () => {
  await withServer({}, async (server) => {
    const session = await server.begin({ prefix: 'one', recording: 'first.json' });
    await session.addVars({ folder: '/tmp/some-folder' });
    await ask(server, 'one', 'Hello?');
    await assert.rejects(session.addVars({ folder: '/tmp/other' }), (error) => error.status === 409);
  });
});

test('a server that does not start says why', async () => {
  await assert.rejects(startServer({ recording: template, args: ['--no-such-flag'] }), /did not start:[^]*no-such-flag/);
  await assert.rejects(startServer({ binary: '/no/such/binary', recording: template }), /did not start:[^]*ENOENT/);
});

test('a settings file that changes the messages does not keep a server from starting', async () => {
  for (const setting of ['quiet = true', 'log-format = "json"']) {
    fs.writeFileSync(path.join(folder, 'loomrec.toml'), `${setting}\n`);
    await withServer({ command: 'record' }, async (server) => assert.match(server.url, /^http:/));
  }
  fs.rmSync(path.join(folder, 'loomrec.toml'));
});

test('settings that are not trusted are granted by the variable that the refusal names', async () => {
  fs.writeFileSync(path.join(folder, 'loomrec.toml'), 'redact = ["CUST-[0-9]+"]\n[upstreams]\nopenai = "http://127.0.0.1:9"\n');
  const { message } = await startServer({ recording: template, cwd: folder }).catch((error) => error);
  const [, grant] = message.match(/LOOMREC_TRUST=([0-9a-f]+)/) ?? assert.fail(message);
  await withServer({ env: { ...process.env, LOOMREC_TRUST: grant } }, async (server) => assert.match(server.url, /^http:/));
  fs.rmSync(path.join(folder, 'loomrec.toml'));
});

for (const [how, code] of [['exits', 'process.exit(0)'], ['is killed', "process.kill(process.pid, 'SIGKILL')"]]) {
  test(`a server ends when the program that started it ${how}`, async () => {
    const script = `require('@loomrec/cli').startServer({ recording: ${JSON.stringify(template)} })
      .then((server) => process.stdout.write(server.url + '\\n', () => ${code}))`;
    const { output } = await run(process.execPath, ['-e', script], { cwd: path.join(home, 'current') });
    const [url] = output.match(/http:\S+/);
    for (let tries = 0; await fetch(`${url}/__loomrec/live`).then(() => true, () => false); tries += 1) {
      assert.ok(tries < 100, 'the server still runs');
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  });
}
