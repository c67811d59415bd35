import type { DeviceScheduler } from '@gateway/sender/scheduling/device-scheduler';
import { eventually } from '@gateway/testkit/eventually';
import type { Answer } from '@gateway/testkit/scripted-session';
import { useScheduler } from './scheduler-stage.js';

export const ACCEPTED: Answer = { kind: 'accepted', atMs: 0 };
export const numbers = (count: number, series = 0) =>
  Array.from({ length: count }, (_, i) => `49151${series}${String(i).padStart(6, '0')}`);
export const [ADA, BEN, CLEO, DORA] = numbers(4, 9) as [string, string, string, string];

type Stage = ReturnType<typeof useScheduler>;

interface OpenScheduler {
  stage: Stage;
  /** With a session on which everything may go out. */
  open(options?: Parameters<Stage['makeScheduler']>[0]): {
    scheduler: DeviceScheduler;
    session: ReturnType<Stage['makeSession']>;
  };
  recipients(): string[];
  idsOf(number: string): string[];
  /** Resolves when so many lists are looked up. */
  prepared(scheduler: DeviceScheduler, sends: number): Promise<boolean>;
}

/** The stage of a scheduler, with what most of its tests ask. */
export function useOpenScheduler(): OpenScheduler {
  const stage = useScheduler();
  return {
    stage,
    open(options) {
      const scheduler = stage.makeScheduler(options);
      const session = stage.makeSession();
      scheduler.attach(session);
      return { scheduler, session };
    },
    recipients: () => stage.sent.map(({ to }) => to),
    idsOf: (number) => stage.sent.filter(({ to }) => to === number).map(({ platformId }) => platformId),
    prepared: (scheduler, sends) =>
      eventually(() => scheduler.sends.inTurn().filter(({ hasReady }) => hasReady).length === sends, { everyMs: 1 }),
  };
}
