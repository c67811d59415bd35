import type { ApiTokenScope } from '@gateway/contracts/api-token';
import { API_ERRORS } from '@gateway/contracts/errors';
import type { DeviceId, Workspace } from '@gateway/contracts/ids';
import type { Clock } from '@gateway/runtime/clock';
import { GatewayError, toError } from '@gateway/runtime/errors';
import type { Store } from '@gateway/store/core/store';
import { createPassingToken } from '@gateway/store/workspace/tokens/api-tokens';
import { ConsoleError } from './http/console-error.js';

interface PublicApiDeps {
  store: Store;
  workspace: Workspace;
  /** Without a path. */
  apiUrl: string;
  clock: Clock;
}

interface ApiCall {
  /** In whose name. */
  user: string;
  /** Without it the call is one of the whole workspace: opt-outs, webhooks. */
  device?: DeviceId;
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Below the API's own path, with its query. */
  path: string;
  json?: unknown;
  headers?: Record<string, string>;
  /** Of the page's request: the API's log has the same. */
  requestId: string;
  signal: AbortSignal;
}

/** What the API refused, as it said it, with the code of the sentence. */
export class ApiRefusal extends GatewayError {
  constructor(
    readonly status: number,
    readonly body: Record<string, unknown>,
  ) {
    super({ code: 'api_refused', message: 'the API refused a call of the console' });
  }
}

const TOKEN_MS = 15 * 60_000;
/** A token with less than this left is not used for another call. */
const SPARE_MS = 60_000;
const PATIENCE_MS = 40_000;
/** `admin`: it cancels what programs have sent. */
const SCOPES_OF_DEVICE: readonly ApiTokenScope[] = ['connect', 'read', 'send', 'admin'];
const SCOPES_OF_WORKSPACE: readonly ApiTokenScope[] = ['opt-outs', 'webhooks'];

/**
 * What the public API can do, the console does through it, as its first customer: no rule of it is written twice. It shows
 * a token of the user and the device, which lives for a quarter of an hour and is in no list.
 */
export class PublicApi {
  readonly #tokens = new Map<string, { value: string; expiresAtMs: number }>();

  constructor(private readonly deps: PublicApiDeps) {}

  /** Throws `ApiRefusal` for what the API refuses, and `api_away` when it does not answer. */
  async call(call: ApiCall): Promise<Record<string, unknown>> {
    const response = await this.#fetch(call);
    const body = (await response.json().catch(() => ({}))) as Record<string, unknown>;
    if (response.ok) return body;
    if (response.status === 401) this.#tokens.delete(placeOf(call));
    throw new ApiRefusal(response.status, { ...body, code: codeOf(body.error) });
  }

  async #fetch(call: ApiCall): Promise<Response> {
    const { method, path, json, headers, requestId, signal } = call;
    const token = await this.#tokenFor(call);
    try {
      return await fetch(`${this.deps.apiUrl}/api/messenger/v1${path}`, {
        method,
        headers: {
          ...{ authorization: `Bearer ${token}`, 'x-request-id': requestId },
          ...(json !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(json !== undefined && { body: JSON.stringify(json) }),
        signal: AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]),
      });
    } catch (thrown) {
      throw new ConsoleError('api_away', { cause: toError(thrown) });
    }
  }

  async #tokenFor(call: ApiCall): Promise<string> {
    const { store, workspace, clock } = this.deps;
    const nowMs = clock.nowMs();
    const place = placeOf(call);
    const known = this.#tokens.get(place);
    if (known && known.expiresAtMs - SPARE_MS > nowMs) return known.value;
    this.#forgetOld(nowMs);
    const expiresAtMs = nowMs + TOKEN_MS;
    const name = `console: ${call.user}`;
    // An idempotency key belongs to an owner: also to another replica, and a quarter of an hour later, a form is the same.
    const owner = `console-${call.user}`;
    const { value } = await createPassingToken(store, workspace, { ...boundsOf(call), name, owner, expiresAtMs });
    this.#tokens.set(place, { value, expiresAtMs });
    return value;
  }

  #forgetOld(nowMs: number): void {
    for (const [place, { expiresAtMs }] of this.#tokens) if (expiresAtMs <= nowMs) this.#tokens.delete(place);
  }
}

function placeOf({ user, device = '' }: ApiCall): string {
  return `${user} ${device}`;
}

function boundsOf({ device }: ApiCall) {
  return device === undefined ? { scopes: SCOPES_OF_WORKSPACE } : { device, scopes: SCOPES_OF_DEVICE };
}

/** The API answers with sentences, each of which has one code. */
function codeOf(sentence: unknown): string {
  return Object.entries(API_ERRORS).find(([, { message }]) => message === sentence)?.[0] ?? 'api_refused';
}
