import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { addNpmFlags } from '@gateway/scripts/add-npm-flags';
import { expect } from 'chai';

/** npm has flags of these names: people may have set them in their `.npmrc`, for all that npm does. */
const OF_NPM = ['yes', 'force', 'dry-run', 'before', 'workspace'];

describe('flags without two dashes before them, which npm keeps for itself', () => {
  const add = (command: string, args: string[], flags: Record<string, string>, script = command) => {
    const entries = Object.entries(flags).map(([flag, value]) => [`npm_config_${flag}`, value]);
    return addNpmFlags(command, args, { npm_lifecycle_event: script, ...Object.fromEntries(entries) });
  };

  it('do what they were meant to', () => {
    expect(add('start', [], { simulator: 'true' })).to.deep.equal(['--simulator']);
    expect(add('demo', [], { recipients: '100', json: 'true' })).to.deep.equal(['--json', '--recipients=100']);
    expect(add('demo', [], { keep: 'true' })).to.deep.equal(['--keep']);
    expect(add('simulator', [], { latency_ms: '20', tls: 'true' })).to.deep.equal(['--tls', '--latency-ms=20']);
    expect(add('chaos', [], { seed: '7' })).to.deep.equal(['--seed=7']);
    expect(add('model', [], { sequences: '9', seed: '7' })).to.deep.equal(['--sequences=9', '--seed=7']);
    expect(add('bench', ['otp'], { json: 'true' })).to.deep.equal(['otp', '--json']);
    expect(add('cli', ['token', 'create'], { name: 'x' })).to.deep.equal(['token', 'create', '--name=x']);
    expect(add('test-long', [], { grep: 'x' }, 'test:long')).to.deep.equal(['--grep=x']);
  });

  it('do so with each value that the command line takes: a limit or a role that got lost would be none', () => {
    const sources = fileURLToPath(new URL('../src/', import.meta.resolve('@gateway/cli/main')));
    const files = readdirSync(sources, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
    const code = files.map((name) => readFileSync(sources + name, 'utf8')).join();
    const flags = [...code.matchAll(/'--([a-z-]+) [<[]/g)]
      .map(([, flag]) => flag!)
      .filter((flag) => !OF_NPM.includes(flag));
    expect(flags).to.include('role');
    for (const flag of flags)
      expect(add('cli', ['x'], { [flag.replaceAll('-', '_')]: '5' })).to.deep.equal(['x', `--${flag}=5`]);
  });

  it('are refused when npm has torn their values off', () => {
    expect(() => add('demo', ['100'], { recipients: 'true' })).to.throw('npm run demo -- --recipients');
  });

  it('do not come twice', () => {
    expect(add('demo', ['--recipients', '5'], { recipients: '9' })).to.deep.equal(['--recipients', '5']);
    expect(add('chaos', ['--seed=5'], { seed: '9' })).to.deep.equal(['--seed=5']);
  });

  it('are left out when they were not given, are switched off, or belong to another command', () => {
    expect(add('start', [], {})).to.deep.equal([]);
    expect(add('start', [], { simulator: '' })).to.deep.equal([]);
    expect(add('start', [], { simulator: 'true' }, 'test')).to.deep.equal([]);
    expect(add('start', [], { json: 'true' })).to.deep.equal([]);
  });
});
