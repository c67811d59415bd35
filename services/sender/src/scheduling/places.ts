import { GatewayError } from '@gateway/runtime/errors';

/** Where a recipient is, and where they may go from there. */
const MOVES = {
  /** Is to be looked up. */
  waiting: ['lookingUp', 'settled'],
  lookingUp: ['ready', 'alone', 'waiting', 'pausing', 'held', 'settled'],
  /** Was looked up; of several parts, got the one before. */
  ready: ['inFlight', 'waiting', 'pausing', 'held', 'settled'],
  /** The same, and must get the message with nothing else in flight. */
  alone: ['inFlight', 'waiting', 'pausing', 'held', 'settled'],
  /** Passed the gates: is claimed and written to, or waits for the ack. */
  inFlight: ['ready', 'waiting', 'pausing', 'held', 'settled'],
  /** Waits for the next attempt, or for as long as a gate says. */
  pausing: ['waiting', 'settled'],
  /** Waits for the end of a restriction, or for the phone history. */
  held: ['waiting', 'settled'],
  settled: [],
} as const satisfies Record<string, readonly string[]>;

export type Place = keyof typeof MOVES;

const NAMES = Object.keys(MOVES) as Place[];
/** A byte for each recipient. */
const CODES = Object.fromEntries(NAMES.map((name, code) => [name, code])) as Record<Place, number>;
/** The places with an order. */
const QUEUES = ['waiting', 'ready', 'alone', 'pausing', 'held'] as const satisfies readonly Place[];
type Queue = (typeof QUEUES)[number];

/** Where those are who are not settled, but for those in a lookup, which takes moments. */
export const ACTIVE_PLACES = [...QUEUES, 'inFlight'] as const;
export type PlaceCounts = Record<(typeof ACTIVE_PLACES)[number], number>;

export class IllegalMoveError extends GatewayError {
  constructor(move: { recipientIndex: number; from: Place; to: Place }) {
    super({ code: 'illegal_move', message: `a recipient cannot go from ${move.from} to ${move.to}`, fields: move });
  }
}

/**
 * The recipients of one send, each in one place at a time. A move that is not in `MOVES` is a defect: it is
 * reported and not made, as Redis has the truth about the recipient.
 */
export class Places {
  /** By index: all others follow from it. */
  private readonly codes: Uint8Array;
  private readonly queues: Record<Queue, number[]> = { waiting: [], ready: [], alone: [], pausing: [], held: [] };
  private inFlight = 0;
  /** Called when some are to be looked up, now or after a pause. */
  onUnprepared: () => void = () => {};

  constructor(
    recipients: number,
    private readonly onIllegalMove: (error: IllegalMoveError) => void = raise,
  ) {
    this.codes = new Uint8Array(recipients).fill(CODES.settled);
  }

  /** Recipients that are not settled when the send is loaded. */
  begin(indices: readonly number[], place: 'waiting' | 'pausing'): void {
    for (const index of indices) this.codes[index] = CODES[place];
    this.queues[place].push(...indices);
  }

  of(index: number): Place {
    return NAMES[this.codes[index]!]!;
  }

  /** In the order of their turns. */
  in(place: Queue): readonly number[] {
    return this.queues[place];
  }

  count(place: Queue | 'inFlight'): number {
    return place === 'inFlight' ? this.inFlight : this.queues[place].length;
  }

  // The next four are asked for many sends at each message.

  get hasReady(): boolean {
    return this.queues.ready.length > 0;
  }

  get hasAlone(): boolean {
    return this.queues.alone.length > 0;
  }

  /** Some are to be looked up, now or after a pause. */
  get hasUnprepared(): boolean {
    return this.queues.waiting.length + this.queues.pausing.length > 0;
  }

  /** Some are neither settled nor held. */
  get hasWork(): boolean {
    const { waiting, ready, alone, pausing } = this.queues;
    return this.inFlight + waiting.length + ready.length + alone.length + pausing.length > 0;
  }

  /** To the end of their new place, or before all others there. */
  move(indices: readonly number[], to: Place, { first = false } = {}): void {
    if (indices.length === 0) return;
    const left = new Set<Place>();
    const moved = indices.filter((index) => {
      const from = this.of(index);
      if (!this.mayMove(index, to)) return false;
      this.codes[index] = CODES[to];
      left.add(from);
      if (from === 'inFlight') this.inFlight--;
      if (to === 'inFlight') this.inFlight++;
      return true;
    });
    for (const queue of QUEUES) if (left.has(queue)) this.keepIn(queue);
    if (to === 'waiting' || to === 'pausing') this.onUnprepared();
    if (!isQueue(to)) return;
    if (first) this.queues[to].unshift(...moved);
    else this.queues[to].push(...moved);
  }

  /** The next `limit` of a queue, who go on to another place. */
  take(limit: number, from: Queue, to: Place): number[] {
    const taken = this.queues[from].slice(0, limit);
    this.move(taken, to);
    return taken;
  }

  /** Those of a queue have their turns in another order. */
  order(queue: Queue, indices: readonly number[]): void {
    this.queues[queue] = [...indices];
  }

  private mayMove(index: number, to: Place): boolean {
    const from = this.of(index);
    const isLegal = (MOVES[from] as readonly Place[]).includes(to);
    if (!isLegal) this.onIllegalMove(new IllegalMoveError({ recipientIndex: index, from, to }));
    return isLegal;
  }

  private keepIn(queue: Queue): void {
    this.queues[queue] = this.queues[queue].filter((index) => this.of(index) === queue);
  }
}

function raise(error: Error): never {
  throw error;
}

function isQueue(place: Place): place is Queue {
  return (QUEUES as readonly Place[]).includes(place);
}
