import type { Workspace } from '@gateway/contracts/ids';
import type { EventBells } from '@gateway/store/events/event-bells';

export interface BellWait {
  /** Until the bell rings, or has rung since the last time; `false` after so many ms without, or when the caller is gone. */
  next(ms: number): Promise<boolean>;
  close(): void;
}

/** Rings that come while one reads are not missed. */
export function waitForBell(bells: EventBells, workspace: Workspace, signal: AbortSignal): BellWait {
  let hasRung = false;
  let wake = () => {};
  const stop = bells.on(workspace, () => {
    hasRung = true;
    wake();
  });
  const onGone = () => wake();
  signal.addEventListener('abort', onGone);
  return {
    async next(ms) {
      if (!hasRung && !signal.aborted) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, ms);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
      const rang = hasRung;
      hasRung = false;
      return rang;
    },
    close() {
      stop();
      signal.removeEventListener('abort', onGone);
    },
  };
}
