import { otpText } from '@gateway/contracts/content/otp-text';
import { sleep } from '@gateway/runtime/clock';
import type { Simulator } from '@gateway/simulator/start-simulator';
import type { Store } from '@gateway/store/core/store';
import { readSend } from '@gateway/store/sends/read-send';
import PQueue from 'p-queue';
import { makeNumbers } from '../phones.js';
import { makePng } from '../sample-files.js';
import type { Account } from './account-for.js';
import { changeMinds } from './changed-minds.js';
import { callUntilAnswered } from './client.js';
import type { Audience } from './events/audience.js';
import { writeFromPhones } from './events/phone-talk.js';
import type { Fleet } from './fleet/fleet.js';
import { type Mischief, makeMischief } from './mischief/make-mischief.js';
import { planRefusals } from './plan-refusals.js';
import type { Progress } from './progress.js';
import { Random } from './random.js';
import type { RedisOfRun } from './redis/redis-of-run.js';
import { type Line, type PromisedSend, takeAccount } from './take-account.js';

interface Round {
  round: number;
  seed: number;
  /** Per list; each device gets one list a round. */
  recipients: number;
  /** It burns no longer, also where less than half is out. */
  fireMs?: number;
  random: Random;
  redis: RedisOfRun;
  simulator: Simulator;
  store: Store;
  fleet: Fleet;
  bases: string[];
  lines: Line[];
  audience: Audience;
  progress: Progress;
  say(line: string): void;
}

interface RoundResult {
  result: Account & Mischief & { forgotten: number };
  promised: PromisedSend[];
}

/** As long as messages may pause whose owners died again and again; and until Redis has had all, on a busy machine. */
const [MAX_FIRE_MS, MAX_LONG_FIRE_MS] = [240_000, 600_000];
const LOOK_MS = 1_000;
/** Of a list that follows when less than this share waits, much of it perhaps for its next attempt: each blow is to have something to hit. */
const [MORE_RECIPIENTS, LEAST_WAITING, MORE_EVERY_MS] = [50, 0.25, 2_000];
/**
 * Devices that two cores can open again between two blows. A blow meets all devices of a process, or all there are:
 * without the time to open them a run would measure nothing but how fast sockets can be opened.
 */
const DEVICES_A_BLOW = 250;
/** Devices that are given a list. */
const AT_A_TIME = 16;
/** Per device: `/otp` takes ten a minute. */
const OTP_EVERY_MS = 7_000;
const LEAST_OTP_GAP_MS = 500;

/** Lists, one-time passwords and callers who change their minds under fire; then everything heals, all goes out, and each phone is looked at. */
export async function runRound(round: Round): Promise<RoundResult> {
  const stop = new AbortController();
  try {
    const work = new Work(round);
    const done = await underFire(round, work, stop);
    await heal(round);
    await finish(round, work);
    return { result: { ...(await takeAccount(round, work.sends)), ...done }, promised: work.sends };
  } finally {
    stop.abort();
  }
}

/** What was promised in a round, and how much of it is not out. */
class Work {
  readonly sends: PromisedSend[] = [];
  /** Until it is looked at: all. */
  waiting: number;

  constructor(private readonly round: Pick<Round, 'store' | 'lines' | 'recipients'>) {
    this.waiting = this.messages;
  }

  /** Long lists only. */
  get messages(): number {
    return this.round.lines.length * this.round.recipients;
  }

  async look(): Promise<number> {
    const { store } = this.round;
    const counts = await Promise.all(
      this.sends.map(async ({ line, messageId }) => (await readSend(store, line.address, messageId))?.counts.queued),
    );
    this.waiting = counts.reduce<number>((sum, queued = 0) => sum + queued, 0);
    return this.waiting;
  }

  tell(): string {
    const promised = this.sends.reduce((sum, { to }) => sum + to.length, 0);
    return `${Math.max(0, promised - this.waiting)} of ${promised} messages are out`;
  }
}

async function underFire(round: Round, work: Work, stop: AbortController): Promise<Mischief> {
  const { redis, simulator, audience, progress, lines, say } = round;
  const accounts = lines.map(({ number }) => number);
  const slowness = Math.max(1, accounts.length / DEVICES_A_BLOW);
  let harms = 0;
  const count = (line: string) => {
    harms++;
    say(line);
  };
  const left = () => (redis.spared.length > 0 ? `; Redis is still to be hurt by: ${redis.spared.join(', ')}` : '');
  progress.enter(`round ${round.round}, under fire`, () => `${harms} blows, ${work.tell()}${left()}`);
  const world = { ...round, accounts, slowness, messages: work.messages, waiting: () => work.waiting };
  const mischief = makeMischief({ ...world, fail: progress.fail, say: count }, stop.signal);
  const talk = writeFromPhones(simulator, { accounts, written: audience.written }, stop.signal);
  await sendLists(round, work);
  const minds = changeMinds({ ...round, optedOut: audience.optedOut }, work.sends, stop.signal);
  const others = Promise.all([talk, minds, sendOtps(round, work, stop.signal), keepBusy(round, work, stop.signal)]);
  others.catch(progress.fail);
  await burn(round, work);
  say(`the fire ends: ${work.tell()}${left()}`);
  stop.abort();
  progress.enter(`round ${round.round}, the fire ends`, () => `${harms} blows`);
  const done = await mischief;
  await others;
  return done;
}

