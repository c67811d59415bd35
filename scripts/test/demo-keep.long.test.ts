import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { launcherConfig } from '@gateway/scripts/config';
import { ROOT } from '@gateway/scripts/paths';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';

describe('`npm run demo -- --keep`', () => {
  it('stays with its accounts linked, and prints a link to the console that shows what it sent', async () => {
    const args = ['scripts/launch.mjs', 'demo', '--keep', '--recipients', '2'];
    const env = { ...launcherConfig.environment, npm_lifecycle_event: '' };
    const demo = spawn('node', args, { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'inherit'] });
    const ended = once(demo, 'exit');
    try {
      let told = '';
      demo.stdout.on('data', (piece) => {
        told += String(piece);
      });
      await eventually(() => told.includes('Ctrl-C ends the demo'), { what: 'the end of the story' });
      const { origin, hash } = new URL(/http:\S+#link=\S+/.exec(told)![0]);
      const headers = { 'content-type': 'application/json', origin };
      const signedIn = await fetch(`${origin}/console/api/sign-in/link`, {
        ...{ method: 'POST', headers, body: JSON.stringify({ secret: hash.slice('#link='.length) }) },
      });
      const cookie = signedIn.headers.getSetCookie()[0]!.split(';')[0]!;
      const read = async (path: string) => {
        const answer = await fetch(`${origin}/console/api${path}`, { headers: { cookie } });
        return (await answer.json()) as Partial<Record<'devices' | 'messages', { status: string }[]>>;
      };
      expect(await signedIn.json()).to.include({ isSimulated: true });
      const { devices } = await read('/devices');
      expect(devices?.map(({ status }) => status)).to.deep.equal(['connected', 'connected']);
      const { messages } = await read('/messages');
      expect(messages?.map(({ status }) => status)).to.deep.equal(['read', 'read', 'read']);
    } finally {
      demo.kill('SIGTERM');
      expect(await ended).to.deep.equal([143, null]);
    }
  });
});
