import { ROOT } from '../paths.js';

// Runs mocha in this very process: its own program would start another one, which outlives it when we are stopped.
process.on('disconnect', () => process.exit(1));
// To listen for the end of our parent is no reason to stay when the tests are done.
process.channel?.unref();

const { main } = (await import(`${ROOT}node_modules/mocha/lib/cli/cli.js`)) as { main: (args: string[]) => unknown };
const required = ['find-leaks', 'own-clock'].flatMap((name) => ['--require', `${ROOT}scripts/dist/tests/${name}.js`]);
await main([...process.argv.slice(2), ...required]);