/** Half of the work is done under fire, and the rest while everything heals. */
async function burn({ redis, fireMs = MAX_FIRE_MS }: Round, work: Work): Promise<void> {
  const begin = performance.now();
  for (;;) {
    const lasted = performance.now() - begin;
    const isHalfDone = (await work.look()) <= work.messages / 2;
    if (lasted > MAX_LONG_FIRE_MS) return;
    if (redis.spared.length === 0 && (isHalfDone || lasted > fireMs)) return;
    await sleep(LOOK_MS);
  }
}

async function heal({ round, simulator, redis, fleet, progress }: Round): Promise<void> {
  simulator.network.faults.clear();
  progress.enter(`round ${round}, Redis heals`, () => '');
  await redis.settle();
  const isUp = () => fleet.places.map(({ service, busy, running }) => (busy || !running.isRunning ? service : ''));
  progress.enter(`round ${round}, processes start again`, () => isUp().filter(Boolean).join(', '));
  await fleet.settle();
}

/** Until every message is sent or has failed. */
async function finish({ round, progress }: Round, work: Work): Promise<void> {
  progress.enter(`round ${round}, the rest`, () => work.tell());
  while ((await work.look()) > 0) await sleep(LOOK_MS);
  progress.enter(`round ${round}, phones are looked at`, () => '');
}

async function sendLists(round: Round, work: Work): Promise<void> {
  const sending = new PQueue({ concurrency: AT_A_TIME });
  await sending.addAll(
    round.lines.map((line) => async () => {
      const series = round.round * 1_000 + Number(line.address.device.split('-')[1]);
      work.sends.push(await sendList(round, line, makeNumbers(round.recipients, series), series));
    }),
  );
}

/** While the fire burns and little waits, each device in turn gets one more list. */
async function keepBusy(round: Round, work: Work, stop: AbortSignal): Promise<void> {
  const { lines } = round;
  for (let i = 0; !stop.aborted; ) {
    if (work.waiting < work.messages * LEAST_WAITING) {
      const series = 300_000 + round.round * 10_000 + i;
      work.sends.push(await sendList(round, lines[i++ % lines.length]!, makeNumbers(MORE_RECIPIENTS, series), series));
      // Until it is looked at again, which takes long while Redis is away.
      work.waiting += MORE_RECIPIENTS;
    }
    await sleep(MORE_EVERY_MS / lines.length, stop).catch(() => {});
  }
}

async function sendList(world: Round, line: Line, to: string[], series: number): Promise<PromisedSend> {
  const { bases, round, seed, lines, simulator } = world;
  const marker = `chaos ${seed}/${round}/${series}`;
  const refused = await planRefusals(simulator, new Random(seed + series), { from: line.number, to });
  // The text is then the caption.
  const attachment = { type: 'image', base64: makePng(64, 64).toString('base64') };
  const body = { to, text: marker, ...(line === lines[0] && { attachment }) };
  const answer = await callUntilAnswered(bases, '/send', { token: line.token, body });
  if (answer.status !== 202) throw new Error(`list refused: ${JSON.stringify(answer)}`);
  return { line, messageId: String(answer.body.messageId), marker, refused, to, promisedAtMs: Date.now() };
}

/** One-time passwords between the lists, for as long as the mischief goes on: each to a number of its own. */
async function sendOtps(round: Round, work: Work, stop: AbortSignal): Promise<void> {
  const { lines } = round;
  for (let i = 0; !stop.aborted; i++) {
    work.sends.push(await sendOtp(round, lines[i % lines.length]!, i));
    await sleep(Math.max(OTP_EVERY_MS / lines.length, LEAST_OTP_GAP_MS), stop).catch(() => {});
  }
}

async function sendOtp({ bases, round }: Round, line: Line, i: number): Promise<PromisedSend> {
  const code = String(10_000_000 + round * 100_000 + i);
  const [phone] = makeNumbers(1, 500_000 + round * 1_000 + i);
  const answer = await callUntilAnswered(bases, '/otp', { token: line.token, body: { phone, code } });
  if (answer.status > 202) throw new Error(`OTP refused: ${JSON.stringify(answer)}`);
  const { messageId } = answer.body.data as { messageId: string };
  return {
    line,
    messageId,
    marker: otpText(code, 'English'),
    refused: new Set(),
    to: [phone!],
    promisedAtMs: Date.now(),
  };
}
