import type { PhoneView, ShownMessage } from '@gateway/contracts/console/send-views';
import { platformIds } from '@gateway/contracts/sends/platform-id';
import { toError } from '@gateway/runtime/errors';
import { readIdKey } from '@gateway/store/devices/devices';
import { readRecipientNumber } from '@gateway/store/sends/read-send';
import Joi from 'joi';
import type { DashboardDeps } from '../dashboard-deps.js';
import { ConsoleError } from '../http/console-error.js';
import { type Call, checkQuery, operation } from '../http/operation.js';
import { findSend } from '../views/send-view.js';

const PATIENCE_MS = 5_000;
const query = Joi.object<{ at: number }>({ at: Joi.number().integer().min(0).required() });

/** What the phone of a recipient shows of a send, on a simulated network. Query: `at`, the recipient's place. */
export const showPhone = operation({
  method: 'get',
  path: '/messages/:id/phone',
  for: 'operator',
  async handle(call, deps) {
    const { at } = checkQuery(query, call.req);
    const found = await findSend(deps.store, deps.workspace, call.params.id ?? '');
    if (deps.simulatorUrl === undefined || !found) throw new ConsoleError('not_found');
    const { address, send } = found;
    const [to, idKey] = await Promise.all([
      readRecipientNumber(deps.store, address, { tag: send.tag, recipient: at }),
      readIdKey(deps.store, address),
    ]);
    if (to === undefined || !/^\d+$/.test(to) || !idKey) throw new ConsoleError('not_found');
    const ids = platformIds(idKey);
    const ofSend = new Set(
      Array.from({ length: send.parts }, (_, part) => ids.make({ tag: send.tag, recipient: at, part })),
    );
    const rows = (await readInbox(to, call, deps)).filter(({ id, shown }) => ofSend.has(id) && shown > 0);
    const phone: PhoneView = { to, messages: rows.map((row) => describe(row, send.kind === 'otp')) };
    return { body: { phone } };
  },
});

/** As the simulator tells it. */
interface InboxRow {
  id: string;
  type: string;
  text: string | null;
  details?: { fileName?: string };
  shown: number;
  at: number;
  readAt: number | null;
}

/** Of a one-time password the console shows nothing, wherever it is. */
function describe({ type, text, details, at, readAt }: InboxRow, isSecret: boolean): ShownMessage {
  const name = details?.fileName;
  return {
    type,
    ...(text !== null && !isSecret && { text }),
    ...(name !== undefined && { file: name }),
    atMs: at,
    ...(readAt !== null && { readAtMs: readAt }),
  };
}

async function readInbox(number: string, { signal }: Call<unknown>, deps: DashboardDeps): Promise<InboxRow[]> {
  try {
    const answer = await fetch(`${deps.simulatorUrl}/admin/phones/${number}/messages`, {
      signal: AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]),
    });
    if (!answer.ok) throw new Error(`the simulator answered ${answer.status}`);
    return (await answer.json()) as InboxRow[];
  } catch (thrown) {
    throw new ConsoleError('unavailable', { cause: toError(thrown) });
  }
}
