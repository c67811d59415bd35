import { CONTACTS_PER_PART, type ContactFacts } from '@gateway/contracts/devices/owner-questions';
import { LIMITS } from '@gateway/contracts/limits';
import { askAndWait } from '@gateway/store/devices/questions/ask-and-wait';
import { findOptedOut } from '@gateway/store/workspace/opt-outs';
import type { ApiDeps } from '../api-deps.js';
import type { Call, Endpoint } from '../http/endpoint.js';
import { Joi } from '../http/input/input-types.js';
import { requireLinkedDevice } from './require-device.js';

type NoQuery = Record<string, never>;

interface CheckBody {
  /** Digits, duplicates included. */
  phones: string[];
}

/** 1,000 numbers with their separators. */
const MAX_BODY_BYTES = LIMITS.maxCheckedContacts * 50;
const UNKNOWN: ContactFacts = { onMessenger: null, hasConversation: null };

/** `POST /contacts/check`: which numbers are on the messenger, as the device's account sees it. Sends nothing; safe to repeat. */
export const checkContacts: Endpoint<NoQuery, CheckBody> = {
  methods: ['post'],
  path: '/contacts/check',
  bucket: 'contacts',
  scope: 'read',
  query: Joi.object<NoQuery>({}),
  body: Joi.object<CheckBody>({
    phones: Joi.phoneNumbers().required().description('The numbers to check.'),
  }),
  maxBodyBytes: MAX_BODY_BYTES,
  docs: {
    operationId: 'checkContacts',
    summary: 'Check which numbers are on the messenger',
    description:
      'Looks up the numbers as a send does, and sends nothing. One malformed number fails the whole request. Results are in ' +
      'the order of the numbers, each number once, at its first position. Takes up to ' +
      `${LIMITS.contactsWaitSeconds} seconds; what the network has not answered by then is \`null\`, and so is everything ` +
      'while the device has no connection. All numbers count towards a daily limit of the device, repeated ones too: accounts ' +
      'that look up many strangers get restricted. Requests that no sender took (503) do not count. Safe to repeat.',
    example: { phones: ['447700900123', '+44 7700 900-124'] },
    answer: {
      status: 200,
      description: 'What is known of each number.',
      body: Joi.object({
        results: Joi.array()
          .items(
            Joi.object({
              phone: Joi.string().required().description('Digits.'),
              onMessenger: Joi.boolean().allow(null).required().description('null: the network did not answer.'),
              optedOut: Joi.boolean().description(
                'Whether the person has opted out of messages of the workspace. Not shown to tokens of one device.',
              ),
              hasConversation: Joi.boolean()
                .allow(null)
                .required()
                .description('Whether the account has a conversation with them; null: not known.'),
            }),
          )
          .required(),
      }),
    },
    errors: ['no_device', 'contact_checks_used_up', 'no_sender'],
  },

  async handle(call, deps) {
    await requireLinkedDevice(call);
    // Keys of the people found are kept, as after a send.
    await deps.headroom.refuseWithoutRoom('list', call.body.phones.length, call.address);
    const phones = [...new Set(call.body.phones)];
    const facts = await askAbout(phones, call, deps);
    // It may have taken seconds: the device, and the list, may be those of the next workspace of the name.
    await call.requireToken();
    // The list is the workspace's: a token of one device does not see it.
    const optedOut = call.token.device ? undefined : await findOptedOut(deps.store, call.workspace, phones);
    const results = phones.map((phone, i) => ({
      phone,
      onMessenger: facts[i]!.onMessenger,
      ...(optedOut && { optedOut: optedOut.has(phone) }),
      hasConversation: facts[i]!.hasConversation,
    }));
    count(facts, call, deps);
    return { status: 200, body: { results } };
  },
};

/** The owner's answer for each number, in order. */
async function askAbout(
  numbers: readonly string[],
  { address, signal }: Call<NoQuery, CheckBody>,
  deps: ApiDeps,
): Promise<ContactFacts[]> {
  const { clock, waits, contactChecksPerDay } = deps;
  const wanted = Math.ceil(numbers.length / CONTACTS_PER_PART);
  const known = await askAndWait(deps, address, {
    question: { kind: 'contacts', numbers },
    quota: { count: numbers.length, cap: contactChecksPerDay, nowMs: clock.nowMs() },
    parts: wanted,
    timeoutMs: waits.contactsMs,
    signal,
  });
  const factsOf = (part: number) => JSON.parse(known.get(String(part)) ?? '[]') as ContactFacts[];
  const parts = Array.from({ length: wanted }, (_, part) => factsOf(part));
  return numbers.map((_, i) => parts[Math.floor(i / CONTACTS_PER_PART)]![i % CONTACTS_PER_PART] ?? UNKNOWN);
}

function count(facts: readonly ContactFacts[], { logger }: Call<NoQuery, CheckBody>, { metrics }: ApiDeps): void {
  for (const { onMessenger } of facts) metrics.checkedContacts.inc({ on_messenger: String(onMessenger) });
  const unanswered = facts.filter(({ onMessenger }) => onMessenger === null).length;
  logger.info('contacts checked', { numbers: facts.length, unanswered });
}
