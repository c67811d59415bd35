import type { SendJob } from '@gateway/contracts/jobs';
import { spellingsOf } from '@gateway/contracts/people/phone-number';
import { ownErrorCode } from '@gateway/contracts/sends/recipient-errors';
import { RECIPIENT_STATUSES, type StatusCounts } from '@gateway/contracts/sends/statuses';
import { ActiveSends } from '@gateway/sender/scheduling/active-sends';
import { MemoryBudget } from '@gateway/sender/scheduling/memory-budget';
import type { Rest } from '@gateway/sender/scheduling/retries';
import { SendProgress } from '@gateway/sender/scheduling/send-progress';
import { MAX_FOUND } from '@gateway/sender/scheduling/waiting-lists';
import { eventually } from '@gateway/testkit/eventually';

const address = { workspace: 'main', device: 'a' };
const counts = Object.fromEntries(RECIPIENT_STATUSES.map((status) => [status, 0])) as StatusCounts;
/** That lists have on a device. */
export const PLACES = 150;

/** The job of a send; those named `otp…` are OTPs. */
export function jobOf(messageId: string): SendJob {
  return { v: 1, ...address, messageId, requestId: 'r', priority: priorityOf(messageId) };
}

export function listNames(count: number, from = 0): string[] {
  return Array.from({ length: count }, (_, i) => `list-${from + i}`);
}

/** The active sends of a device, and what they know from Redis and say to others, as each test sets it. */
export function useActiveSends() {
  const stage = { ...freshState(), sends: undefined as unknown as ActiveSends, active, finish, fill, fillBeside, hold };

  beforeEach(() => {
    Object.assign(stage, freshState());
    stage.sends = new ActiveSends({
      address,
      memory: stage.memory,
      monotonicMs: () => stage.nowMs,
      nowMs: () => stage.nowMs,
      load: async (messageId, { rest }) => {
        stage.loaded.push(messageId);
        stage.recipients.set(messageId, stage.people);
        if (messageId.includes('broken')) throw new Error('unreadable');
        return messageId.includes('gone') ? undefined : makeSend(stage, messageId, rest);
      },
      note: async (messageId) => void stage.noted.push(messageId),
      onOtp: () => void stage.codes++,
      onLoaded: () => stage.sends.settle(),
      onFinished: ({ messageId }) => stage.finished.push(messageId),
      onUnloadable: ({ messageId, requestId }) => stage.broken.push(`${messageId} of ${requestId}`),
      findHolding: async (messageIds, phones) => {
        if (stage.isRedisAway) throw new Error('Redis is away');
        const isOne = (number: string) => phones.some((phone) => spellingsOf(phone).includes(number));
        return new Set(messageIds.filter((messageId) => stage.recipients.get(messageId)!.some(isOne)));
      },
      findHeldNumber: async (messageIds, isWanted) =>
        messageIds.flatMap((messageId) => stage.recipients.get(messageId)!).find(isWanted),
      readPage: async (after) => {
        stage.pages++;
        const from = after === undefined ? 0 : stage.open.indexOf(after) + 1;
        const messageIds = stage.open.slice(from, from + MAX_FOUND);
        return { messageIds, next: messageIds.length === MAX_FOUND ? messageIds.at(-1) : undefined };
      },
      onUnreadable: (error) => stage.broken.push(error.message),
    });
  });

  function active(): string[] {
    return stage.sends.inTurn().map(({ messageId }) => messageId);
  }

  /** All recipients get the message. */
  function finish(messageId: string): void {
    stage.sends
      .inTurn()
      .find((send) => send.messageId === messageId)!
      .takeUnsent();
    stage.sends.settle();
  }

  function fill(): Promise<void> {
    return fillBeside(0);
  }

  async function fillBeside(others: number): Promise<void> {
    for (const name of listNames(PLACES)) void stage.sends.takeIn(jobOf(name));
    await eventually(() => active().length === PLACES + others);
  }

  /** Its people turn out to be strangers under a restriction. */
  async function hold(messageId: string): Promise<void> {
    void stage.sends.takeIn(jobOf(messageId));
    const send = await eventually(() => stage.sends.inTurn().find((one) => one.messageId === messageId));
    send.hold(send.takeForLookUp(10, 0).map(({ index }) => index));
    stage.sends.settle();
  }

  return stage;
}

function freshState() {
  return {
    loaded: [] as string[],
    /** Those of which Redis was told that they are known. */
    noted: [] as string[],
    /** One-time passwords that were to be loaded. */
    codes: 0,
    finished: [] as string[],
    broken: [] as string[],
    people: ['4915100000'],
    /** Of them. */
    strangers: [] as string[],
    text: 'hello',
    /** How many of a send were in flight when its owners ended. */
    suspects: new Map<string, number>(),
    nowMs: 1_000_000,
    /** In Redis, in the order in which they were accepted. */
    open: [] as string[],
    pages: 0,
    memory: new MemoryBudget(),
    isRedisAway: false,
    /** Whom Redis knows of a send. */
    recipients: new Map<string, string[]>(),
  };
}

type State = ReturnType<typeof freshState>;

function makeSend({ people, strangers, suspects, text }: State, messageId: string, rest?: Rest): SendProgress {
  return new SendProgress({
    record: {
      ...{ messageId, tag: messageId, state: 'open', kind: 'text', total: 1, parts: 1 },
      ...{ owner: 't', requestId: 'r', createdAtMs: 0, expiresAtMs: 1, counts },
      ...{ priority: priorityOf(messageId), accountEpoch: 0, blob: '' },
    },
    recipients: people.map((to, index) => ({
      ...{ index, to, status: 'queued', attempts: 0, atMs: 0 },
      errorCode: strangers.includes(to) ? ownErrorCode('new_contacts_held') : 0,
      ...{ partsInFlight: 0, partsInDoubt: 0, partsAcked: 0 },
      ...(index < (suspects.get(messageId) ?? 0) && { partsInFlight: 1, attempts: 3 }),
    })),
    content: { kind: 'text', text },
    rest,
  });
}

function priorityOf(messageId: string): 'otp' | 'bulk' {
  return messageId.startsWith('otp') ? 'otp' : 'bulk';
}
