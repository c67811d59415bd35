import { CONTACTS_PER_PART, type ContactFacts } from '@gateway/contracts/devices/owner-questions';
import { DoorbellListener } from '@gateway/store/core/doorbells';
import { takeQuestions, writeOwnerAnswer } from '@gateway/store/devices/questions/owner-questions';
import type { RedisSpace } from '@gateway/testkit/redis-space';
import type { DeviceOwner } from './device-owner.js';

export interface ContactAnswers {
  /** Numbers of each question that was taken. */
  asked: (readonly string[])[];
  close(): void;
}

/** What a sender does with checks of contacts, without a socket. Without facts it takes questions and never answers. */
export async function answerContacts(
  { clients, store }: RedisSpace,
  { ownership }: DeviceOwner,
  facts: ((number: string) => ContactFacts) | undefined,
): Promise<ContactAnswers> {
  const asked: (readonly string[])[] = [];
  const listener = await DoorbellListener.listen(clients.subscriber, store.space);
  const answer = async () => {
    for (const { id, question } of await takeQuestions(store, ownership)) {
      if (question?.kind !== 'contacts') continue;
      asked.push(question.numbers);
      for (let from = 0; facts && from < question.numbers.length; from += CONTACTS_PER_PART) {
        const value = JSON.stringify(question.numbers.slice(from, from + CONTACTS_PER_PART).map(facts));
        await writeOwnerAnswer(store, ownership, { id, part: String(from / CONTACTS_PER_PART), value });
      }
    }
  };
  const { address } = ownership;
  listener.on(({ topic, workspace, device }) => {
    const isOurs = workspace === address.workspace && device === address.device;
    // The end of a test closes Redis before the last doorbell.
    if (topic === 'questions' && isOurs) answer().catch(() => undefined);
  });
  return { asked, close: () => listener.close() };
}
