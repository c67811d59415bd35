import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { createLogger } from '@gateway/runtime/logs/logger';
import { Lifecycle } from '@gateway/runtime/process/lifecycle';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';

const silent = createLogger({ service: 'test', level: 'error', destination: process.stderr });

describe('Lifecycle', () => {
  it('stops in reverse order, once', async () => {
    const lifecycle = new Lifecycle({ logger: silent });
    const stopped: string[] = [];
    for (const name of ['redis', 'store', 'http']) {
      lifecycle.add(name, async () => {
        stopped.push(name);
      });
    }
    expect(lifecycle.stopping.aborted).to.equal(false);
    await Promise.all([lifecycle.stop(), lifecycle.stop()]);
    expect(stopped).to.deep.equal(['http', 'store', 'redis']);
    expect(lifecycle.stopping.aborted).to.equal(true);
  });

  it('goes on when a part fails or hangs', async () => {
    const complaints: string[] = [];
    const logger = { ...silent, error: (message: string) => complaints.push(message) };
    const lifecycle = new Lifecycle({ logger, partTimeoutMs: 20 });
    let reached = false;
    lifecycle.add('last', async () => {
      reached = true;
    });
    lifecycle.add('hangs', () => new Promise(() => {}));
    lifecycle.add('fails', () => Promise.reject(new Error('no')));
    await lifecycle.stop();
    expect(reached).to.equal(true);
    expect(complaints).to.deep.equal(['component failed to stop', 'part did not stop in time']);
  });

  it('stops what is added too late', async () => {
    const lifecycle = new Lifecycle({ logger: silent });
    await lifecycle.stop();
    let stopped = false;
    lifecycle.add('late', async () => {
      stopped = true;
    });
    expect(stopped).to.equal(true);
  });
});

describe('runUntilSignal', () => {
  const children: ChildProcess[] = [];
  afterEach(() => {
    for (const child of children.splice(0)) child.kill('SIGKILL');
  });

  function run(fixture: 'service' | 'parent', ...args: string[]) {
    const path = fileURLToPath(new URL(`./fixtures/${fixture}.js`, import.meta.url));
    const child = spawn(process.execPath, [path, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
    children.push(child);
    let output = '';
    child.stdout.on('data', (chunk) => {
      output += chunk;
    });
    return {
      child,
      ended: once(child, 'close').then(([code]) => code as number | null),
      output: () => output,
      started: async () => {
        while (!/started (\d+)/.test(output)) await once(child.stdout, 'data');
        return Number(/started (\d+)/.exec(output)?.[1]);
      },
    };
  }

  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    it(`stops on ${signal}, even when it is repeated, and exits with 0`, async () => {
      const { child, ended, started, output } = run('service');
      await started();
      child.kill(signal);
      child.kill(signal);
      expect(await ended).to.equal(0);
      expect(output()).to.match(/stopped second\nstopped first/);
    });
  }

  it('explains a failed start in one line and exits with 1', async () => {
    const { ended, output } = run('service', 'bad-config');
    expect(await ended).to.equal(1);
    expect(output().trim().split('\n')).to.have.length(1);
    expect(JSON.parse(output())).to.include({ message: 'start failed', reason: 'REDIS_URL is required' });
  });

  it('tells a port that is taken without a stack', async () => {
    const { ended, output } = run('service', 'port-taken');
    expect(await ended).to.equal(1);
    expect(JSON.parse(output()))
      .to.have.property('reason')
      .that.matches(/^port \d+ of 127\.0\.0\.1 is taken$/);
  });

  it('stops and exits with 1 after an unhandled rejection', async () => {
    const { ended, output } = run('service', 'unhandled');
    expect(await ended).to.equal(1);
    expect(output()).to.include('not caught').and.to.include('stopped first');
  });

  it('goes on after an uncaught error of work that is contained, whatever started it', async () => {
    const { child, started, ended, output } = run('service', 'contained');
    await started();
    const kept = ['kept: of a callback', 'kept: of a promise', 'kept: of shared work'];
    await eventually(() => kept.every((line) => output().includes(line)), { what: kept.join(', ') });
    child.kill('SIGTERM');
    expect(await ended).to.equal(0);
  });

  it('stops when its parent is killed', async () => {
    const { child, started } = run('parent');
    const pid = await started();
    child.kill('SIGKILL');
    await eventually(() => !isAlive(pid), { what: 'the end of the service' });
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
