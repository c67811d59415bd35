import { mkdirSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { basename, dirname } from 'node:path';
import { profileFolder } from '../config.js';

// Loaded into a service with `--import`. Node's own `--cpu-prof` is not allowed in NODE_OPTIONS.
const session = new Session();
session.connect();
session.post('Profiler.enable');
session.post('Profiler.start');

/** `services/sender/dist/main.js` is `sender`. */
const service = basename(dirname(dirname(process.argv[1] ?? 'node')));

process.on('exit', () => {
  session.post('Profiler.stop', (error, answer) => {
    const path = `${profileFolder()}/${service}-${process.pid}.cpuprofile`;
    if (error) return;
    mkdirSync(profileFolder(), { recursive: true });
    writeFileSync(path, JSON.stringify(answer.profile));
  });
});
