import { readFileSync } from 'node:fs';
import { isPicture } from '@gateway/api/previews/is-picture';
import { coefficientBytes } from '@gateway/api/previews/jpeg-coefficients';
import { PreviewProcess } from '@gateway/api/previews/preview-process';
import { type FileToDescribe, type PreviewOptions, Previews, previewBounds } from '@gateway/api/previews/previews';
import { eventually } from '@gateway/testkit/eventually';
import { readCpuMs } from '@gateway/testkit/processes/cpu-time';
import { makeAnimatedWebp, makeMp4, makePng, makeWav, makeWebp } from '@gateway/testkit/sample-files';
import { expect } from 'chai';
import sharp from 'sharp';
import { makeEmptyBoxes, makeEndlessSound, makeInterlacedPng, makeProgressiveJpeg } from './support/attacks/bombs.js';
import { useTestApi } from './support/use-test-api.js';

const NAUGHTY = new URL('./fixtures/naughty-previews.js', import.meta.url);
const MAIN = new URL('./preview-main.js', import.meta.resolve('@gateway/api/previews/previews'));
const SVG = Buffer.from('<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"></svg>');
const DAMAGED = Buffer.concat([makePng(100, 100).subarray(0, 60), Buffer.alloc(1_000)]);

/** As long as a slow machine needs, where the time is not what is tested. */
const PATIENT = { totalMs: 20_000, workMs: 10_000 };

