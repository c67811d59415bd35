import { runChaos } from '@gateway/testkit/chaos/run-chaos';
import { expect } from 'chai';

const RUN = { rounds: 1, devices: 2, recipients: 60, waitReplicas: 1 } as const;

/** Of masters that fail over, while processes and phones go on. */
export function describeChaos(redis: 'sentinel' | 'cluster') {
  describe(`a gateway under fire, whose masters fail over (${redis})`, () => {
    const seed = Date.now() % 1_000_000;

    it(`keeps what replicas have confirmed (seed ${seed})`, async function () {
      this.timeout(1_200_000);
      const said: string[] = [];
      const receivers = ['honest', 'apart'] as const;
      const result = await runChaos({ ...RUN, redis, seed, receivers, say: (line) => void said.push(line) });
      // Without the other endpoints: one that fails is asked ever more rarely.
      const { rounds, devices, recipients, waitReplicas } = RUN;
      const again = `repeat it with: npm run chaos -- --redis ${redis} --wait-replicas ${waitReplicas} --rounds ${rounds} --devices ${devices} --recipients ${recipients} --seed ${seed}\n${said.join('\n')}`;
      expect(result, again).to.include({
        lost: 0,
        duplicates: 0,
        unwanted: 0,
        miscounted: 0,
        expired: 0,
        forgotten: 0,
      });
      expect(result.events, again).to.include({ lost: 0, invented: 0, disordered: 0, duplicates: 0, altered: 0 });
      expect(result.keepsPromises).to.equal(true);
      const { shown, cancelled, unwilling } = result;
      expect(shown).to.be.at.least((result.recipients - cancelled - unwilling) * 0.95);
      expect(result.redisBlows).to.be.at.least(4);
      expect(result.kills).to.be.greaterThan(0);
      expect(result.eventsKills, 'of processes that tell').to.be.greaterThan(0);
      expect(result.events.consumerKills, 'of readers').to.be.greaterThan(0);
    });
  });
}
