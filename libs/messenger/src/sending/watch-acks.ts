import { systemClock } from '@gateway/runtime/clock';
import { type AckOutcome, toAckOutcome } from '../codes/ack-outcomes.js';
import type { LateRefusal } from '../session/session-events.js';
import type { BaileysSocket, BinaryNode } from '../socket/baileys.js';

export interface AckWatchDeps {
  sock: BaileysSocket;
  ackTimeoutMs: number;
  onLateRefusal(refusal: LateRefusal): void;
}

/** One message's wait for its ack. */
export interface AckWait {
  outcome: Promise<AckOutcome>;
  /** The message was written: from now on the network has `ackTimeoutMs`. */
  startClock(): void;
  /** The message was not written. */
  cancel(): void;
}

/**
 * Waits for the network's verdict on messages: one listener on the class of acks serves all.
 * (A `TAG:` listener of the library would not do: a receipt carries the same id and fires it too.)
 */
export class AckWatch {
  readonly #deps: AckWatchDeps;
  readonly #waiting = new Map<string, { settle(outcome: AckOutcome): void; onStaleLid(): void }>();

  constructor(deps: AckWatchDeps) {
    this.#deps = deps;
    deps.sock.ws.on('CB:ack,class:message', (node: BinaryNode) => this.#onAck(node));
  }

  /**
   * Call it before the message is written: an ack can arrive before the code after the write runs.
   * @param options.onStaleLid the network reports, with any verdict, that the recipient has another hidden identifier.
   */
  expect(platformId: string, { onStaleLid = () => {} }: { onStaleLid?: () => void } = {}): AckWait {
    let timer: NodeJS.Timeout | undefined;
    let settle: (outcome: AckOutcome) => void = () => {};
    const isWaiting = () => this.#waiting.get(platformId)?.settle === settle;
    const outcome = new Promise<AckOutcome>((resolve) => {
      settle = (result) => {
        clearTimeout(timer);
        if (isWaiting()) this.#waiting.delete(platformId);
        resolve(result);
      };
    });
    // A second wait for the same id replaces the first one, which then gets nothing.
    this.#waiting.get(platformId)?.settle({ kind: 'unacknowledged' });
    this.#waiting.set(platformId, { settle, onStaleLid });
    return {
      outcome,
      startClock: () => {
        if (isWaiting()) timer = setTimeout(() => settle({ kind: 'unacknowledged' }), this.#deps.ackTimeoutMs);
      },
      cancel: () => settle({ kind: 'unacknowledged' }),
    };
  }

  /** The connection is gone, and with it all missing acks. */
  endAll(): void {
    for (const { settle } of [...this.#waiting.values()]) settle({ kind: 'unacknowledged' });
  }

  #onAck({ attrs }: BinaryNode): void {
    const { id, error, refresh_lid: refreshLid } = attrs;
    if (!id) return;
    const outcome = toAckOutcome(error, systemClock.nowMs());
    const waiting = this.#waiting.get(id);
    if (waiting && refreshLid === 'true') waiting.onStaleLid();
    if (waiting) waiting.settle(outcome);
    else if ('code' in outcome) {
      const { kind, code } = outcome;
      this.#deps.onLateRefusal({ platformId: id, code, isFinal: kind === 'refused' });
    }
  }
}
