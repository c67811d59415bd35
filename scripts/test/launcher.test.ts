import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { ROOT } from '@gateway/scripts/paths';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';

describe('the launcher', () => {
  let launcher: ChildProcess | undefined;
  afterEach(() => launcher?.kill('SIGKILL'));

  function launch(...args: string[]) {
    launcher = spawn(process.execPath, ['scripts/launch.mjs', ...args], {
      cwd: ROOT,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    return { launcher, exited: once(launcher, 'exit').then(([code]) => code as number | null) };
  }

  async function launchSimulator() {
    const { launcher, exited } = launch('simulator');
    for await (const line of createInterface({ input: launcher.stdout! })) {
      if (line.includes('"ready":true')) return { launcher, exited, facts: JSON.parse(line), ...family(launcher) };
    }
    throw new Error('the simulator did not start');
  }

  it('starts the simulator and says where it is', async () => {
    const { launcher, exited, facts } = await launchSimulator();
    expect(facts.socketUrl).to.match(/^ws:\/\/127\.0\.0\.1:\d+\/ws\/chat$/);
    expect(facts.rootPublicKeyHex).to.match(/^[0-9a-f]{64}$/);
    launcher.kill('SIGTERM');
    await exited;
  });

  for (const [signal, exitCode] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGKILL', null],
  ] as const) {
    it(`leaves no process behind on ${signal}`, async () => {
      const { launcher, exited, children } = await launchSimulator();
      expect(children).to.have.length.above(0);
      launcher.kill(signal);
      expect(await exited).to.equal(exitCode);
      await eventually(() => !children.some(isAlive), { what: 'the end of all processes' });
    });
  }

  it('notices when a process that should run ends', async () => {
    const { exited, children } = await launchSimulator();
    for (const pid of children) process.kill(pid, 'SIGKILL');
    expect(await exited).to.equal(1);
  });

  it('explains commands and options that it does not know, without a stack', async () => {
    for (const args of [['dance'], ['demo', '--recipients', 'many'], ['simulator', '--bad']]) {
      const { launcher, exited } = launch(...args);
      let errors = '';
      launcher.stderr?.on('data', (chunk) => {
        errors += chunk;
      });
      expect(await exited).to.be.oneOf([1, 2]);
      expect(errors).not.to.match(/\n\s+at /);
      expect(errors).not.to.equal('');
    }
  });
});

function family({ pid }: ChildProcess): { children: number[] } {
  const children = execFileSync('pgrep', ['-P', String(pid)], { encoding: 'utf8' });
  return { children: children.trim().split('\n').map(Number) };
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
