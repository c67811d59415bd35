import { RECIPIENT_STATUSES, type StatusCounts } from '@gateway/contracts/sends/statuses';
import { sleep, systemClock } from '@gateway/runtime/clock';
import { GatewayError } from '@gateway/runtime/errors';
import type { ApiClient } from './api-client.js';
import { countOutcomes, type DemoResult, type SendOutcome } from './demo-result.js';
import { type EventsFollower, followEvents } from './follow-events.js';
import type { PhoneClient } from './phone-client.js';
import { bar, type Progress } from './progress.js';

export interface ScenarioDeps {
  /** With a token of a device each. */
  qrDevice: ApiClient;
  codeDevice: ApiClient;
  /** With a token that hears of all that happens. */
  listener: ApiClient;
  phones: PhoneClient;
  progress: Progress;
  recipients: number;
  /** The accounts are not disconnected at the end. */
  staysLinked: boolean;
}

/** Country code 999 is not assigned. */
const QR_ACCOUNT = '999100000001';
const CODE_ACCOUNT = '999100000002';
const FRIEND = '999200000000';
const numberOfRecipient = (index: number) => String(999_300_000_000 + index);

const HELLO = 'Hello! This is the first message that this gateway ever sent.';
const NEWS = 'News for all on the list.';

/** `/status` may be asked 20 times a minute and `/messages` 60 times. */
const STATUS_EVERY_MS = 750;
const MESSAGE_EVERY_MS = 1_100;
/** `/connect` may be asked 15 times a minute. */
const MAX_CODE_TRIES = 10;
const LINK_TIMEOUT_MS = 60_000;
/** Without any change for so long, nothing more will come. */
const STALL_MS = 60_000;

/** The whole story: link two accounts, send, wait for every read receipt, disconnect unless told not to. Throws when it cannot go on. */
export async function runScenario(deps: ScenarioDeps): Promise<DemoResult> {
  const linked = await linkByQr(deps);
  const pairedByCode = await linkByCode(deps);
  const events = await followEvents(deps.listener, (line) => deps.progress.note(`event  ${line}`));
  try {
    const startedMs = systemClock.monotonicMs();
    const single = await sendOne(deps);
    const lists = await sendLists(deps);
    const seconds = Math.round((systemClock.monotonicMs() - startedMs) / 10) / 100;
    const outcomes = [];
    for (const send of [single, ...lists]) outcomes.push(await readOutcome(deps, send));
    const counted = countOutcomes(outcomes);
    const told = await readEvents(deps, events, counted.read);
    if (!deps.staysLinked) await disconnect(deps);
    return { linked, pairedByCode, ...counted, told, seconds };
  } finally {
    await events.stop();
  }
}

async function linkByQr({ qrDevice, phones, progress }: ScenarioDeps): Promise<boolean> {
  progress.step('Link an account by QR code, whose conversations are by hidden identifier');
  const { qrCode } = await qrDevice.connect({ rawQrCode: 'true' });
  if (!qrCode) throw new GatewayError({ code: 'no_code', message: 'POST /connect gave no QR code' });
  progress.update('the phone scans the code');
  if ((await phones.scanQr(QR_ACCOUNT, qrCode)) === 'again') {
    progress.update('the network wants another scan');
    await phones.scanQr(QR_ACCOUNT, await nextCode(qrDevice, qrCode));
  }
  return waitUntilConnected(qrDevice, QR_ACCOUNT, progress);
}

/** What the device shows after this code. */
async function nextCode(api: ApiClient, before: string): Promise<string> {
  for (let tries = 0; tries < MAX_CODE_TRIES; tries++) {
    const { qrCode } = await api.connect({ rawQrCode: 'true' });
    if (qrCode && qrCode !== before) return qrCode;
    await sleep(STATUS_EVERY_MS);
  }
  throw new GatewayError({ code: 'no_code', message: 'POST /connect gave no new QR code after the first scan' });
}

async function linkByCode({ codeDevice, phones, progress }: ScenarioDeps): Promise<boolean> {
  progress.step('Link another account by pairing code, whose conversations are by number');
  const { pairingCode } = await codeDevice.connect({ method: 'pairingCode', phoneNumber: CODE_ACCOUNT });
  if (!pairingCode) throw new GatewayError({ code: 'no_code', message: 'POST /connect gave no pairing code' });
  progress.update(`its owner enters ${pairingCode}`);
  await phones.enterCode({ number: CODE_ACCOUNT, addressing: 'pn' }, pairingCode);
  return waitUntilConnected(codeDevice, CODE_ACCOUNT, progress);
}

