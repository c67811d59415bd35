/**
 * Beside each other, so that nothing urgent waits for a list: `prompt` is told at once (one-time passwords, small sends, what people
 * write, devices, opt-outs), of `lists` changes are gathered.
 */
export const LANES = ['prompt', 'lists'] as const;
export type Lane = (typeof LANES)[number];
/** And what is told once more, from any lane. */
export type TellLane = Lane | 'replay';

/** A part of a lane that is being told: up to here, without what was put aside: all that has one of these keys. */
export interface LaneRange {
  to: string;
  without?: readonly string[];
}

/** What comes behind a claim, without all that has a key of what is in it; or of the claim itself what has this one key. */
export type Probe = LaneRange | { only: string };

/** From the cursor of a lane on. */
export interface LaneClaim extends LaneRange {
  /** How often something was answered that is no success. */
  refusals: number;
  /** Not again before, whatever becomes of other requests. */
  notBeforeMs?: number;
  /** Posted to find out whether only this one is refused. */
  probe?: Probe;
  /** How many of these were refused, too. */
  probes?: number;
}

/** Where a lane is in the log. */
export interface LaneState {
  /** All up to here has been told, or put aside. */
  cursor: string;
  claim?: LaneClaim;
  /** No more than so many changes in a request: it had more, and that was too much. */
  most?: number;
}
