import { contentOfPart, type MessageContent } from '@gateway/contracts/content/message-content';

/** A longer one is kept as bytes. */
const LONG_BYTES = 4_096;
/** As objects: two for each character, and what holds them. */
const OBJECT_FACTOR = 2;

/**
 * The content of an active send. A long one lies outside of the heap and is read when a message is written: as a string, it would take two
 * bytes for each character, and up to twice that, as its page of the heap has no room for another one. At a take-over
 * thousands of such sends may become active at once.
 */
export class KeptContent {
  private readonly kept: MessageContent | Buffer;
  /** What it takes of the memory of its process, about. */
  readonly bytes: number;

  constructor(content: MessageContent) {
    const json = Buffer.from(JSON.stringify(content));
    const isLong = json.length > LONG_BYTES;
    this.kept = isLong ? json : content;
    this.bytes = isLong ? json.length : OBJECT_FACTOR * json.length;
  }

  read(): MessageContent {
    return Buffer.isBuffer(this.kept) ? JSON.parse(this.kept.toString()) : this.kept;
  }

  /** Throws when it has no such part. */
  readPart(part: number): MessageContent {
    const content = contentOfPart(this.read(), part);
    if (!content) throw new Error(`a send has no content for part ${part}`);
    return content;
  }
}
