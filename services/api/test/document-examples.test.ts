import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { launcherConfig } from '@gateway/scripts/config';
import { ROOT } from '@gateway/scripts/paths';
import { type Simulator, startSimulator } from '@gateway/simulator/start-simulator';
import { createApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import { eventually } from '@gateway/testkit/eventually';
import { Gateway } from '@gateway/testkit/gateway';
import { readDeliveries, readFileOnPhone } from '@gateway/testkit/phones';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { makePdf } from '@gateway/testkit/sample-files';
import { expect } from 'chai';

const ACCOUNT = '491700000023';
const execute = promisify(execFile);
const document = ['README.md', 'docs/api.md'].map((name) => readFileSync(join(ROOT, name), 'utf8')).join('\n');
const blocksOf = (language: string) =>
  [...document.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\``, 'gm'))].map(([, code]) => code!);
/** Each with its lines joined, as a shell reads them. */
const commands = blocksOf('sh')
  .flatMap((code) => code.replaceAll('\\\n', ' ').split('\n'))
  .filter((line) => line.includes('curl'));
const programs = blocksOf('js').filter((code) => code.includes('fetch('));

describe('the examples of README.md and docs/api.md', () => {
  let space: RedisSpace;
  let simulator: Simulator;
  let gateway: Gateway;
  let folder: string;
  let environment: Record<string, string>;
  const run: string[] = [];

  before(async () => {
    [space, simulator] = await Promise.all([openRedisSpace(), startSimulator()]);
    gateway = await Gateway.start({ space, simulator, inOneProcess: true, env: { WEBHOOK_NETWORKS: '127.0.0.1/32' } });
    folder = mkdtempSync(join(tmpdir(), 'readme-'));
    // What is asked of curl beyond the example: no progress, and the status behind the body.
    writeFileSync(join(folder, '.curlrc'), 'silent\nshow-error\nwrite-out = "\\n%{http_code}"\n');
    writeFileSync(join(folder, 'offer.pdf'), makePdf());
    const { value: token } = await createApiToken(space.store, 'main', { name: 'my-app' });
    const tokenFor = async (scope: 'events' | 'webhooks') =>
      (await createApiToken(space.store, 'main', { name: scope, scopes: [scope] })).value;
    const [LISTENER, HOOKS] = await Promise.all([tokenFor('events'), tokenFor('webhooks')]);
    environment = { CURL_HOME: folder, BASE: gateway.baseUrl, TOKEN: token, LISTENER, HOOKS };
  });
  after(async () => {
    rmSync(folder, { recursive: true });
    await gateway.close();
    await simulator.close();
    await space.close();
  });

  const start = async (program: string, args: string[]): Promise<string> =>
    (await execute(program, args, { cwd: folder, env: { ...launcherConfig.environment, ...environment } })).stdout;
  /** Runs the one command that matches, just as it is written. */
  async function curl(matches: RegExp): Promise<{ status: number; body: Record<string, unknown> }> {
    const found = commands.filter((command) => matches.test(command));
    expect(found, String(matches)).to.have.length(1);
    run.push(found[0]!);
    // No request of a test leaves this machine.
    const [body, status] = (await start('sh', ['-c', found[0]!.replace('example.com', '127.0.0.1:1')])).split('\n');
    return { status: Number(status), body: body ? JSON.parse(body) : {} };
  }
  /** As often as the network wants: the second code is there a moment after the first scan. */
  async function linkAsWritten(): Promise<void> {
    const lines = commands.filter((command) => command.includes('scan-qr') || command.startsWith('QR='));
    const script = lines
      .join('\n')
      .replace('http://127.0.0.1:3000/api/messenger/v1', gateway.baseUrl)
      .replace('http://127.0.0.1:3020', simulator.adminUrl);
    await eventually(async () => (await start('sh', ['-c', script])).endsWith('\n200'), { everyMs: 500 });
    await gateway.waitForStatus('connected');
    run.push(...lines);
  }
  const shownTo = (number: string, type: string) =>
    eventually(async () => {
      const all = await readDeliveries(simulator, ACCOUNT);
      return all.find((message) => message.to === number && message.type === type && message.shown > 0);
    });

  it('link an account and tell its status', async () => {
    const { status, body } = await curl(/-X POST .*\/connect"/);
    expect(status, JSON.stringify(body)).to.equal(200);
    expect(body.qrCode).to.match(/^data:image\/png;base64,/);
    await linkAsWritten();
    expect((await curl(/\/status"/)).body).to.include({ success: true, status: 'connected', phone: ACCOUNT });
  });

  it('hear what happens, and fetch a file that came', async () => {
    environment.CURSOR = String((await curl(/LISTENER" "\$BASE\/events"/)).body.nextCursor);
    const draft = { to: ACCOUNT, text: 'Look', image: { base64: makePdf().toString('base64') } };
    const url = `${simulator.adminUrl}/admin/phones/447700900129/messages`;
    await fetch(url, { method: 'POST', body: JSON.stringify(draft) });
    const heard = (await curl(/after=\$CURSOR/)).body.events as { type: string }[];
    expect(heard.map(({ type }) => type)).to.deep.equal(['message.received']);
    const [first] = (await curl(/after=0/)).body.events as {
      id: string;
      data: { content: { media: { id: string } } };
    }[];
    environment.EVENT_ID = first!.id;
    expect((await curl(/EVENT_ID/)).body.event).to.deep.equal(first);
    environment.MEDIA_ID = first!.data.content.media.id;
    const before = readdirSync(folder);
    expect((await curl(/\/media\//)).status).to.equal(200);
    const [file] = readdirSync(folder).filter((name) => !before.includes(name));
    expect(readFileSync(join(folder, file!)).equals(makePdf())).to.equal(true);
  });

  it('send, show and cancel', async () => {
    const { status, body } = await curl(/\/send"/);
    expect([status, body.recipients], JSON.stringify(body)).to.deep.equal([202, 2]);
    environment.MESSAGE_ID = String(body.messageId);
    expect((await shownTo('447700900123', 'text')).text).to.equal('Hello');
    const shown = await curl(/Bearer \$TOKEN" "\$BASE\/messages\/\$/);
    expect(shown.status).to.equal(200);
    expect(shown.body).to.include({ messageId: body.messageId });
    expect((await curl(/-X DELETE/)).status).to.equal(200);
    const failed = await curl(/\/messages\?status=failed"/);
    expect([failed.status, failed.body.messages]).to.deep.equal([200, []]);
    const otp = await curl(/\/otp"/);
    expect(otp.status, JSON.stringify(otp.body)).to.equal(200);
    expect(otp.body.data).to.include({ code: '482913' });
  });

  it('list the devices', async () => {
    const { status, body } = await curl(/\/devices"/);
    expect([status, (body.devices as object[]).length], JSON.stringify(body)).to.deep.equal([200, 1]);
  });

  it('keep messages from people who want none', async () => {
    expect((await curl(/-d .*\/opt-outs"/)).body).to.include({ success: true, added: 1 });
    const { body } = await curl(/Bearer \$TOKEN" "\$BASE\/opt-outs/);
    expect(body.optOuts).to.have.length(1);
    expect((body.optOuts as object[])[0]).to.include({ phone: '447700900125', source: 'api' });
  });

  it('tell who is on the messenger', async () => {
    const { status, body } = await curl(/\/contacts\/check"/);
    expect([status, body.results]).to.deep.equal([
      200,
      [{ phone: '447700900126', onMessenger: true, optedOut: false, hasConversation: false }],
    ]);
  });

  it('make and test a webhook', async () => {
    const { status, body } = await curl(/\/webhooks"/);
    expect(status, JSON.stringify(body)).to.equal(201);
    environment.WEBHOOK_ID = /wh_[a-z0-9]+/.exec(JSON.stringify(body))![0];
    expect((await curl(/\/test"/)).body).to.include({ webhookStatus: 'unverified' });
    expect((await curl(/\/parked"/)).body).to.deep.include({ parked: [] });
    expect((await curl(/\/replay"/)).status).to.equal(202);
  });

  it('send a file with fetch, once', async () => {
    expect(programs).to.have.length(1);
    writeFileSync(join(folder, 'example.mjs'), programs[0]!);
    const first = await start(process.execPath, ['example.mjs']);
    expect(first).to.match(/^msg_\w+\n$/);
    expect(await start(process.execPath, ['example.mjs'])).to.equal(first);
    const shown = await shownTo('447700900123', 'document');
    expect(shown).to.include({ text: 'As promised' });
    expect(shown.details).to.include({ fileName: 'offer.pdf' });
    expect((await readFileOnPhone(simulator, shown)).equals(makePdf())).to.equal(true);
  });

  it('disconnect, and are all tried here', async () => {
    const { status, body } = await curl(/\/disconnect"/);
    expect([status, body.success], JSON.stringify(body)).to.deep.equal([200, true]);
    expect(run).to.have.members(commands);
  });
});
