import { makeNumbers } from '@gateway/testkit/phones';
import { makePng } from '@gateway/testkit/sample-files';
import type { Benchmark } from '../support/benchmark.js';
import { compare } from '../support/compare.js';
import { timeUntilAcked } from '../support/send.js';
import { openStage } from '../support/stage.js';

const ACCOUNT = '999100000001';
const RECIPIENTS = 500;
const IMAGE_BYTES = 1024 * 1024;

/** One file to many: prepared and uploaded once, for a list of any length. */
export const mediaBenchmark: Benchmark = {
  name: 'media',
  summary: 'time of a 500-recipient list with a 1 MB image / the same list as text',
  goals: [
    { figure: 'ratio', atMost: 1.3 },
    { figure: 'uploadsPerList', atMost: 1 },
  ],
  async run(context) {
    const stage = await openStage(context, { decryptSample: 0.02 });
    const { gateway, simulator } = stage;
    await gateway.link(ACCOUNT);
    const to = makeNumbers(RECIPIENTS);
    const timed = async (sending: Parameters<typeof timeUntilAcked>[1]) => {
      const ms = await timeUntilAcked(stage, sending);
      await simulator.settle();
      return ms;
    };
    const baseline = () => timed({ to });
    let images = 0;
    const ours = () => {
      images++;
      return timed({ to, attachment: { type: 'image', base64: makeImage(images), mimeType: 'image/png' } });
    };
    context.say('first, the device gets to know the recipients');
    await baseline();
    await ours();
    const found = await compare(context, { ours, baseline, unit: 'ms', rounds: 7 });
    const { uploads = 0 } = await simulator.counters();
    return { ...found, unit: 'ms', uploadsPerList: uploads / images };
  },
};

/** All files differ, so that none is cached. */
function makeImage(variant: number): string {
  return makePng(640, 480 + variant, IMAGE_BYTES).toString('base64');
}
