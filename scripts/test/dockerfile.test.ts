import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '@gateway/scripts/paths';
import { expect } from 'chai';

const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');

describe('deploy/Dockerfile', () => {
  const text = read('deploy/Dockerfile');

  it('copies what each workspace is installed by before the sources: its packages are a layer that lasts', () => {
    const { packages } = JSON.parse(read('package-lock.json')) as { packages: Record<string, object> };
    const workspaces = Object.keys(packages).filter((path) => path !== '' && !path.includes('node_modules/'));
    expect(workspaces).to.have.length.above(10);
    for (const folder of workspaces) expect(text).to.include(`COPY ${folder}/package.json ${folder}/\n`);
    expect(text.lastIndexOf('package.json libs/')).to.be.below(text.indexOf('COPY libs libs'));
  });

  it('runs no code of packages, runs as another user than root, and names its version of Node', () => {
    for (const [line] of text.matchAll(/npm ci.*/g)) expect(line).to.include('--ignore-scripts');
    const [, ...stages] = text.split(/^FROM /m);
    expect(stages.filter((stage) => /^CMD/m.test(stage)).every((stage) => stage.startsWith('base AS'))).to.equal(true);
    expect(stages.find((stage) => /AS base$/m.test(stage))).to.match(/^USER node$/m);
    expect(text).to.match(/^ARG NODE_IMAGE=node:24-bookworm-slim$/m);
  });

  it('gets no secrets of compose, nor does the repository', () => {
    for (const file of ['.dockerignore', '.gitignore']) {
      expect(read(file).split('\n')).to.include.members(['.env', '.env.*']);
      expect(read(file)).to.match(/^\.gateway\/?$/m);
    }
  });
});
