import { mkdirSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { profiledProcess, profileFolder } from '../config.js';

// Loaded into a service with `--import`. Node's own `--cpu-prof` is not allowed in NODE_OPTIONS.
const session = new Session();
session.connect();
session.post('Profiler.enable');
session.post('Profiler.start');

process.on('exit', () => {
  session.post('Profiler.stop', (error, answer) => {
    const path = `${profileFolder()}/${profiledProcess()}-${process.pid}.cpuprofile`;
    if (error) return;
    mkdirSync(profileFolder(), { recursive: true });
    writeFileSync(path, JSON.stringify(answer.profile));
  });
});
