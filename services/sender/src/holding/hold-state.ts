import type { HeldRestriction, Restriction, RestrictionKind } from '@gateway/contracts/devices/restriction';

export type HoldState =
  | { kind: 'free' }
  /** A message was refused as one to a stranger, and the network is being asked whether this limit is the reason. */
  | { kind: 'suspected'; limit: RestrictionKind }
  | { kind: 'restricted'; restriction: HeldRestriction };

export type HoldAnswer = Restriction | 'free' | 'silence';

/** The network may lift a restriction before its end; news of it can get lost. */
const ASK_AGAIN_MS = 15 * 60_000;
/** After the end by our clock; and after an unanswered question, with pauses that double. */
const ASK_SOON_MS = 5_000;
/** As often as the web client asks without a restriction; plus up to a quarter, so that a fleet spreads out. */
const ASK_FREE_MS = 60 * 60_000;
/** After this time without an answer, single attempts begin. */
const SILENCE_MS = 10 * 60_000;
const TRIAL_PAUSE_MS = 15 * 60_000;

/** The code of an exhausted quota; the other one, 463, may mean a lock. */
const CAPPED = 475;

export function limitOf(code: number): RestrictionKind {
  return code === CAPPED ? 'new_chat_cap' : 'reach_out_time_lock';
}

export function afterAnswer(state: HoldState, said: HoldAnswer, nowMs: number): HoldState {
  if (said === 'free') return { kind: 'free' };
  const held = restrictionOf(state);
  if (said !== 'silence') {
    const { sinceMs = nowMs, triedAtMs } = held ?? {};
    return { kind: 'restricted', restriction: { ...said, sinceMs, ...(triedAtMs && { triedAtMs }) } };
  }
  const silence = { silentSinceMs: nowMs };
  // A refusal is evidence enough for now; its end is still unknown.
  if (state.kind === 'suspected') {
    return { kind: 'restricted', restriction: { kind: state.limit, sinceMs: nowMs, ...silence } };
  }
  if (!held || held.silentSinceMs !== undefined) return state;
  return { kind: 'restricted', restriction: { ...held, ...silence } };
}

/** When the network is asked next, unless there is news before. */
export function nextQuestionAtMs(state: HoldState, silences: number, nowMs: number): number {
  if (state.kind === 'suspected') return nowMs;
  if (silences > 0) return nowMs + Math.min(ASK_SOON_MS * 2 ** (silences - 1), ASK_AGAIN_MS);
  if (state.kind === 'free') return nowMs + ASK_FREE_MS * (1 + Math.random() / 4);
  const { untilMs = Number.POSITIVE_INFINITY } = state.restriction;
  return untilMs > nowMs ? Math.min(untilMs, nowMs + ASK_AGAIN_MS) : nowMs + ASK_SOON_MS;
}

/**
 * When the next waiting recipient gets an attempt although the network has not lifted the restriction: if it has not
 * answered for a while, and not before the end that it named. `undefined`: it answers.
 */
export function nextTrialAtMs({ untilMs = 0, silentSinceMs, triedAtMs = 0 }: HeldRestriction): number | undefined {
  if (silentSinceMs === undefined) return undefined;
  return Math.max(silentSinceMs + SILENCE_MS, untilMs, triedAtMs + TRIAL_PAUSE_MS);
}

/** The limit that the next question is about, if it is about one. */
export function limitInDoubt(state: HoldState): RestrictionKind | undefined {
  return state.kind === 'suspected' ? state.limit : restrictionOf(state)?.kind;
}

export function restrictionOf(state: HoldState): HeldRestriction | undefined {
  return state.kind === 'restricted' ? state.restriction : undefined;
}
