import type { DeviceAddress, Workspace } from '@gateway/contracts/ids';
import { inTime } from '@gateway/runtime/clock';
import type { Logger } from '@gateway/runtime/logs/logger';
import { recordAudit } from '@gateway/store/console/audit';
import { readDefaultDevice } from '@gateway/store/devices/choosing/default-device';
import type { ApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import type { Request, Response } from 'express';
import type { ApiDeps } from '../../api-deps.js';
import type { DeviceStates } from '../../devices/device-states.js';
import { sendFile } from '../../media/send-file.js';
import { sendAnswer } from '../../sends/send-answer.js';
import type { Answer, Call, Endpoint } from '../endpoint.js';
import type { KnownTokens } from '../known-tokens.js';
import { readInTurn } from '../read-in-turn.js';
import { accountOf, inTurn, isOver, localsOf } from '../request-locals.js';
import { checkScope } from './require-scope.js';
import type { Step } from './step.js';

interface CallDeps {
  deps: ApiDeps;
  states: DeviceStates;
  known: Pick<KnownTokens, 'findAgain' | 'requireThere' | 'confirm'>;
}

/** The last step: hands plain data to the endpoint and writes what it answers. */
export function runHandler<Query, Body>(
  endpoint: Endpoint<Query, Body>,
  deps: ApiDeps,
  caches: Omit<CallDeps, 'deps'>,
): Step {
  const isRead = endpoint.methods.includes('get');
  return async (req, res) => {
    try {
      const found = addressFor(deps, localsOf(res).token!);
      const address = found instanceof Promise ? await found : found;
      const call = new RequestCall<Query, Body>(req, res, address, { deps, endpoint, ...caches });
      const handle = () => endpoint.handle(call, deps);
      const given = await (endpoint.readsMuch ? readInTurn(call, handle) : handle());
      if ('file' in given) return await sendFile(res, given, call.logger);
      const { status, headers, body, audit } = given;
      // What changes something looks for itself, and has been done by now.
      const looking = isRead ? caches.known.requireThere(call.token.keyId) : undefined;
      if (looking) await looking;
      if (audit) await writeAudit(audit, res, deps);
      sendAnswer(res, { status, body: { success: true, ...body }, ...(headers && { headers }) });
    } finally {
      localsOf(res).endSteps?.();
    }
  };
}

/** A caller waits no longer for its line in the log: on a Cluster that may lie on a node that hangs. */
const AUDIT_MS = 300;

/** The change is made: it is not undone because the log of it cannot be written. */
async function writeAudit(audit: NonNullable<Answer['audit']>, res: Response, deps: ApiDeps): Promise<void> {
  const { requestId, token } = localsOf(res);
  const { name, keyId, workspace, isPassing } = token!;
  if (isPassing) return;
  const line = { ...audit, workspace, user: `${name} (${keyId})`, requestId };
  const recorded = recordAudit(deps.store, line, keyId).catch((thrown: unknown) =>
    deps.logger.warn('the audit log could not be written', { requestId, ...audit, error: thrown }),
  );
  await inTime(recorded, AUDIT_MS);
}

/** Without a round trip for a token of a device. */
function addressFor({ store }: ApiDeps, { workspace, device }: ApiToken): DeviceAddress | Promise<DeviceAddress> {
  if (device !== undefined) return { workspace, device };
  return readDefaultDevice(store, workspace).then((found) => ({ workspace, device: found }));
}

/** Not a literal: what has accessors of its own costs as much as a check. */
class RequestCall<Query, Body> implements Call<Query, Body> {
  readonly #res: Response;
  readonly #deps: ApiDeps;
  /** The last question whether its token is kept. */
  #kept: Promise<void> | undefined;
  #logger: Logger | undefined;
  readonly requestId: string;
  readonly workspace: Workspace;
  readonly token: ApiToken;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: Body;
  readonly idempotencyKey?: string;
  readonly lastEventId: string | undefined;
  readonly trace: string | undefined;
  readonly readState: Call<Query, Body>['readState'];
  readonly noteSend: () => void;
  readonly inTurn: Call<Query, Body>['inTurn'];
  readonly requireToken: Call<Query, Body>['requireToken'];
  readonly requireKeptToken: Call<Query, Body>['requireKeptToken'];

  constructor(
    req: Request,
    res: Response,
    readonly address: DeviceAddress,
    { deps, endpoint, states, known }: CallDeps & { endpoint: Pick<Endpoint, 'scope' | 'ofWorkspace' | 'makesSends'> },
  ) {
    const locals = localsOf(res);
    this.#res = res;
    this.#deps = deps;
    this.requestId = locals.requestId;
    this.token = locals.token!;
    this.workspace = this.token.workspace;
    this.params = req.params as Record<string, string>;
    this.query = locals.query as Query;
    this.body = locals.body as Body;
    if (locals.idempotencyKey !== undefined) this.idempotencyKey = locals.idempotencyKey;
    this.lastEventId = req.get('last-event-id');
    this.trace = locals.trace;
    this.readState = () => {
      locals.state ??= states.read(address);
      return locals.state;
    };
    this.noteSend = () => {
      locals.madeSend = true;
    };
    this.inTurn = (step) => inTurn(res, step);
    const ask = () => {
      if (!endpoint.makesSends) return;
      this.#kept = known.confirm(this.token);
      this.#kept?.catch(() => {});
    };
    ask();
    this.requireToken = async () => {
      checkScope(await known.findAgain(this.token.keyId), endpoint);
      ask();
    };
    this.requireKeptToken = async () => this.#kept;
  }

  // Made for the few that ask: most requests neither wait nor log.
  get signal(): AbortSignal {
    const locals = localsOf(this.#res);
    locals.signal ??= AbortSignal.any([whenGone(this.#res), this.#deps.stopping]);
    return locals.signal;
  }

  get logger(): Logger {
    this.#logger ??= this.#deps.logger.child({ requestId: this.requestId });
    return this.#logger;
  }

  get account(): Call<Query, Body>['account'] {
    return accountOf(this.#res, this.#deps.bodies);
  }
}

function whenGone(res: Response): AbortSignal {
  const gone = new AbortController();
  if (isOver(res)) gone.abort();
  else res.once('close', () => gone.abort());
  return gone.signal;
}
