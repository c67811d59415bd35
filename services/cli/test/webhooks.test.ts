import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { WebhookId } from '@gateway/contracts/webhooks/webhook';
import { listAudit } from '@gateway/store/console/audit';
import { createStore } from '@gateway/store/core/store';
import { claimDelivery, takeWebhook } from '@gateway/store/webhooks/delivering/deliveries';
import { recordAttempt } from '@gateway/store/webhooks/webhook-attempts';
import { readWebhook } from '@gateway/store/webhooks/webhooks';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { createActiveWebhook } from '@gateway/testkit/webhooks/create-webhook';
import { expect } from 'chai';
import { Webhook } from 'standardwebhooks';
import { runCli } from './support/run-cli.js';

describe('webhooks on the command line', () => {
  let space: RedisSpace;
  before(async () => {
    space = await openRedisSpace();
  });
  after(() => space.close());

  it('are made, tested, rotated, paused and deleted', async () => {
    const posted: { headers: Record<string, string>; body: Buffer }[] = [];
    const receiver = createServer(async (req, res) => {
      posted.push({ headers: req.headers as Record<string, string>, body: await buffer(req) });
      res.end();
    });
    await once(receiver.listen(0, '127.0.0.1'), 'listening');
    const env = { WEBHOOK_NETWORKS: '127.0.0.1/32' };
    const cli = async (args: string) => {
      const { stdout, stderr } = await runCli(space, [...args.split(' '), '--json'], { env });
      expect(stderr).to.equal('');
      return JSON.parse(stdout);
    };
    try {
      const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
      const { webhookId, secret } = await cli(`webhooks create ${url} --types send.finished,message.failed`);
      expect(await cli(`webhooks test ${webhookId}`)).to.include({ delivered: true, webhookStatus: 'active' });
      new Webhook(secret).verify(posted[0]!.body, posted[0]!.headers);
      expect((await cli(`webhooks rotate ${webhookId} --overlap 0`)).secret).to.match(/^whsec_/);
      expect(await cli(`webhooks pause ${webhookId}`)).to.include({ status: 'paused' });
      expect(await cli(`webhooks resume ${webhookId}`)).to.include({ status: 'active' });
      const later = '2026-01-02T00:00:00Z';
      // Each takes a process of its own: these change nothing.
      const [deliveries, parked, replayed, [listed, ...others], refused, backwards] = await Promise.all([
        cli(`webhooks deliveries ${webhookId}`),
        cli(`webhooks parked ${webhookId}`),
        cli(`webhooks replay ${webhookId} evt_1 evt_2`),
        cli('webhooks list'),
        runCli(space, ['webhooks', 'create', url]),
        runCli(space, ['webhooks', 'replay', webhookId, '--after', later, '--before', '2026-01-01T00:00:00Z']),
      ]);
      expect([deliveries.length, parked, others]).to.deep.equal([1, [], []]);
      expect(replayed).to.deep.equal({ webhookId, unknown: ['evt_1', 'evt_2'] });
      expect(listed).to.deep.include({ webhookId, url, types: ['send.finished', 'message.failed'] });
      const message = 'error: not a URL by https, or one in a network that is not allowed\n';
      expect([refused.code, refused.stderr]).to.deep.equal([1, message]);
      const order = 'error: --after must be earlier than --before, and than now\n';
      expect([backwards.code, backwards.stderr]).to.deep.equal([1, order]);
      expect((await cli(`webhooks replay ${webhookId} --after 2026-01-01T00:00:00Z`)).unknown).to.deep.equal([]);
      expect(await cli(`webhooks delete ${webhookId}`)).to.deep.equal({ deleted: webhookId });
      const done = (await listAudit(space.store)).map(({ action, target }) => [action, target]).reverse();
      const what = ['created', 'tested', 'secret_rotated', 'paused', 'resumed', 'replayed', 'replayed', 'deleted'];
      expect(done).to.deep.equal(what.map((each) => [`webhook.${each}`, webhookId]));
    } finally {
      receiver.close();
    }
  });

  const cli = async (...args: string[]) => {
    const { stdout, stderr } = await runCli(space, ['--json', 'webhooks', ...args]);
    expect(stderr).to.equal('');
    return JSON.parse(stdout);
  };

  it('are made and changed with all that the API has', async () => {
    const url = 'https://example.com/hook';
    const all = [
      ...['--header', 'Authorization: Bearer a:b', '--header', 'X-Shop: one', '--devices', 'phone-1,phone-2'],
      ...['--content', 'none', '--numbers', 'masked', '--gather-seconds', '5', '--order', 'strict'],
      ...['--concurrency', '3', '--description', 'ours', '--types', 'send.finished'],
    ];
    const made = await cli('create', url, '--signature', 'v1a', ...all);
    const settings = {
      ...{ description: 'ours', types: ['send.finished'], devices: ['phone-1', 'phone-2'], content: 'none' },
      ...{ numbers: 'masked', gatherSeconds: 5, order: 'strict', concurrency: 3 },
    };
    expect(made.secret).to.match(/^whpk_/);
    expect(made).to.deep.include({ ...settings, url, headers: ['Authorization', 'X-Shop'], status: 'unverified' });
    const { target } = (await readWebhook(space.store, 'main', made.webhookId))!;
    expect(target.headers).to.deep.equal({ Authorization: 'Bearer a:b', 'X-Shop': 'one' });
    const described = await cli('change', made.webhookId, '--description', '', '--all-devices');
    expect(described).to.deep.include({ ...settings, description: '', devices: null, url });
    const moved = await cli('change', made.webhookId, '--url', 'https://example.org/', '--no-headers', ...all.slice(6));
    expect(moved).to.deep.include({ ...settings, devices: null, url: 'https://example.org/', headers: [] });
    const [{ action, target: changed } = {}] = await listAudit(space.store);
    expect([action, changed]).to.deep.equal(['webhook.changed', made.webhookId]);
  });

  it('show what they were told and what they refuse, as much as is asked for, and go on behind it', async () => {
    const { webhookId } = await cli('create', 'https://example.com/hook');
    for (let n = 0; n < 25; n++) {
      const attempt = { webhookId: `evt_${n}`, atMs: n, tookMs: 1, status: 500, error: null, answer: '' };
      await recordAttempt(space.store, 'main', webhookId, { attempt });
    }
    const deliveries = async (...args: string[]) =>
      (await cli('deliveries', webhookId, ...args)).map(({ id }: { id: string }) => id);
    expect(await deliveries()).to.have.length(20);
    expect(await deliveries('--limit', '2')).to.deep.equal(['evt_24', 'evt_23']);
    expect(await deliveries('--limit', '200')).to.have.length(25);
    const at = new Date(24).toISOString();
    expect((await cli('deliveries', webhookId))[0], 'as the API has it').to.deep.equal({
      ...{ id: 'evt_24', at, tookMs: 1, delivered: false, status: 500, error: null, answer: '' },
    });
    expect(await cli('show', webhookId)).to.include({ reason: null, verifiedAt: null, rotatedUntil: null });
    await cli('rotate', webhookId);
    expect((await cli('show', webhookId)).rotatedUntil).to.be.a('string');
    await park(webhookId, 103);
    const parked = async (...args: string[]): Promise<{ id: string; cursor: string }[]> =>
      cli('parked', webhookId, ...args);
    const first = await parked();
    const rest = await parked('--after', first.at(-1)!.cursor);
    expect([first.length, rest.length]).to.deep.equal([100, 3]);
    expect(await parked('--limit', '103')).to.deep.equal([...first, ...rest]);
    expect(await parked('--after', rest.at(-1)!.cursor, '--limit', '1')).to.deep.equal([]);
    expect(first[0]).to.include({ id: 'evt_0', device: null, lastStatus: null, waiting: 0 });
    const { stdout } = await runCli(space, ['webhooks', 'parked', webhookId, '--limit', '2']);
    expect(stdout.trim().split('\n').at(-1)).to.equal(`... and more: --after ${first[1]!.cursor}`);
    for (const wrong of [
      ['parked', webhookId, '--after', 'x'],
      ['deliveries', webhookId, '--limit', '0'],
      ['replay', webhookId, '--after', '2026-02-30T00:00:00Z'],
      ['replay', webhookId, 'evt_0', '--before', '2026-01-01T00:00:00Z'],
    ]) {
      expect((await runCli(space, ['webhooks', ...wrong])).code, wrong.join(' ')).to.equal(1);
    }
  });

  it('are listed and deleted where they are sealed with a key that is lost', async () => {
    const keyRings = { credentials: [], contents: [{ id: 'lost', key: randomBytes(32) }] };
    const lost = createStore({ redis: space.store.redis, space: space.store.space, keyRings });
    const id = await createActiveWebhook(lost, 'https://example.com/hook');
    const find = async () =>
      ((await cli('list')) as { webhookId: string; url: string | null }[]).find(({ webhookId }) => webhookId === id);
    expect(await find()).to.include({ reason: 'keys_unreadable', url: null, headers: null });
    expect((await runCli(space, ['webhooks', 'list'])).stdout).to.match(new RegExp(`${id} .*keys_unreadable`));
    expect(await cli('show', id)).to.include({ webhookId: id, status: 'active' });
    const { code, stderr } = await runCli(space, ['webhooks', 'trigger', 'send.finished', '--to', id]);
    expect([code, stderr]).to.deep.equal([
      1,
      `error: webhook ${id} is sealed with an encryption key that is not configured here\n`,
    ]);
    expect(await cli('delete', id)).to.deep.equal({ deleted: id });
    expect(await find()).to.equal(undefined);
  });

  /** As many, each of a recipient of its own. */
  async function park(id: WebhookId, count: number): Promise<void> {
    const { revision } = (await readWebhook(space.store, 'main', id))!;
    const attempt = { webhookId: 'evt_test', atMs: 0, tookMs: 1, status: 200, error: null, answer: '' };
    await recordAttempt(space.store, 'main', id, { attempt, verifiesRevision: revision });
    const taken = await takeWebhook(space.store, { workspace: 'main', id }, { processId: 'p', sessionMs: 60_000 });
    if (typeof taken === 'string') throw new Error(taken);
    const changes = Array.from({ length: count }, (_, n) => {
      const event = { entry: '1-1', id: `evt_${n}`, type: 'send.finished' };
      return { what: 'add', key: `key-${String(n).padStart(3, '0')}`, event } as const;
    });
    const write = { lane: 'prompt', state: { cursor: '1-0' }, changes, nowMs: 1_000 } as const;
    expect(await claimDelivery(space.store, taken, write)).to.equal(true);
  }

  it('take what the API takes, and nothing else', async () => {
    const { webhookId } = await cli('create', 'https://example.com/hook');
    const refused: [string[], string][] = [
      [[], 'must contain at least one of [url, headers, '],
      [['--url', 'https://example.com/#part'], 'url: must be a URL without a fragment'],
      [['--url', 'https://a:b@example.com/'], 'url: must be an http or https URL without credentials'],
      [['--url', 'https://example.com:0/'], 'url: must be an http or https URL without credentials, of a host'],
      [['--url', 'http://1.1.1.1/'], 'not a URL by https, or one in a network that is not allowed'],
      [['--url', 'http://example.com/'], 'not a URL by https, or one in a network that is not allowed'],
      [['--header', 'Host: example.org'], 'headers.Host: is not allowed'],
      [['--header', 'X-A: b', '--header', 'x-a: c'], 'headers: must have each name once, whatever its case'],
      [['--devices', 'no/device'], 'devices.0: must be the id of a device'],
      [['--devices', 'a', '--all-devices'], 'give either --devices, or --all-devices'],
      [['--header', 'X-A: b', '--no-headers'], 'give either --header, or --no-headers'],
      [['--content', 'some'], 'content: must be one of [full, none]'],
      [['--numbers', 'some'], 'numbers: must be one of [full, masked]'],
      [['--order', 'any'], 'order: must be one of [recipient, strict]'],
      [['--gather-seconds', '301'], 'gatherSeconds: must be less than or equal to 300'],
      [['--concurrency', 'many'], 'concurrency: must be a number'],
      [['--description', 'x'.repeat(201)], 'description: length must be less than or equal to 200 characters long'],
    ];
    for (const [options, reason] of refused) {
      const { code, stderr } = await runCli(space, ['webhooks', 'change', webhookId, ...options]);
      expect([code, stderr.slice(0, 'error: '.length + reason.length)]).to.deep.equal([1, `error: ${reason}`]);
    }
    const made = await runCli(space, ['webhooks', 'create', 'https://example.com/', '--signature', 'v2']);
    expect(made.stderr).to.equal('error: signature: must be one of [v1, v1a]\n');
    for (const command of [
      ['change', 'wh_0', '--order', 'strict'],
      ['parked', 'wh_0'],
      ['deliveries', 'wh_0'],
    ]) {
      const nowhere = await runCli(space, ['webhooks', ...command]);
      expect([nowhere.code, nowhere.stderr]).to.deep.equal([1, 'error: there is no webhook wh_0\n']);
    }
    expect(await cli('show', webhookId)).to.deep.include({ order: 'recipient', description: '', headers: [] });
  });
});
