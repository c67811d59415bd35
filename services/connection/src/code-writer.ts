import type { LinkingCode } from '@gateway/messenger/session/session-events';
import { toError } from '@gateway/runtime/errors';
import { type DeviceTask, observe } from './device-task.js';

/**
 * Stores the codes of an attempt for `/connect`. One after the other, so that an older code never
 * overwrites a newer one; those that come while one is being written replace each other.
 */
export class CodeWriter {
  /** Resolves when the last code is written. */
  written: Promise<void> = Promise.resolve();
  private next: LinkingCode | undefined;

  constructor(private readonly task: DeviceTask) {}

  write(code: LinkingCode): void {
    const isWaited = this.next !== undefined;
    this.next = code;
    if (!isWaited) this.written = this.written.then(() => this.writeNext());
  }

  private async writeNext(): Promise<void> {
    const code = this.next;
    this.next = undefined;
    if (!code) return;
    const reason = code.scanAgain ? 'scan_again' : 'linking';
    if (code.scanAgain) this.task.logger.info('the network wants another scan');
    try {
      await observe(this.task, { status: 'connecting', reason, code: code.value, codeExpiresAtMs: code.expiresAtMs });
    } catch (thrown) {
      this.task.logger.warn('linking code not stored', { error: toError(thrown) });
    }
  }
}
