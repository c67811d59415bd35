import { DEFAULT_WORKSPACE, type DeviceAddress, type Workspace } from '@gateway/contracts/ids';
import { shardOf } from '@gateway/contracts/shards';
import type { Store } from '@gateway/store/core/store';
import { setDefaultDevice } from '@gateway/store/devices/choosing/default-device';
import { recordObserved } from '@gateway/store/devices/device-state';
import { ensureDevice } from '@gateway/store/devices/devices';
import { deviceKeyStore } from '@gateway/store/devices/keys/device-keys';
import { askOwner } from '@gateway/store/devices/questions/owner-questions';
import { openEvents } from '@gateway/store/events/open-events';
import { recordIncoming } from '@gateway/store/inbound/incoming-messages';
import { countRequestOfToken } from '@gateway/store/limits/count-request';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { findRepeat } from '@gateway/store/sends/accepting/idempotency';
import { cancelSend } from '@gateway/store/sends/change-send';
import { readParkingKey } from '@gateway/store/webhooks/delivering/parked/parking-key';
import { addOptOuts } from '@gateway/store/workspace/opt-outs';
import { createApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import { takeDevice } from '@gateway/testkit/ownership';
import { namesWorkspace } from '@gateway/testkit/redis-servers/names-workspace';
import { nameOfStep, type Step, type WatchedSteps, watchSteps } from '@gateway/testkit/redis-servers/watch-steps';
import { createActiveWebhook } from '@gateway/testkit/webhooks/create-webhook';

/** These look at all devices of a shard, of whatever workspace: for the gateway itself, which tells no caller what it finds. */
const OF_ALL: Record<string, string> = {
  'find-unsettled': 'whose sends and files nobody has ended, for who serves what is due',
  'survey-shard': 'how many there are of everything, for the metrics of the installation',
};
const READS = ['EXISTS', 'GET', 'GETRANGE', 'HMGET', 'ZCARD'];

/**
 * Neighbours of a device: the workspace that is there from the start, and another, each with a device of the same name, and with some
 * of all that there is. Nothing works for them from then on, so that no step has a reason to name them.
 */
export function useNeighbours(store: Store, address: DeviceAddress) {
  const neighbours = [DEFAULT_WORKSPACE, inSameShard(address)];
  const steps: Step[] = [];
  let watched: WatchedSteps;
  let taken = 0;
  before(async () => {
    for (const workspace of neighbours) await furnish(store, { ...address, workspace });
    watched = await watchSteps(store.redis);
  });
  after(() => watched.close());

  async function takeSteps(): Promise<Step[]> {
    await watched.catchUp();
    const latest = watched.steps.slice(taken);
    taken = watched.steps.length;
    return latest;
  }
  return {
    /** What an operator does to all that there is: it names neighbours as well. */
    async ofAll<R>(act: () => Promise<R>): Promise<R> {
      steps.push(...(await takeSteps()));
      const result = await act();
      await takeSteps();
      return result;
    },
    /** The names of all steps until now, and what names a neighbour without being of all workspaces. */
    async look(): Promise<{ seen: Set<string>; strange: string[] }> {
      steps.push(...(await takeSteps()));
      const areNamed = neighbours.map((workspace) => namesWorkspace(store.space, workspace));
      const strange = steps.flatMap((step) => {
        const name = nameOfStep(step);
        const commands = step.filter((words) => areNamed.some((isNamed) => isNamed(words)));
        const isOfAll = name in OF_ALL && commands.every(([command]) => READS.includes(command!));
        return commands.length > 0 && !isOfAll ? [`${name}: ${JSON.stringify(commands)}`] : [];
      });
      return { seen: new Set(watched.steps.map(nameOfStep)), strange };
    },
  };
}

function inSameShard(address: DeviceAddress): Workspace {
  for (let n = 0; ; n++) {
    const workspace = `neighbour-${n}`;
    if (shardOf({ ...address, workspace }) === shardOf(address)) return workspace;
  }
}

/** What steps remember of a workspace, in Redis or in the process, is there of the neighbour first. */
async function furnish(store: Store, address: DeviceAddress): Promise<void> {
  const { workspace } = address;
  const [nowMs, phone] = [Date.now(), '4915112345670'];
  const later = nowMs + 3_600_000;
  await ensureDevice(store, address);
  await setDefaultDevice(store, address);
  await openEvents(store, workspace);
  const { token } = await createApiToken(store, workspace, { name: 'test' });
  await countRequestOfToken(store, `${store.space.prefix}:{${workspace}}:limit`);
  await addOptOuts(store, workspace, { numbers: ['447700900009'], source: 'api', atMs: nowMs });
  await readParkingKey(store, workspace, await createActiveWebhook(store, 'https://example.com/', workspace));
  await findRepeat(store, { owner: token.keyId, callersKey: 'k', address, isBound: true });
  const owner = (await takeDevice(store, address, { owner: 'neighbour', ttlMs: 3_600_000 }))!;
  await deviceKeyStore(store, owner).commit({
    creds: '{}',
    keys: [{ type: 'session', id: 'a.1', value: Buffer.of(7) }],
  });
  await recordObserved(store, owner, { actedOn: undefined, observed: { status: 'connected' } });
  await recordIncoming(store, owner, {
    message: { platformId: 'p', jid: 'j', text: 'hello', phone, atMs: nowMs },
    nowMs,
  });
  await askOwner(store, address, { id: 'q', question: { kind: 'session' } });
  const { messageId } = await acceptSend(store, address, {
    ...{ kind: 'text', content: { kind: 'text', text: 'hello' }, parts: 1, recipients: [phone] },
    ...{ owner: token.keyId, requestId: 'r', nowMs, expiresAtMs: later },
  });
  // None that is due is left.
  await cancelSend(store, address, messageId);
}
