#!/usr/bin/env node
// The one door for people: `npm test` and `npm run demo | start | cli | simulator | bench | chaos | model | mutate | test:long | test:browser | test:cluster` come here.
// This file and prepare.mjs need nothing but Node; once everything is installed and built, src/main.ts takes over.
import { prepare } from './prepare.mjs';

/** What each command needs to have built. */
const COMMANDS = {
  demo: ['services/gateway', 'services/dashboard', 'services/cli', 'services/simulator', 'scripts'],
  start: ['services/gateway', 'services/dashboard', 'services/cli', 'services/simulator', 'scripts'],
  simulator: ['services/simulator', 'scripts'],
  cli: ['services/cli', 'scripts'],
  bench: ['bench', 'services/gateway', 'services/dashboard', 'scripts'],
  chaos: ['libs/testkit', 'services/gateway', 'scripts'],
  model: ['.'],
  mutate: ['.'],
  test: ['.', 'services/dashboard'],
  'test-long': ['.', 'services/dashboard'],
  'test-browser': ['.', 'services/dashboard'],
  'test-cluster': ['.', 'services/dashboard'],
};

const [command = '', ...args] = process.argv.slice(2);
if (!Object.hasOwn(COMMANDS, command)) {
  console.error(`Usage: node scripts/launch.mjs <${Object.keys(COMMANDS).join(' | ')}> [options]`);
  process.exit(2);
}
await prepare(COMMANDS[command]);
const { main } = await import('./dist/main.js');
await main(command, args);
