/** The Redis that the launcher started for this test run. */
export function testRedisUrl(): string {
  const url = process.env.REDIS_URL;
  if (!url) throw new Error('REDIS_URL is not set: run the tests with `npm test`');
  return url;
}

/** What the model test is asked for: without a seed it takes one by chance. */
export function modelSettings(): { seed: number | undefined; sequences: number | undefined } {
  const { MODEL_SEED, MODEL_SEQUENCES } = process.env;
  return {
    seed: MODEL_SEED ? Number(MODEL_SEED) : undefined,
    sequences: MODEL_SEQUENCES ? Number(MODEL_SEQUENCES) : undefined,
  };
}

/** How long tests wait for what should become true, where they name no time; only mutations ask for less than the usual. */
export function patienceMs(): number | undefined {
  const { TEST_PATIENCE_MS } = process.env;
  return TEST_PATIENCE_MS ? Number(TEST_PATIENCE_MS) : undefined;
}

/** That of the gateway in a chaos run, where the command line says nothing. */
export function waitReplicas(): string {
  return process.env.REDIS_WAIT_REPLICAS || '0';
}
