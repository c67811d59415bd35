import { PROLOGUE, type Sealed } from './noise-responder.js';

const LENGTH_BYTES = 3;
const EDGE_ROUTING = Buffer.from('ED');

/** A client opened its stream with another header than the protocol's, or another version of it. */
export class UnknownProtocolError extends Error {
  constructor(prologue: Buffer) {
    const isOurs = prologue.subarray(0, 2).equals(PROLOGUE.subarray(0, 2));
    const asked = isOurs ? `version ${prologue[2]}.${prologue[3]}` : `header ${prologue.toString('hex')}`;
    super(`unknown protocol ${asked}, this server speaks version ${PROLOGUE[2]}.${PROLOGUE[3]}`);
  }
}

/** Puts the 3-byte length before a payload. */
export function frameOf(payload: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(LENGTH_BYTES + payload.length);
  frame.writeUIntBE(payload.length, 0, LENGTH_BYTES);
  frame.set(payload, LENGTH_BYTES);
  return frame;
}

/** A binary WebSocket message of a server: final, unmasked, its length in 1, 3 or 9 bytes. */
const BINARY_MESSAGE = 0x82;
const LENGTH_IN_2 = 126;
const LENGTH_IN_8 = 127;

/** Several sealed stanzas as one WebSocket message, header and all: one allocation, one write. */
export function joinSealed(stanzas: readonly Sealed[]): Buffer {
  let length = 0;
  for (const { body, tag } of stanzas) length += LENGTH_BYTES + body.length + tag.length;
  const lengthBytes = length < LENGTH_IN_2 ? 0 : length < 0x10000 ? 2 : 8;
  const message = Buffer.allocUnsafe(2 + lengthBytes + length);
  message[0] = BINARY_MESSAGE;
  message[1] = lengthBytes === 0 ? length : lengthBytes === 2 ? LENGTH_IN_2 : LENGTH_IN_8;
  if (lengthBytes === 8) message.writeBigUInt64BE(BigInt(length), 2);
  else if (lengthBytes === 2) message.writeUInt16BE(length, 2);
  let at = 2 + lengthBytes;
  for (const { body, tag } of stanzas) {
    at = message.writeUIntBE(body.length + tag.length, at, LENGTH_BYTES);
    message.set(body, at);
    message.set(tag, at + body.length);
    at += body.length + tag.length;
  }
  return message;
}

/**
 * Cuts the bytes of one connection into frames. The stream opens with the protocol's prologue, before which a client
 * that was here before may put its edge-routing hint: 'ED', 0, 1, a 3-byte length, the hint.
 */
export class FrameReader {
  #bytes: Buffer = Buffer.alloc(0);
  #greeted = false;

  /** The frames completed by this chunk. Throws when the stream does not open as it must. */
  push(chunk: Buffer): Buffer[] {
    this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk]);
    if (!this.#greeted && !this.#readGreeting()) return [];
    const frames: Buffer[] = [];
    for (let frame = this.#takeFrame(); frame; frame = this.#takeFrame()) frames.push(frame);
    return frames;
  }

  #takeFrame(): Buffer | undefined {
    if (this.#bytes.length < LENGTH_BYTES) return undefined;
    const end = LENGTH_BYTES + this.#bytes.readUIntBE(0, LENGTH_BYTES);
    if (this.#bytes.length < end) return undefined;
    const frame = this.#bytes.subarray(LENGTH_BYTES, end);
    this.#bytes = this.#bytes.subarray(end);
    return frame;
  }

  #readGreeting(): boolean {
    if (this.#bytes.length < 7) return false;
    const start = this.#bytes.subarray(0, 2).equals(EDGE_ROUTING) ? 7 + this.#bytes.readUIntBE(4, 3) : 0;
    const end = start + PROLOGUE.length;
    if (this.#bytes.length < end) return false;
    const prologue = this.#bytes.subarray(start, end);
    if (!prologue.equals(PROLOGUE)) throw new UnknownProtocolError(prologue);
    this.#bytes = this.#bytes.subarray(end);
    this.#greeted = true;
    return true;
  }
}
