import { createHash } from 'node:crypto';
import { declareClassPlugin, PluginKind } from '@stryker-mutator/api/plugin';
import { CheckStatus } from '@stryker-mutator/api/check';

/** How much of all is chosen, from 0 to 1, and what decides which. */
const [share, seed] = [Number(process.env.MUTATION_SHARE), process.env.MUTATION_SEED];

/**
 * Chooses some of all changes at random, so that the score of a package can be measured in less time than all of them take. Those
 * that are left out are reported as ones that do not compile, which count for nothing.
 */
class SampleChecker {
  async init() {}

  async check(mutants) {
    return Object.fromEntries(
      mutants.map((mutant) => [
        mutant.id,
        isChosen(mutant) ? { status: CheckStatus.Passed } : { status: CheckStatus.CompileError, reason: 'left out' },
      ]),
    );
  }
}

function isChosen({ fileName, location, replacement }) {
  const name = JSON.stringify([seed, fileName.slice(fileName.indexOf('/dist/')), location, replacement]);
  return createHash('sha256').update(name).digest().readUInt32BE(0) / 2 ** 32 < share;
}

export const strykerPlugins = [declareClassPlugin(PluginKind.Checker, 'sample', SampleChecker)];
