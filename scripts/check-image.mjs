#!/usr/bin/env node
// `npm run image`: makes each target of deploy/Dockerfile without a container engine. Its RUN lines run in folders that are copied
// as its COPY lines say; then its CMD runs as uid 1000, which may write nowhere but in a folder for temporary files. With
// `-- --node PATH` that Node.js is used, such as one of `npm run test:node`. It does not prove the base image, USER, nor layers.
import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { DockerfileParser } from 'dockerfile-ast';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const OUTSIDE = /^chmod 0711 \/usr\/local\/bin\/node$/;
const UID = 1000;
const ALIVE_MS = 60_000;
const { values } = parseArgs({ options: { node: { type: 'string', default: process.execPath } } });
const FOLDER_OF_NODE = dirname(resolve(values.node));

const work = mkdtempSync(join(tmpdir(), 'image-'));
try {
  const context = copyContext();
  const stages = makeStages(context);
  await checkStart(stages.gateway, {
    what: 'gateway',
    env: {
      REDIS_URL: 'redis://127.0.0.1:1',
      CONTENT_KEYS: `k1:${'0b'.repeat(32)}`,
      OPS_HOST: '127.0.0.1',
      OPS_PORT: '29090',
    },
    isUp: async () => (await fetch('http://127.0.0.1:29090/livez')).ok,
  });
  await checkStart(stages.simulator, {
    what: 'simulator',
    env: { SIMULATOR_HOST: '127.0.0.1', SIMULATOR_PORT: '28080' },
    isUp: async () => (await fetch('http://127.0.0.1:28080/admin/accounts')).status < 500,
  });
} finally {
  rmSync(work, { recursive: true, force: true });
}

/** What is under version control, less what .dockerignore names. */
function copyContext() {
  const context = join(work, 'context');
  const ignored = readFileSync(join(ROOT, '.dockerignore'), 'utf8')
    .split('\n')
    .filter((line) => line && !line.startsWith('#'));
  const patterns = ignored.map(
    (line) => new RegExp(`(^|/)${line.replace('**/', '').replaceAll('.', '\\.').replaceAll('*', '[^/]*')}(/|$)`),
  );
  const files = execFileSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8', maxBuffer: 2 ** 26 }).split(
    '\0',
  );
  for (const file of files) {
    if (!file || !existsSync(join(ROOT, file)) || patterns.some((pattern) => pattern.test(file))) continue;
    cpSync(join(ROOT, file), join(context, file));
  }
  return context;
}

function makeStages(context) {
  const stages = {};
  let stage;
  for (const instruction of DockerfileParser.parse(
    readFileSync(join(ROOT, 'deploy/Dockerfile'), 'utf8'),
  ).getInstructions()) {
    const args = instruction.getArguments().map((argument) => argument.getValue());
    switch (instruction.getKeyword()) {
      case 'FROM': {
        const [from, , name] = args;
        stage = { name, folder: join(work, name), env: { ...stages[from]?.env }, cmd: [] };
        stages[name] = stage;
        mkdirSync(join(stage.folder, 'app'), { recursive: true });
        if (stages[from]) cpSync(stages[from].folder, stage.folder, { recursive: true, verbatimSymlinks: true });
        break;
      }
      case 'COPY': {
        const from = instruction
          .getFlags()
          .find((flag) => flag.getName() === 'from')
          ?.getValue();
        copy(args, { from: from ? stages[from].folder : context, stage });
        break;
      }
      case 'ENV':
        for (const property of instruction.getProperties()) stage.env[property.getName()] = property.getValue();
        break;
      case 'RUN':
        run(stage, instruction.getRawArgumentsContent());
        break;
      case 'CMD':
        stage.cmd = JSON.parse(instruction.getRawArgumentsContent());
        break;
    }
  }
  return stages;
}

function copy(args, { from, stage }) {
  const target = join(stage.folder, 'app', args.at(-1));
  for (const source of args.slice(0, -1)) {
    const isFolder = source.startsWith('/') || !/\.\w+$|\/\.\w+$|^\.\w+$/.test(source);
    const destination = isFolder ? target : join(target, source.split('/').at(-1));
    cpSync(join(from, source), destination, { recursive: true, verbatimSymlinks: true });
  }
}

function run({ name, folder }, line) {
  const command = line.replace(/\\\n/g, ' ');
  if (OUTSIDE.test(command)) return;
  const startedMs = performance.now();
  execFileSync(
    'bash',
    [
      '-ec',
      `PATH='${FOLDER_OF_NODE}':$PATH
${command}`,
    ],
    {
      cwd: join(folder, 'app'),
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
  console.log(
    `${name}: ${command.replace(/\s+/g, ' ').slice(0, 90)} (${Math.round((performance.now() - startedMs) / 1000)} s)`,
  );
}

async function checkStart({ folder, env: ofImage, cmd }, { what, env, isUp }) {
  const app = join(folder, 'app');
  const megabytes = execFileSync('du', ['-sm', app], { encoding: 'utf8' }).split('\t')[0];
  const strange = execFileSync(
    'find',
    [
      app,
      '-path',
      '*/node_modules',
      '-prune',
      '-o',
      '(',
      '-name',
      '*.ts',
      '-o',
      '-name',
      '*.test.js',
      '-o',
      '-name',
      '.env*',
      ')',
      '-print',
    ],
    { encoding: 'utf8' },
  );
  if (strange !== '') throw new Error(`${what} has what it does not need:\n${strange}`);
  execFileSync('chmod', ['-R', 'a-w,a+rX', folder]);
  const temporary = join(work, `tmp-${what}`);
  mkdirSync(temporary);
  for (const each of [work, temporary]) chmodSync(each, each === work ? 0o755 : 0o777);
  const [, ...args] = cmd;
  const child = spawn(values.node, args, {
    ...{ cwd: app, uid: UID, gid: UID, stdio: ['ignore', 'pipe', 'pipe'] },
    env: { TMPDIR: temporary, ...ofImage, ...env },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data));
  const ended = new Promise((done) => child.once('exit', done));
  const deadline = performance.now() + ALIVE_MS;
  while (!(await isUp().catch(() => false))) {
    if (child.exitCode !== null || performance.now() > deadline) throw new Error(`${what} does not run: ${output}`);
    await new Promise((done) => setTimeout(done, 100));
  }
  child.kill('SIGTERM');
  const code = await ended;
  if (code !== 0) throw new Error(`${what} did not end well (${code}): ${output}`);
  console.log(`${what}: ${megabytes} MB, runs as uid ${UID} with nothing to write to, and ends when it is asked to`);
}
