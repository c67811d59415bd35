import { setTimeout as delay } from 'node:timers/promises';
import type { BaileysSocket, BinaryNode } from '../socket/baileys.js';
import { makePseudonyms, redactStanza, spellStanza } from './redact-stanza.js';

const MAX_STANZAS = 300;
const MAX_TRACE_CHARACTERS = 100_000;

/** Writes down the stanzas of one session, redacted, while it is asked to. Costs nothing otherwise. */
export class StanzaTrace {
  #isRecording = false;
  #write: ((direction: '>' | '<', text: string) => void) | undefined;

  /** While it is, the library spells out each stanza that it sends. */
  get isOn(): boolean {
    return this.#write !== undefined;
  }

  /** @param text of a stanza that goes out, as the library spells it. */
  sent(text: string): void {
    this.#write?.('>', text);
  }

  /** Resolves with what came and went, oldest first, bounded. One at a time: rejects while another runs. */
  async record(sock: BaileysSocket, { ms, signal }: { ms: number; signal: AbortSignal }): Promise<string[]> {
    if (this.#isRecording) throw new Error('a trace of this session is being made already');
    this.#isRecording = true;
    const stanzas: string[] = [];
    const pseudonym = makePseudonyms();
    const startedMs = performance.now();
    const full = new AbortController();
    let characters = 0;
    this.#write = (direction, text) => {
      const atSeconds = ((performance.now() - startedMs) / 1000).toFixed(3);
      const stanza = `+${atSeconds} ${direction} ${redactStanza(text, pseudonym)}`;
      characters += stanza.length;
      stanzas.push(stanza);
      if (stanzas.length < MAX_STANZAS && characters < MAX_TRACE_CHARACTERS) return;
      this.#write = undefined;
      full.abort();
    };
    const onFrame = (node: BinaryNode | Uint8Array) => {
      if (!(node instanceof Uint8Array)) this.#write?.('<', spellStanza(node));
    };
    sock.ws.on('frame', onFrame);
    try {
      await delay(ms, undefined, { signal: AbortSignal.any([signal, full.signal]) });
    } catch {
      // It is full, or the session has ended: the stanzas so far are the answer.
    } finally {
      this.#write = undefined;
      this.#isRecording = false;
      sock.ws.off('frame', onFrame);
    }
    return stanzas;
  }
}