describe('previews', () => {
  let previews: Previews;
  let outcomes: string[];
  let waiting: number;

  function start(options: Partial<PreviewOptions> = {}): void {
    outcomes = [];
    waiting = 0;
    previews = new Previews({
      onOutcome: (outcome) => outcomes.push(outcome),
      onWaiting: (count) => {
        waiting = count;
      },
      ...PATIENT,
      ...options,
    });
  }
  afterEach(async () => {
    await previews.close();
    // Those that were ended before may take a moment.
    await eventually(() => expect(children()).to.deep.equal([]));
  });

  const describeIt = (bytes: Buffer, type: FileToDescribe['type'], mimeType = `${type}/x`, tokenId = 'a') =>
    previews.describe({ bytes, type, mimeType, tokenId });
  const naughty = (behaviour: string) => describeIt(makePng(1, 1), 'image', `x/${behaviour}`);
  const children = () => {
    const list = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').trim();
    return list === '' ? [] : list.split(' ').map(Number);
  };

  it('tell what a phone shows: sizes, lengths, and a small picture', async () => {
    start();
    const picture = await describeIt(makePng(320, 200), 'image');
    expect(picture).to.include({ width: 320, height: 200 });
    expect(Buffer.from(picture.thumbnail!, 'base64').subarray(0, 2).toString('hex')).to.equal('ffd8');
    expect(await describeIt(makePng(320, 200), 'document')).to.have.all.keys('thumbnail');
    expect(await describeIt(makeWebp(), 'sticker')).to.deep.equal({ width: 1, height: 1 });
    expect(await describeIt(makeAnimatedWebp(), 'sticker')).to.include({ animated: true });
    expect(await describeIt(makeMp4(640, 360, 7), 'video')).to.deep.equal({ width: 640, height: 360, seconds: 7 });
    expect(await describeIt(makeMp4(0, 0, 3), 'audio')).to.deep.equal({ seconds: 3 });
    expect(await describeIt(makeWav(2), 'audio', 'audio/wav')).to.deep.equal({ seconds: 2 });
    const wav = makeWav(1);
    // No bytes per second.
    wav.fill(0, 24, 34);
    expect(await describeIt(wav, 'audio', 'audio/wav')).to.deep.equal({});
    expect(await describeIt(DAMAGED, 'image')).to.deep.equal({});
    expect(outcomes.slice(-2)).to.deep.equal(['none', 'none']);
    expect(children(), 'one file after the other').to.have.length(1);
  });

  it('are made from JPEG, PNG, WebP and GIF only, whatever the name of the file', async () => {
    start();
    expect(await describeIt(SVG, 'document', 'image/svg+xml')).to.deep.equal({});
    expect(await describeIt(SVG, 'image', 'image/png')).to.deep.equal({});
    expect(children(), 'no process was needed').to.deep.equal([]);
    const others = ['49492a00', '4d4d002a', '25504446', '0000001c66747970617669', '424d', '762f3101', '3c737667'];
    for (const beginning of others) expect(isPicture(Buffer.from(beginning, 'hex')), beginning).to.equal(false);
    // Nor does the process itself read any other.
    const child = new PreviewProcess(MAIN, 256 * 1024);
    await child.becomeReady(PATIENT.totalMs);
    const job = { type: 'document', mimeType: 'image/png', sizeBytes: SVG.length } as const;
    expect(await child.ask(job, SVG, PATIENT.workMs)).to.deep.equal({ kind: 'line', line: '{}' });
    await child.end();
    // Nor would its decoder, were it asked.
    await import('@gateway/api/previews/describe-file');
    const refusal = await sharp(SVG)
      .metadata()
      .catch((error: Error) => error.message);
    expect(refusal).to.match(/unsupported image format/);
    expect(await sharp(makePng(3, 2)).metadata()).to.include({ width: 3, height: 2 });
  });

  it('leave bombs packed: the size of a picture is told, and that is all', async () => {
    start();
    const bomb = makeInterlacedPng(7_000, 7_000);
    expect(bomb.length).to.be.below(400_000);
    expect(await describeIt(bomb, 'image')).to.deep.equal({ width: 7_000, height: 7_000 });
    expect(await describeIt(makeInterlacedPng(3_500, 3_500), 'image'), '98 MB').to.not.have.property('thumbnail');
    expect(await describeIt(makeInterlacedPng(2_800, 2_800), 'image'), '63 MB').to.have.property('thumbnail');
    expect(await describeIt(makePng(5_000, 4_000), 'image'), '60 MB').to.deep.equal({ width: 5_000, height: 4_000 });
    const peak = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${children()[0]}/status`, 'utf8'))![1];
    expect(Number(peak)).to.be.below(220 * 1024);
  });

  it('count what a JPEG of several scans keeps in memory: two bytes for each value, as many as it has of each colour', async () => {
    start();
    const all = await makeProgressiveJpeg(4_000, 4_000, '4:4:4');
    expect(await describeIt(all, 'image'), '96 MB').to.deep.equal({ width: 4_000, height: 4_000 });
    const fewer = await makeProgressiveJpeg(4_000, 4_000, '4:2:0');
    expect(coefficientBytes(fewer)).to.equal(48_000_000);
    expect(coefficientBytes(Buffer.concat([all.subarray(0, 2), Buffer.alloc(50, 0xff)]))).to.equal(Infinity);
    const small = sharp({ create: { width: 900, height: 600, channels: 3, background: 'red' } });
    const shown = await small.jpeg({ progressive: true }).toBuffer();
    expect(await describeIt(shown, 'image')).to.have.property('thumbnail');
  });

  it('look at no more than a thousand boxes of a film', async () => {
    start();
    await describeIt(makeEmptyBoxes(1), 'video');
    const [pid] = children();
    for (const type of ['video', 'audio'] as const) {
      expect(await describeIt(makeEmptyBoxes(1_300_000), type), type).to.deep.equal({});
    }
    expect(children(), 'none was given up').to.deep.equal([pid]);
    expect(readCpuMs(pid!), 'also on a busy machine').to.be.below(6_000);
    const afterMany = (count: number) => Buffer.concat([makeEmptyBoxes(count), makeMp4(4, 2, 1)]);
    expect(await describeIt(afterMany(900), 'video')).to.include({ width: 4, seconds: 1 });
    expect(await describeIt(afterMany(1_100), 'video')).to.deep.equal({});
  });

  it('of pictures wait neither for files of other tokens nor for sounds, however busy these keep us', async () => {
    start({ workMs: 700 });
    const endless = makeEndlessSound(2 * 1024 * 1024);
    const bombs = ['a', 'a', 'x'].map((tokenId) => describeIt(endless, 'audio', 'audio/aac', tokenId));
    await eventually(() => expect(children()).to.have.length(1));
    expect(waiting).to.equal(2);
    const beats: number[] = [];
    const heart = setInterval(() => beats.push(performance.now()), 20);
    for (const tokenId of ['b', 'c', 'd']) {
      expect(await describeIt(makePng(9, 9), 'image', 'image/png', tokenId)).to.have.property('thumbnail');
    }
    expect(outcomes.filter((outcome) => outcome === 'made')).to.have.length(3);
    for (const description of await Promise.all(bombs)) expect(description).to.deep.equal({});
    clearInterval(heart);
    const pauses = beats.slice(1).map((at, i) => at - beats[i]!);
    expect(Math.max(...pauses), 'the longest time in which nothing else was done').to.be.below(1_000);
    expect(outcomes.filter((outcome) => outcome === 'no_answer')).to.have.length(3);
    expect(waiting).to.equal(0);
  });

  it('are given up when no process is free in time', async () => {
    start({ entry: NAUGHTY, totalMs: 500 });
    const warnings: Error[] = [];
    const note = (warning: Error) => warnings.push(warning);
    process.on('warning', note);
    const startedAt = performance.now();
    const given = await Promise.all(Array.from({ length: 15 }, () => naughty('hang')));
    expect(performance.now() - startedAt).to.be.below(3_000);
    process.off('warning', note);
    expect(given).to.deep.equal(given.map(() => ({})));
    expect(outcomes.filter((outcome) => outcome === 'gave_up')).to.have.length.of.at.least(13);
    expect(warnings).to.deep.equal([]);
  });

  it('come from a process that ends when it takes too long, too much memory, or too many words', async () => {
    start({ entry: NAUGHTY, workMs: 300 });
    expect(await naughty('hang')).to.deep.equal({});
    expect(outcomes).to.deep.equal(['no_answer']);
    await previews.close();
    start({ entry: NAUGHTY });
    for (const how of ['flood', 'chatter', 'nonsense', 'allocate'] as const) {
      expect(await naughty(how), how).to.deep.equal({});
    }
    expect(outcomes).to.deep.equal(['too_much', 'too_much', 'none', 'died']);
  });

  it('come from a process without secrets, sockets and a place of ours', async () => {
    start({ entry: NAUGHTY });
    const told = JSON.parse(Buffer.from((await naughty('tell')).thumbnail!, 'base64').toString());
    expect(told.cwd).to.equal('/');
    expect(told.sockets).to.deep.equal([]);
    expect(Object.keys(told.env)).to.have.members(['UV_THREADPOOL_SIZE', 'MALLOC_ARENA_MAX', 'PWD']);
  });

  it('come from a process with limits of its memory and of its processor time, which leaves no dump', async () => {
    start({ entry: NAUGHTY });
    const told = JSON.parse(Buffer.from((await naughty('tell')).thumbnail!, 'base64').toString());
    expect(told.limits)
      .to.match(/^Max cpu time +120 +120 /m)
      .and.to.match(/^Max data size +268435456 +268435456 /m)
      .and.to.match(/^Max core file size +0 +0 /m);
  });

  it('come from a process that is ended before ours when memory is used up', async () => {
    start({ entry: NAUGHTY });
    const told = JSON.parse(Buffer.from((await naughty('tell')).thumbnail!, 'base64').toString());
    expect(told.oomScore).to.equal('1000');
  });

  it('come from one process with less memory in a container below 768 MiB', async () => {
    const bounds = previewBounds(512 * 1024 * 1024);
    start({ bounds });
    expect(await describeIt(makePng(320, 200), 'image')).to.have.property('thumbnail');
    expect(await describeIt(makeInterlacedPng(2_000, 2_000), 'image'), '32 MB').to.have.property('thumbnail');
    await previews.close();
    start({ bounds, entry: NAUGHTY, totalMs: 600 });
    const hanging = ['a', 'b'].map((tokenId) => describeIt(makePng(1, 1), 'image', 'x/hang', tokenId));
    await eventually(() => expect(children()).to.have.length(1));
    // The shell sets them before it becomes the process.
    const limits = () => readFileSync(`/proc/${children()[0]}/limits`, 'utf8');
    await eventually(() => expect(limits()).to.match(/^Max data size +201326592 /m));
    await Promise.all(hanging);
    expect(outcomes.slice(-2).sort()).to.deep.equal(['gave_up', 'no_answer']);
    await eventually(() => expect(children()).to.deep.equal([]));
    await previews.close();
    start({ bounds, workMs: 500 });
    const endless = makeEndlessSound(2 * 1024 * 1024);
    const sounds = ['a', 'b'].map((tokenId) => describeIt(endless, 'audio', 'audio/aac', tokenId));
    await eventually(() => expect(children()).to.have.length(1));
    const picture = await describeIt(makePng(9, 9), 'image', 'image/png', 'c');
    expect(picture, 'it waits for one sound').to.have.property('thumbnail');
    expect(outcomes).to.deep.equal(['no_answer', 'made']);
    await Promise.all(sounds);
    expect(previewBounds(1024 * 1024 * 1024)).to.deep.equal({ processes: 2, memoryKilobytes: 256 * 1024 });
  });

  it('go on after a process was killed in the middle of its work, or while it was idle', async () => {
    start({ entry: NAUGHTY });
    const hanging = naughty('hang');
    const [pid] = await eventually(() => children().length > 0 && children());
    process.kill(pid!, 'SIGKILL');
    expect(await hanging).to.deep.equal({});
    expect(outcomes).to.deep.equal(['died']);
    await previews.close();
    start();
    expect(await describeIt(makePng(9, 9), 'image')).to.have.property('thumbnail');
    process.kill(children()[0]!, 'SIGKILL');
    await eventually(() => expect(children()).to.deep.equal([]));
    expect(await describeIt(makePng(9, 9), 'image')).to.have.property('thumbnail');
  });

  it('end with us, and when they are not needed', async () => {
    start({ idleMs: 50 });
    await describeIt(makePng(9, 9), 'image');
    await eventually(() => expect(children()).to.deep.equal([]));
    await previews.close();
    start({ entry: NAUGHTY });
    const hanging = naughty('hang');
    const next = naughty('hang');
    await eventually(() => expect(children()).to.have.length(1));
    await previews.close();
    expect(children()).to.deep.equal([]);
    expect([await hanging, await next]).to.deep.equal([{}, {}]);
  });
});

describe('previews of what is sent', () => {
  const { api } = useTestApi({ linked: true, previews: { entry: NAUGHTY, workMs: 600 } });

  it('stand in a line of their token, where others do not stand', async () => {
    const answered: string[] = [];
    const send = async (who: string, token: string, bytes: Buffer) => {
      const attachment = { type: 'document', base64: bytes.toString('base64') };
      const { status } = await api.call('POST', '/send', { json: { to: '447700900001', attachment }, token });
      expect(status).to.equal(202);
      answered.push(who);
    };
    const gif = Buffer.from('GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff;', 'latin1');
    // The process has no answer to these.
    const slow = [9, 8].map((size) => send('slow', api.token, makePng(size, size)));
    await eventually(async () => /gateway_waiting_previews 1\n/.test(await api.metrics()));
    const { value: other } = await api.newToken();
    await Promise.all([...slow, send('other', other, gif)]);
    expect(answered.at(-1), 'the second of its own token').to.equal('slow');
  });
});
