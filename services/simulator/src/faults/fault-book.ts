/** Where a fault can strike. */
export const FAULT_POINTS = ['connect', 'wire', 'pairing', 'login', 'iq', 'message', 'receipt', 'upload'] as const;
export type FaultPoint = (typeof FAULT_POINTS)[number];

/** Which events a rule is about; every field given must fit. */
export interface FaultMatch {
  /** Number of the account that is connected. */
  account?: string;
  device?: number;
  /** Number of the recipient of a message, or a group jid. */
  recipient?: string;
  messageId?: string;
  /** How a message names its recipient. */
  addressing?: 'lid' | 'pn';
  /** Namespace of a query (`encrypt`, `usync`, ...). */
  xmlns?: string;
  /** A collection of the account's settings: only in queries about these. */
  collection?: string;
  /** Which of the `w:mex` queries. */
  queryId?: string;
}

/** What happens then. Fields that do not belong to the point are ignored. */
export interface FaultAction {
  /** Wait before going on, plus up to `jitterMs`. */
  delayMs?: number;
  jitterMs?: number;
  /** wire: how fast stanzas to the client leave, on top of the latency. */
  bytesPerSecond?: number;
  /** connect, login, iq: accept and say nothing. message: swallow it, no ack, no delivery. receipt: it is lost. */
  silent?: boolean;
  /** message: deliver, but send no ack. */
  dropAck?: boolean;
  /** message: refuse with this code. */
  ackError?: number;
  /** message: whether it counts although the connection closes; default true. */
  accept?: boolean;
  closeBeforeAck?: boolean;
  closeAfterAck?: boolean;
  /** Any point with a connection: say this stream error and close. */
  streamError?: number;
  /** login: refuse with this reason. iq: answer with this error. connect, upload: answer with this HTTP status. pairing: refuse an 8-character code. */
  error?: number;
  /** pairing: the phone does not link. */
  refuse?: boolean;
}

export interface FaultRule {
  readonly id: string;
  readonly on: FaultPoint;
  readonly match: FaultMatch;
  readonly do: FaultAction;
  /** How many events it lets pass before the first that it strikes. */
  skip: number;
  /** How many it still strikes; null is all of them. */
  count: number | null;
  /** Strikes this share of the events that fit. */
  readonly probability: number;
  hits: number;
}

export type FaultRuleInput = Pick<FaultRule, 'on' | 'do'> &
  Partial<Pick<FaultRule, 'id' | 'match' | 'skip' | 'count' | 'probability'>>;

/** The rules in force. The first that fits an event strikes, and only that one. */
export class FaultBook {
  readonly #random: () => number;
  #rules: FaultRule[] = [];
  #lastId = 0;

  constructor(random: () => number) {
    this.#random = random;
  }

  list(): readonly FaultRule[] {
    return this.#rules;
  }

  add(input: FaultRuleInput): FaultRule {
    this.#lastId += 1;
    const { id = `fault-${this.#lastId}`, match = {}, skip = 0, count = null, probability = 1 } = input;
    const rule: FaultRule = { id, on: input.on, match, do: input.do, skip, count, probability, hits: 0 };
    this.#rules.push(rule);
    return rule;
  }

  replace(inputs: readonly FaultRuleInput[]): readonly FaultRule[] {
    this.#rules = [];
    for (const input of inputs) this.add(input);
    return this.#rules;
  }

  remove(id: string): boolean {
    const before = this.#rules.length;
    this.#rules = this.#rules.filter((rule) => rule.id !== id);
    return this.#rules.length < before;
  }

  clear(): void {
    this.#rules = [];
  }

  /** What strikes this event, if anything does; counts the hit. `applies` leaves out what is for another step. */
  strike(on: FaultPoint, event: FaultMatch, applies?: (rule: FaultRule) => boolean): FaultAction | undefined {
    if (this.#rules.length === 0) return undefined;
    const rule = this.#rules.find(
      (each) => each.on === on && each.count !== 0 && fits(each.match, event) && (applies?.(each) ?? true),
    );
    if (!rule) return undefined;
    if (rule.skip > 0) {
      rule.skip -= 1;
      return undefined;
    }
    if (rule.probability < 1 && this.#random() >= rule.probability) return undefined;
    if (rule.count !== null) rule.count -= 1;
    rule.hits += 1;
    return rule.do;
  }

  /** The delay of an action, jitter included. */
  delayOf({ delayMs = 0, jitterMs = 0 }: FaultAction): number {
    return jitterMs === 0 ? delayMs : delayMs + Math.floor(this.#random() * jitterMs);
  }
}

function fits(match: FaultMatch, event: FaultMatch): boolean {
  return Object.entries(match).every(([name, wanted]) => event[name as keyof FaultMatch] === wanted);
}
