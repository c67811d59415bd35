import { spawn } from 'node:child_process';

// Stands between the launcher and an embedded Redis. A Redis does not notice when the one who started it is killed;
// this process does, by its channel. It is out of reach of Ctrl-C, as the services still need Redis to leave in order.
// Messages in: `{ program, settings }` starts Redis.

/** How long services may take to leave when the launcher was killed. */
const GRACE_MS = 3_000;

process.once('message', ({ program, settings }: { program: string; settings: string }) => {
  const redis = spawn(program, ['-'], { stdio: ['pipe', 'ignore', 'inherit'] });
  const stop = () => redis.kill('SIGTERM');
  redis.stdin.end(settings);
  redis.on('exit', (code) => process.exit(code ?? 1));
  redis.on('error', () => process.exit(1));
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  process.on('disconnect', () => setTimeout(stop, GRACE_MS));
});
