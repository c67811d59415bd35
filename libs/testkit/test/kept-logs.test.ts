import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@gateway/testkit/eventually';
import { ServiceProcess } from '@gateway/testkit/processes/service-process';
import { RedisProcess } from '@gateway/testkit/redis-servers/redis-process';
import { expect } from 'chai';

describe('the folder of logs of a chaos run', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'kept-logs-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const read = (ending: string) => {
    const [name] = readdirSync(folder).filter((each) => each.endsWith(ending));
    return name === undefined ? '' : readFileSync(join(folder, name), 'utf8');
  };

  it('has what Redis says, in all its lives', async () => {
    const redis = await RedisProcess.start({ logFolder: folder });
    const starts = () => read(`redis-${redis.port}.log`).match(/Ready to accept connections/g)?.length;
    try {
      await eventually(() => starts() === 1, { what: 'the first start' });
      await redis.killAndRestart();
      await eventually(() => starts() === 2, { what: 'the second start' });
    } finally {
      await redis.stop();
    }
  });

  it('has what a service writes to stderr before it can log', async () => {
    const env = { NODE_OPTIONS: '--import data:text/javascript,console.error("last%20words");process.exit(1)' };
    const thrown = await ServiceProcess.start('api', env, { logFolder: folder }).catch((error: unknown) => error);
    expect(thrown).to.be.instanceOf(Error);
    await eventually(() => read('.err').includes('last words'));
  });
});
