import type { LogFields, Logger } from '@gateway/runtime/logs/logger';
import type { SendProgress } from '../scheduling/send-progress.js';

interface Line {
  messageId: string;
  sentence: string;
  fields: LogFields;
  count: number;
  of: 'recipients' | 'attempts';
  writeAtMs: number;
}

/** Whether or not the send has ended by then. */
const GATHER_MS = 60_000;

/**
 * The log of failed messages: one line for all of a send with the same reason, when the send is over or
 * after a minute. A list of 10,000 bad numbers is one line.
 */
export class FailureLines {
  private readonly lines = new Map<string, Line>();

  constructor(private readonly logger: Logger) {}

  /**
   * @param failure.reason tells this failure from others of its sentence.
   * @param failure.of what is counted: recipients, unless it is said.
   */
  count(
    { messageId, record: { requestId } }: SendProgress,
    failure: { sentence: string; reason: string | number; fields: LogFields; nowMs: number; of?: Line['of'] },
  ): void {
    const { sentence, reason, fields, nowMs, of = 'recipients' } = failure;
    const key = `${messageId} ${sentence} ${reason}`;
    const line = this.lines.get(key);
    if (line) line.count++;
    else {
      const first = { messageId, sentence, fields: { messageId, requestId, ...fields }, count: 1, of };
      this.lines.set(key, { ...first, writeAtMs: nowMs + GATHER_MS });
    }
  }

  /** Those that are due. Called often. */
  tick(nowMs: number): void {
    this.write(({ writeAtMs }) => writeAtMs <= nowMs);
  }

  /** Those of a send that is over. */
  end({ messageId }: SendProgress): void {
    this.write((line) => line.messageId === messageId);
  }

  writeAll(): void {
    this.write(() => true);
  }

  private write(isDue: (line: Line) => boolean): void {
    for (const [key, line] of this.lines) {
      if (!isDue(line)) continue;
      this.lines.delete(key);
      this.logger.warn(line.sentence, { ...line.fields, [line.of]: line.count });
    }
  }
}
