import { API_TOKEN_SCOPES } from '@gateway/contracts/api-token';
import { RATE_LIMITS } from '@gateway/contracts/limits';
import { ensureDevice } from '@gateway/store/devices/devices';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { addOptOuts } from '@gateway/store/workspace/opt-outs';
import { createApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import { readCpuMs } from '@gateway/testkit/processes/cpu-time';
import { expect } from 'chai';
import { useAttackedApi } from './support/attacks/attacked-api.js';
import { fillLog } from './support/attacks/fill-log.js';

const OF_LISTS = { workspace: 'main', device: 'of-lists' };
/** More than one call looks through. */
const SENDS = 2_500;
/** Of all processes, for all that a token may ask for in a minute: half of one processor, on a machine that is busy with more. */
const MAX_CPU_MS = 30_000;

describe('what one caller can do to the others with all kinds of reads at once, on two replicas', () => {
  const api = useAttackedApi();
  let origins: string[];
  let messageId: string;
  before(async () => {
    const { store } = api.space;
    await fillLog(store, OF_LISTS, 6);
    await ensureDevice(store, OF_LISTS);
    for (let i = 0; i < 50; i++) await ensureDevice(store, { workspace: 'main', device: `device-${i}` });
    const nowMs = Date.now();
    const send = { kind: 'text', content: { kind: 'text', text: 'hello' }, parts: 1 } as const;
    const theirs = { owner: 'another', requestId: 'r', nowMs, expiresAtMs: nowMs + 3_600_000 };
    for (let i = 0; i < SENDS; i++) {
      const accepted = await acceptSend(store, OF_LISTS, { ...send, ...theirs, recipients: ['447700900001'] });
      messageId = accepted.messageId;
    }
    const numbers = Array.from({ length: 10_000 }, (_, i) => String(447_900_000_000 + i));
    await addOptOuts(store, 'main', { numbers, source: 'api', atMs: nowMs });
    origins = [api.origin, await api.addReplica()];
  });

  /** By both, all of what a minute has left. */
  async function askAll(token: string, path: string, times: number): Promise<Record<string, number>> {
    const statuses: Record<string, number> = {};
    const headers = { authorization: `Bearer ${token}` };
    const ask = async (_: unknown, i: number) => {
      const response = await fetch(`${origins[i % 2]}${path}`, { headers });
      await response.arrayBuffer();
      statuses[response.status] = (statuses[response.status] ?? 0) + 1;
    };
    await Promise.all(Array.from({ length: times }, ask));
    return statuses;
  }

  it('nothing, however costly they are', async () => {
    await api.expectNoHarm(async () => {
      const { value } = await createApiToken(api.space.store, 'main', { name: 'x', scopes: API_TOKEN_SCOPES });
      const third = RATE_LIMITS.messages / 3;
      const [events, before] = [RATE_LIMITS.events / 2, readCpuMs(api.process.pid)];
      const asked = await Promise.all([
        askAll(value, '/messages?limit=100&status=read', third),
        askAll(value, '/messages?limit=100&kind=otp', third),
        askAll(value, `/messages/${messageId}?limit=1000`, third),
        askAll(value, '/devices?limit=100', RATE_LIMITS.status),
        askAll(value, '/opt-outs?limit=1000', RATE_LIMITS.optOuts),
        askAll(value, '/events?after=0&types=message.read', events),
        askAll(value, '/events?after=0&limit=1000&types=message.cancelled,message.delivered', events),
        askAll(value, '/webhooks', RATE_LIMITS.webhooks),
        askAll(value, '/media/none', RATE_LIMITS.media),
        askAll(value, '/nothing', RATE_LIMITS.other),
      ]);
      // 503: those of its own that wait too long behind its others.
      for (const statuses of asked)
        for (const status of Object.keys(statuses)) expect(status).to.match(/^(200|404|503)$/);
      expect(2 * (readCpuMs(api.process.pid) - before)).to.be.at.most(MAX_CPU_MS);
    });
  });
});
