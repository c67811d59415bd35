import { Writable } from 'node:stream';
import { createApiMetrics } from '@gateway/api/api-metrics';
import { BodyBudget } from '@gateway/api/http/body/body-budget';
import { LimitBlocks } from '@gateway/api/http/limit-blocks';
import { makeApiToken } from '@gateway/contracts/api-token';
import { LIMITS } from '@gateway/contracts/limits';
import { systemClock } from '@gateway/runtime/clock';
import { createLogger, type Logger } from '@gateway/runtime/logs/logger';
import { createMetrics } from '@gateway/runtime/process/metrics';
import { eventually } from '@gateway/testkit/eventually';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import { startTestApi, type TestApi } from './support/test-api.js';

function logTo(lines: Record<string, unknown>[]): Logger {
  const destination = new Writable({
    write(chunk, _encoding, done) {
      lines.push(
        ...String(chunk)
          .split('\n')
          .filter(Boolean)
          .map((line) => JSON.parse(line)),
      );
      done();
    },
  });
  return createLogger({ service: 'api', level: 'debug', pretty: false, destination });
}

describe('addresses behind a proxy', () => {
  let space: RedisSpace;
  let api: TestApi;
  before(async () => {
    space = await openRedisSpace();
    api = await startTestApi(space, { trustedProxies: 1 });
  });
  after(async () => {
    await api.close();
    await space.close();
  });

  for (const [what, from] of [
    ['ports', (i: number) => `192.0.2.7:${40_000 + i}`],
    ['ports behind IPv6', (i: number) => `[2001:db8:7::1]:${40_000 + i}`],
    ['words that are no address', (i: number) => `_hidden${i}`],
  ] as const) {
    it(`are the same with different ${what}`, async () => {
      const guess = async (i: number) =>
        (await api.call('GET', '/status', { token: 'wrong', headers: { 'x-forwarded-for': from(i) } })).status;
      for (let i = 0; i < LIMITS.failedTokensPerMinute; i++) expect(await guess(i)).to.equal(401);
      expect(await guess(99)).to.equal(429);
    });
  }
});

describe('an address that guesses tokens', () => {
  let space: RedisSpace;
  let api: TestApi;
  let lines: Record<string, unknown>[];
  let commands: string[];

  beforeEach(async () => {
    lines = [];
    space = await openRedisSpace();
    api = await startTestApi(space, { logger: logTo(lines) });
    commands = [];
    const { redis } = api.store;
    const send = redis.sendCommand.bind(redis);
    redis.sendCommand = (command, ...rest) => {
      commands.push(command.name);
      return send(command, ...rest);
    };
    for (let i = 0; i < LIMITS.failedTokensPerMinute; i++) expect((await guess('wrong')).status).to.equal(401);
    expect((await guess('wrong')).status).to.equal(429);
  });
  afterEach(async () => {
    await api.close();
    await space.close();
  });
  const guess = (token: string) => api.call('GET', '/status', { token });

  it('costs no command of Redis and no line of the log for each guess, beyond its limit', async () => {
    commands.length = 0;
    await eventually(() => lines.filter(({ status }) => status === 429).length === 1);
    for (let i = 0; i < 50; i++) expect((await guess('wrong')).status).to.equal(429);
    expect(commands).to.deep.equal([]);
    // Well-formed ones are asked about together.
    const answers = await Promise.all(Array.from({ length: 100 }, () => guess(makeApiToken().token)));
    expect(new Set(answers.map(({ status }) => status))).to.deep.equal(new Set([429]));
    expect(new Set(commands)).to.deep.equal(new Set(['hmget']));
    expect(commands.length).to.be.below(20);
    expect(lines.filter(({ status }) => status === 429)).to.have.length(1);
    expect(await api.metrics()).to.match(/rate_limited_requests_total\{bucket="failed_tokens".*\} 151/);
  });

  it('does not keep out valid tokens from there, known before or not', async () => {
    expect((await guess(api.token)).status).to.equal(200);
    const { value } = await api.newToken();
    const answers = await Promise.all([guess(value), ...Array.from({ length: 20 }, () => guess(makeApiToken().token))]);
    expect(answers[0]!.status).to.equal(200);
    expect(answers.slice(1).every(({ status }) => status === 429)).to.equal(true);
  });

  it('does not slow down a token that was valid before, also when that is looked up again', async () => {
    expect((await guess(api.token)).status).to.equal(200);
    const lookedUpAt = performance.now();
    await eventually(() => performance.now() - lookedUpAt > 1_000);
    commands.length = 0;
    expect((await guess(api.token)).status).to.equal(200);
    expect(commands).to.include('hgetall').and.not.to.include('hmget');
  });
});

describe('a blocked address', () => {
  it('is told of in one line when its time is over', async () => {
    const lines: Record<string, unknown>[] = [];
    const metrics = createApiMetrics(createMetrics(), { bodies: new BodyBudget(1), eventWaits: { open: 0 } });
    const blocks = new LimitBlocks({ clock: systemClock, logger: logTo(lines), metrics }, 'address', 'failed-tokens');
    expect(blocks.refuse('203.0.113.7')).to.equal(undefined);
    blocks.begin('203.0.113.7', 100);
    for (let i = 0; i < 7; i++) expect(blocks.refuse('203.0.113.7')).to.be.within(0, 100);
    expect(blocks.refuse('203.0.113.8')).to.equal(undefined);
    await eventually(() => !blocks.has('203.0.113.7'));
    expect(lines).to.have.length(1);
    expect(lines[0]).to.include({ address: '203.0.113.7', bucket: 'failed-tokens', refused: 7 });
  });
});
