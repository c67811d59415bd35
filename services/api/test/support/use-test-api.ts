import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { standIn } from '@gateway/testkit/stand-in';
import { type DeviceOwner, linkDevice } from './device-owner.js';
import { startTestApi, type TestApi, type TestApiOptions } from './test-api.js';

interface Stage {
  space: RedisSpace;
  api: TestApi;
  /** Of the default device, linked and online; only with `linked`. */
  owner: DeviceOwner;
}

/**
 * An API on a Redis space of its own, made again for each test, or with `once` for all tests of the `describe` that this
 * is called in. What it returns stands for whatever is there at the time.
 */
export function useTestApi({
  once = false,
  linked = false,
  ...options
}: TestApiOptions & { once?: boolean; linked?: boolean } = {}): Stage {
  let stage: Stage;
  (once ? before : beforeEach)(async () => {
    const space = await openRedisSpace();
    stage = { space, api: await startTestApi(space, options) } as Stage;
    if (linked) stage.owner = await linkDevice(space.store);
  });
  (once ? after : afterEach)(async () => {
    await stage.api.close();
    await stage.space.close();
  });
  return { space: standIn(() => stage.space), api: standIn(() => stage.api), owner: standIn(() => stage.owner) };
}
