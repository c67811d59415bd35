import { createHash } from 'node:crypto';
import { CheckStatus } from '@stryker-mutator/api/check';
import { declareClassPlugin, PluginKind } from '@stryker-mutator/api/plugin';

/**
 * Chooses some of all changes at random, so that the score of a package can be measured in less time than all of them take. Those
 * that are left out are reported as ones that do not compile, which count for nothing.
 */
class SampleChecker {
  static inject = ['options'];

  /** @param {{ sample: { share: number, seed: string } }} options `share`: how much of all, from 0 to 1; `seed` decides which. */
  constructor({ sample }) {
    this.sample = sample;
  }

  async init() {}

  async check(mutants) {
    return Object.fromEntries(
      mutants.map((mutant) => [
        mutant.id,
        isChosen(mutant, this.sample)
          ? { status: CheckStatus.Passed }
          : { status: CheckStatus.CompileError, reason: 'left out' },
      ]),
    );
  }
}

function isChosen({ fileName, location, replacement }, { share, seed }) {
  const name = JSON.stringify([seed, fileName.slice(fileName.indexOf('/dist/')), location, replacement]);
  return createHash('sha256').update(name).digest().readUInt32BE(0) / 2 ** 32 < share;
}

export const strykerPlugins = [declareClassPlugin(PluginKind.Checker, 'sample', SampleChecker)];
