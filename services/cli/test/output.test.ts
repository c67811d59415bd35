import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { createOutput, type Output } from '@gateway/cli/output';
import { expect } from 'chai';

/** What a terminal would obey, in words of people and of servers: clears it, names its window, turns what follows around. */
const OBEYED = ['\u001b[2J', '\u001b]0;x\u0007', '\u009b2J', '\r', '\b', '\u202e', '\u2066', '\u0000', '\u007f'];

describe('what the command line shows', () => {
  const shown = async (say: (output: Output) => void) => {
    const stream = new PassThrough();
    say(createOutput({ json: false, stream }));
    stream.end();
    return text(stream);
  };

  it('has nothing in it that a terminal would obey, or that looks like a line of ours', async () => {
    for (const sign of OBEYED) {
      const answer = `a${sign}b`;
      const all = await shown((output) => {
        output.show({ answer });
        output.list([{}], () => ({ name: answer }), '');
        output.line({}, answer);
      });
      expect(all, JSON.stringify(sign)).not.to.include(sign);
      expect(all.split('\n')).to.have.length(5);
    }
    const lines = await shown((output) => output.show({ answer: 'a\nstatus  active' }));
    expect(lines.split('\n')).to.have.length(2);
    expect(await shown((output) => output.show({ name: 'Zoë 👋 عربي' }))).to.equal('name  Zoë 👋 عربي\n');
  });
});
