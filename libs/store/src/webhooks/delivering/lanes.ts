import type { ShardSet } from '@gateway/contracts/shards';

/**
 * Beside each other, so that nothing urgent waits for a list: `prompt` is told at once (one-time passwords, small sends, what people
 * write, devices, opt-outs), of `lists` changes are gathered.
 */
export const LANES = ['prompt', 'lists'] as const;
export type Lane = (typeof LANES)[number];
/** And what is told once more, from any lane. */
export type TellLane = Lane | 'replay';
/** All that an endpoint has a state of. */
export const ALL_LANES = [...LANES, 'replay', 'parked'] as const;

/** A part of a lane that is being told: up to here, without what was put aside: all that has one of these keys. */
export interface LaneRange {
  to: string;
  without?: readonly string[];
}

/**
 * What comes behind a claim, without all that has a key of what is in it, and no more of it than so many changes; or of the claim itself what
 * has this one key.
 */
export type Probe = (LaneRange & { most?: number }) | { only: string };

/** From the cursor of a lane on. */
export interface LaneClaim extends LaneRange {
  /** It is told in parts of so many changes: a whole was too much. What is tried in its place, and is too much as well, changes nothing here. */
  most?: number;
  /** What was asked for when it was made, and when it was said whom it leaves out. The version before wrote it only where it left someone out. */
  types?: readonly string[];
  /** Some of what is told alone was put aside a moment ago: this is as soon as it has failed once, if something else is taken. */
  isDoubted?: true;
  /** How often something was answered that is no success. */
  refusals: number;
  /** How often there was no answer. */
  silences?: number;
  /** It was refused, and is posted again itself: as long as no answer is known, it may have been taken. */
  mayBeTaken?: true;
  /** The revision of the endpoint that it failed at last: what others are answered since then says something of this one. */
  failedAs?: string;
  /** Which test the endpoint had passed then: the failures are counted from there. */
  testedAtMs?: number | undefined;
  /** Not again before, whatever becomes of other requests. */
  notBeforeMs?: number;
  /** Posted to find out whether only this one is refused. */
  probe?: Probe;
  /** How many of these failed, too. */
  probes?: number;
  /** How many since it was posted itself. */
  sinceTurn?: number;
  /** How many before their time had come. */
  early?: number;
  /** How many requests of it, probes too, the clock of the failing endpoint did not ask for. */
  offClock?: number;
  /** Up to here: what comes behind that was not tried yet. */
  tried?: string;
}

/** A part of an entry of the log that is passed, from where the one before ends. */
export interface AskedUpTo {
  to: string;
  types: readonly string[];
}

/** What a lane has passed, as it lies on a node of Redis that is away; what comes of the same shards is passed, too. */
export interface HeldPart extends Pick<LaneState, 'cursor' | 'asked' | 'claim'> {
  shards: ShardSet;
}

/** Where a lane is in the log. */
export interface LaneState {
  /** All up to here has been told, or put aside. */
  cursor: string;
  /** In the middle of an entry: what its endpoint asked for when the entry was told up to there. */
  asked?: readonly AskedUpTo[];
  claim?: LaneClaim;
  /** Of these shards it has come only so far; nothing is in two of them. */
  held?: readonly HeldPart[];
  /** It tells what it has passed of these shards, up to there: then it goes on with the others. */
  catchesUp?: { shards: ShardSet; to: string; asked?: readonly AskedUpTo[] };
  /** Until then what is told alone is doubted: see `LaneClaim`. */
  doubtsUntilMs?: number;
  /** No more than so many changes in a request: it had more, and that was too much. */
  most?: number;
  /** `most` is doubled after so many requests that are taken; how many of them are left; and whether none was taken since it was doubled. */
  growsAfter?: { requests: number; left: number; isNew?: true };
}
