import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { readOptions } from '@gateway/testkit/chaos/read-options';
import { expect } from 'chai';

const DEFAULTS = { seed: 7, waitReplicas: '0' };
const MAIN = new URL(import.meta.resolve('@gateway/testkit/chaos/main'));

describe('the options of a chaos run', () => {
  const read = (...args: string[]) => readOptions(args, DEFAULTS);
  const whyNot = (args: string[], waitReplicas = '0') => {
    try {
      return `taken: ${JSON.stringify(readOptions(args, { ...DEFAULTS, waitReplicas }))}`;
    } catch (thrown) {
      return (thrown as Error).message;
    }
  };

  it('are those of a short run where it is asked for nothing, and what it is asked for', () => {
    const usual = { rounds: 3, seed: 7, devices: 3, recipients: 2_000, redis: 'single', waitReplicas: 0, json: false };
    expect(read()).to.deep.equal(usual);
    expect(read('--devices', '1000')).to.deep.equal({ ...usual, devices: 1_000, recipients: 20 });
    const args = ['--rounds', '1', '--seed', '0', '--devices', '2', '--recipients', '60', '--json'];
    const asked = { rounds: 1, seed: 0, devices: 2, recipients: 60, json: true };
    expect(read(...args, '--redis', 'cluster', '--wait-replicas', '1')).to.deep.equal({
      ...{ ...usual, ...asked },
      ...{ redis: 'cluster', waitReplicas: 1 },
    });
  });

  for (const [redis, most, sentence] of [
    ['single', 0, 'there are no replicas'],
    ['cluster', 1, 'each master has 1'],
    ['sentinel', 2, 'each master has 2'],
  ] as const) {
    it(`ask for no more replicas than there are: ${redis}`, () => {
      const [enough, tooMany] = [String(most), String(most + 1)];
      const kind = ['--redis', redis];
      const refusal = `--wait-replicas (or REDIS_WAIT_REPLICAS) is ${tooMany}, but with --redis ${redis} ${sentence}`;
      expect(read(...kind, '--wait-replicas', enough).waitReplicas).to.equal(most);
      expect(whyNot([...kind, '--wait-replicas', tooMany])).to.equal(refusal);
      expect(readOptions(kind, { ...DEFAULTS, waitReplicas: enough }).waitReplicas).to.equal(most);
      expect(whyNot(kind, tooMany), 'from the environment').to.equal(refusal);
    });
  }

  for (const name of ['--rounds', '--seed', '--devices', '--recipients', '--wait-replicas']) {
    for (const value of ['many', '', ' 1', '1.5', '1e2', '-1', '99999999999999999999']) {
      it(`are whole numbers: ${name} is not ${JSON.stringify(value)}`, () => {
        const told = whyNot(['--redis', 'sentinel', `${name}=${value}`]);
        expect(told).to.match(/^--[a-z-]+( \(or REDIS_WAIT_REPLICAS\))? (takes a whole number|is 9+)/);
        expect(told).to.include(name);
      });
    }
  }

  it('leave something to do, and to be accepted', () => {
    for (const name of ['--rounds', '--devices', '--recipients']) {
      expect(whyNot([`${name}=0`])).to.match(new RegExp(`^${name} takes a whole number `));
    }
    expect(whyNot(['--recipients=10001'])).to.equal(
      '--recipients takes a whole number from 1 to 10000, and not "10001"',
    );
    expect(whyNot(['--redis=sentinels'])).to.equal('--redis must be one of single, sentinel, cluster');
  });

  it('are looked at before anything is started: it ends with 2, and says why', async () => {
    // Without a way to any Redis program: where it began, it would fail otherwise.
    const env = { PATH: '/nowhere', REDIS_WAIT_REPLICAS: '1' };
    const run = spawn(process.execPath, [MAIN.pathname], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    const [said, told, [code]] = await Promise.all([text(run.stdout), text(run.stderr), once(run, 'exit')]);
    expect({ code, said, told }).to.deep.equal({
      code: 2,
      said: '',
      told: '--wait-replicas (or REDIS_WAIT_REPLICAS) is 1, but with --redis single there are no replicas\n',
    });
  });
});
