import { randomInt } from 'node:crypto';
import { modelSettings } from '@gateway/testkit/config';
import { runModel } from './run-model.js';

/** Half of what `npm test` compares: two files of this run side by side. */
const SEQUENCES = 1_000;
const LIMIT_MS = 60_000;
const LIMIT_MS_PER_SEQUENCE = 500;

/** Compares random sequences with the store. `npm run model` says how many, and with which seed. */
export function testLifecycle(name: string): void {
  const { seed = randomInt(2 ** 31), sequences = SEQUENCES } = modelSettings();
  describe(`the lifecycle of sends, ${name}`, () => {
    it('is in the store as it is in the model', () => runModel({ seed, sequences })).timeout(
      LIMIT_MS + sequences * LIMIT_MS_PER_SEQUENCE,
    );
  });
}
