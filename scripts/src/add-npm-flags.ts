import { GatewayError } from '@gateway/runtime/errors';

/** The flags of each command that npm may take for its own. `cli` has more: those without `=` are npm's to lose. */
const SWITCHES: Record<string, readonly string[]> = {
  start: ['simulator'],
  cli: ['simulator', 'json', 'skip-invalid'],
  demo: ['json', 'keep'],
  simulator: ['tls', 'trace'],
  chaos: ['json'],
  bench: ['json'],
};
const VALUES: Record<string, readonly string[]> = {
  cli: [
    ...[
      'name',
      'device',
      'expires',
      'overlap',
      'scopes',
      'role',
      'limit',
      'burst',
      'jitter',
      'ring',
      'trace',
      'watch',
      'wait',
    ],
    ...['devices', 'backlog', 'file-bytes', 'opt-outs', 'types', 'description', 'after', 'to', 'url', 'header'],
    ...['content', 'numbers', 'gather-seconds', 'order', 'concurrency', 'signature'],
  ],
  demo: ['recipients'],
  simulator: ['profile', 'host', 'port', 'seed', 'latency-ms', 'decrypt-sample', 'state-file'],
  chaos: ['rounds', 'seed', 'devices', 'recipients', 'redis', 'wait-replicas'],
  model: ['sequences', 'seed'],
  mutate: ['sample'],
  test: ['grep', 'counts'],
  'test-long': ['grep', 'counts'],
};
/** `npm_lifecycle_event` of commands whose script has another name. */
const SCRIPTS: Record<string, string> = { 'test-long': 'test:long' };

/**
 * The arguments of a command with those that npm kept for itself: of `npm start --simulator` we get no argument, but
 * `npm_config_simulator` in the environment. Without it a simulator that is asked for would be the real network.
 * Throws when npm has separated a flag from its value (npm 11 does, of `--recipients 100`).
 */
export function addNpmFlags(command: string, args: readonly string[], env: NodeJS.ProcessEnv): string[] {
  const script = SCRIPTS[command] ?? command;
  // Commands that are started by tests or by other scripts inherit the flags of those.
  if (env.npm_lifecycle_event !== script) return [...args];
  const kept = (flag: string) => {
    const isGiven = args.some((arg) => arg === `--${flag}` || arg.startsWith(`--${flag}=`));
    return isGiven ? undefined : env[`npm_config_${flag.replaceAll('-', '_')}`] || undefined;
  };
  const switches = (SWITCHES[command] ?? []).filter((flag) => kept(flag) === 'true').map((flag) => `--${flag}`);
  const values = (VALUES[command] ?? []).flatMap((flag) => {
    const value = kept(flag);
    if (value === 'true') throw lostValue(script, flag);
    return value === undefined ? [] : [`--${flag}=${value}`];
  });
  return [...args, ...switches, ...values];
}

function lostValue(script: string, flag: string): GatewayError {
  const message = `npm took --${flag} for a flag of its own. Two dashes before it keep it: npm run ${script} -- --${flag} ...`;
  return new GatewayError({ code: 'usage', message });
}
