import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { makeWebhookSecret } from '@gateway/contracts/webhooks/signature';
import { DEFAULT_WEBHOOK_SETTINGS } from '@gateway/contracts/webhooks/webhook';
import { recordAttempt } from '@gateway/store/webhooks/webhook-attempts';
import { createWebhook } from '@gateway/store/webhooks/webhooks';
import { addOptOuts } from '@gateway/store/workspace/opt-outs';
import { eventually } from '@gateway/testkit/eventually';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import { inTurn, type NameServer, startNameServer } from '../../egress/test/support/name-server.js';
import type { DeliveringAnswer, DeliveringQuestion, DeliveringStart } from './support/delivering-process.js';

/** While others hang, and right before; the middle one counts, as anything else that the machine does may spoil some. */
const PAIRS = 7;
const EVENTS_A_PAIR = 20;
/** In turn, so that what else the machine does concerns both. */
const ROUNDS = 4;
const EVENTS_A_ROUND = 10;
/** A machine that is busy with something else may spoil one. */
const ATTEMPTS = 3;
const MB = 1024 * 1024;
const KINDS = ['500', 'drip', 'flood', 'bomb', 'redirect', 'redirect-inside'];

describe('an honest endpoint', () => {
  let space: RedisSpace;
  let hostile: ChildProcess;
  let names: NameServer;
  let server: Server;
  let delivering: ChildProcess;
  let told: number[];

  beforeEach(async () => {
    space = await openRedisSpace();
    names = await startNameServer({ 're-bind.test': { a: inTurn('127.0.0.1', '127.0.0.2') } });
    hostile = fork(new URL('./support/hostile-endpoints.js', import.meta.url));
    told = [];
    server = createServer((req, res) => {
      told.push(performance.now());
      req.resume().once('end', () => res.writeHead(204).end());
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
  });
  afterEach(async () => {
    for (const child of [delivering, hostile]) {
      child.disconnect();
      await once(child, 'exit');
    }
    server.closeAllConnections();
    server.close();
    await names.close();
    await space.close();
  });

  async function create(workspace: string, url: string): Promise<void> {
    const made = await createWebhook(space.store, workspace, {
      ...{ settings: DEFAULT_WEBHOOK_SETTINGS, target: { url, headers: {} } },
      secrets: [{ secret: makeWebhookSecret('v1') }],
    });
    if (made === 'full') throw new Error('full');
    const attempt = { webhookId: 'evt_0', atMs: 0, tookMs: 0, status: 200, error: null, answer: '' };
    await recordAttempt(space.store, workspace, made.id, { attempt, verifiesRevision: made.revision });
  }
  const honestUrl = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const deliver = (more: Pick<DeliveringStart, 'servers'> = {}) => {
    const { url, prefix, keySettings } = space;
    const start: DeliveringStart = { url, prefix, keySettings, ...more };
    const module = new URL('./support/delivering-process.js', import.meta.url);
    delivering = fork(module, [JSON.stringify(start)], { execArgv: ['--expose-gc', '--max-semi-space-size=8'] });
  };
  const memoryOf = async (question: 'memory' | 'peak') => {
    const answer = once(delivering, 'message');
    delivering.send(question satisfies DeliveringQuestion);
    const { memory, warnings } = (await answer)[0] as DeliveringAnswer;
    return { ...memory!, warnings };
  };
  /** What the hostile ones have heard, and how many requests hang there; first they may be told to `release` these. */
  const asked = async (what: 'asked' | 'release' = 'asked') => {
    const answer = once(hostile, 'message');
    hostile.send(what);
    return (await answer)[0] as Record<string, number>;
  };
  let numbers = 447700900000;
  const happen = async (workspace: string) => {
    await addOptOuts(space.store, workspace, { numbers: [`${numbers++}`], source: 'api', atMs: 1_000 });
    delivering.send({ wake: workspace } satisfies DeliveringQuestion);
  };
  /** How long events take, in ms, one by one. */
  async function time(meanwhile: () => Promise<void>, events = EVENTS_A_ROUND): Promise<number[]> {
    const took: number[] = [];
    for (let n = 0; n < events; n++) {
      await meanwhile();
      const [before, beganMs] = [told.length, performance.now()];
      await happen('honest');
      await eventually(() => told.length > before);
      took.push(told.at(-1)! - beganMs);
    }
    return took;
  }
  /** The slowest but five of a hundred. */
  const p95 = (took: readonly number[]) => [...took].sort((a, b) => a - b)[Math.ceil(took.length * 0.95) - 1]!;

  it('is told within 1.2 times as long (95 % of its events) while a hundred hang as right before', async () => {
    const [{ origin }] = (await once(hostile, 'message')) as [{ origin: string }];
    await create('honest', honestUrl());
    const others = ['hang-1', 'hang-2'];
    for (let n = 0; n < 50; n++) for (const workspace of others) await create(workspace, `${origin}/hang`);
    deliver();
    const isHanging = (count: number) => eventually(async () => (await asked()).hanging === count);
    const measure = async () => p95(await time(async () => {}, EVENTS_A_PAIR));
    await measure();
    const pairs: { alone: number; beside: number }[] = [];
    for (let pair = 0; pair < PAIRS; pair++) {
      const alone = await measure();
      for (const workspace of others) await happen(workspace);
      await isHanging(100);
      pairs.push({ alone, beside: await measure() });
      expect((await asked('release')).hanging, 'all the while').to.equal(100);
      await isHanging(0);
    }
    const ratios = pairs.map(({ alone, beside }) => beside / alone).sort((a, b) => a - b);
    expect(ratios[(PAIRS - 1) / 2], JSON.stringify(pairs)).to.be.below(1.2);
  });

  it('is told as soon beside hundreds that hang, fail, flood or lead elsewhere, which cost little memory and reach nothing inside', async () => {
    const [{ origin, hiddenPort }] = (await once(hostile, 'message')) as [{ origin: string; hiddenPort: number }];
    await create('honest', honestUrl());
    deliver({ servers: [names.server] });
    const traps = [
      ...KINDS.map((kind) => `${origin}/${kind}`),
      ...[`https://re-bind.test:${hiddenPort}/`, origin.replace('http:', 'https:')],
    ];
    for (let n = 0; n < 50; n++) {
      for (const workspace of ['hang-1', 'hang-2']) await create(workspace, `${origin}/hang`);
      if (n >= 16) continue;
      await create('even', `${origin}/204`);
      await create('odd', traps[n % traps.length]!);
    }
    // As much work, done for others that are honest.
    const besideEven = () => time(() => happen('even'));
    const besideOdd = () => time(() => happen('odd'));
    await besideEven();
    // What any work takes, that for honest ones, too.
    for (let round = 0; round < ROUNDS; round++) await besideEven();
    const before = await memoryOf('memory');
    for (const workspace of ['hang-1', 'hang-2', 'odd']) await happen(workspace);
    await eventually(async () => ((await asked())['/hang'] ?? 0) >= 100);
    expect(Math.max(...(await besideOdd())), 'while the others hang for 15 s').to.be.below(5_000);
    const { heap } = await memoryOf('peak');
    const compare = async () => {
      const [even, odd]: [number[], number[]] = [[], []];
      for (let round = 0; round < ROUNDS; round++) {
        even.push(...(await besideEven()));
        odd.push(...(await besideOdd()));
      }
      return { alone: p95(even), beside: p95(odd) };
    };
    const isAsSoon = ({ alone, beside }: Awaited<ReturnType<typeof compare>>) => beside < 1.2 * alone;
    let took = await compare();
    for (let attempt = 1; attempt < ATTEMPTS && !isAsSoon(took); attempt++) took = await compare();
    const { buffers, resident, warnings } = await memoryOf('peak');
    const heard = await asked();
    expect(heard.hidden, 'connections inside').to.equal(undefined);
    for (const kind of KINDS) expect(heard[`/${kind}`], kind).to.be.at.least(2);
    expect(heard.tls, 'TLS that is none').to.be.at.least(2);
    const lookups = names.asked.filter((each) => each === 're-bind.test a');
    expect(lookups.length, 'of a name that leads elsewhere each time').to.be.at.least(2);
    expect((heap - before.heap + buffers - before.buffers) / MB, 'in use').to.be.below(50);
    expect((resident - before.resident) / MB, 'resident').to.be.below(50);
    expect(isAsSoon(took), JSON.stringify(took)).to.equal(true);
    expect(warnings).to.equal(0);
  });
});