/** Whether `/status` came to say that this very account is connected. */
async function waitUntilConnected(api: ApiClient, number: string, progress: Progress): Promise<boolean> {
  const deadlineMs = systemClock.monotonicMs() + LINK_TIMEOUT_MS;
  while (systemClock.monotonicMs() < deadlineMs) {
    const { status, phone, reason } = await api.status();
    if (status === 'connected') {
      progress.done(`connected as ${phone}`);
      return phone === number;
    }
    if (status === 'disconnected') break;
    progress.update(`connecting (${reason})`);
    await sleep(STATUS_EVERY_MS);
  }
  progress.fail();
  return false;
}

interface DemoSend {
  api: ApiClient;
  from: string;
  messageId: string;
  text: string;
  accepted: number;
}

async function sendOne({ codeDevice, progress }: ScenarioDeps): Promise<DemoSend> {
  progress.step('Send one message');
  const { messageId, recipients } = await codeDevice.send({ to: FRIEND, text: HELLO });
  const send = { api: codeDevice, from: CODE_ACCOUNT, messageId, text: HELLO, accepted: recipients };
  await waitUntilRead([send], progress);
  return send;
}

/** Half of the list from each account. */
async function sendLists({ qrDevice, codeDevice, progress, recipients: length }: ScenarioDeps): Promise<DemoSend[]> {
  progress.step(`Send to a list of ${length}`);
  const to = Array.from({ length }, (_, index) => numberOfRecipient(index));
  const middle = Math.ceil(length / 2);
  const shares = [
    { api: qrDevice, from: QR_ACCOUNT, to: to.slice(0, middle) },
    { api: codeDevice, from: CODE_ACCOUNT, to: to.slice(middle) },
  ];
  const sends: DemoSend[] = [];
  for (const share of shares.filter((each) => each.to.length > 0)) {
    const { messageId, recipients } = await share.api.send({ to: share.to, text: NEWS });
    sends.push({ api: share.api, from: share.from, messageId, text: NEWS, accepted: recipients });
  }
  await waitUntilRead(sends, progress);
  return sends;
}

/** Ends when every recipient is where it can get no further, or when nothing has moved for a minute. */
async function waitUntilRead(sends: readonly DemoSend[], progress: Progress): Promise<void> {
  const accepted = sends.reduce((sum, send) => sum + send.accepted, 0);
  let [seen, changedMs] = ['', systemClock.monotonicMs()];
  for (;;) {
    const answers = await Promise.all(sends.map(({ api, messageId }) => api.message(messageId)));
    const counts = sumCounts(answers.map((answer) => answer.counts));
    progress.update(describe(counts, accepted));
    if (counts.queued + counts.sent + counts.delivered === 0) return progress.done();
    if (JSON.stringify(counts) !== seen) [seen, changedMs] = [JSON.stringify(counts), systemClock.monotonicMs()];
    if (systemClock.monotonicMs() - changedMs > STALL_MS) return progress.fail();
    await sleep(MESSAGE_EVERY_MS);
  }
}

function sumCounts(all: readonly StatusCounts[]): StatusCounts {
  const sum = { ...all[0]! };
  for (const counts of all.slice(1)) for (const status of RECIPIENT_STATUSES) sum[status] += counts[status];
  return sum;
}

function describe({ sent, delivered, read, failed }: StatusCounts, accepted: number): string {
  const facts = [`${sent + delivered + read} sent`, `${delivered + read} delivered`, `${read} read`];
  return `${bar(read, accepted)}  ${facts.join(', ')}${failed ? `, ${failed} failed` : ''}`;
}

async function readOutcome({ phones }: ScenarioDeps, send: DemoSend): Promise<SendOutcome> {
  const { api, from, messageId, text, accepted } = send;
  const { counts } = await api.message(messageId);
  const [recipients, deliveries] = await Promise.all([api.recipients(messageId), phones.deliveries(from)]);
  return { accepted, counts, recipients, text, deliveries };
}

async function readEvents({ progress }: ScenarioDeps, events: EventsFollower, read: number): Promise<number> {
  progress.step('Read the events');
  const told = await events.readTold(read);
  if (told === read) progress.done(`${told} recipients are told as read`);
  else progress.fail();
  return told;
}

async function disconnect({ qrDevice, codeDevice, progress }: ScenarioDeps): Promise<void> {
  progress.step('Disconnect both accounts');
  await Promise.all([qrDevice.disconnect(), codeDevice.disconnect()]);
  const states = await Promise.all([qrDevice.status(), codeDevice.status()]);
  if (states.some(({ status }) => status !== 'disconnected')) {
    throw new GatewayError({ code: 'still_connected', message: 'A device is still connected after POST /disconnect.' });
  }
  progress.done('logged out at the network');
}
