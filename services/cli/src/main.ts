import { runCommandLine } from './run-command-line.js';

// The program that reads it has enough, as in `webhooks listen | head`.
process.stdout.on('error', () => process.exit());
process.exitCode = await runCommandLine(process.argv.slice(2), process);
// The Redis client keeps timers of commands that have long been answered; the process must not wait for them.
process.stdout.write('', () => process.exit());
