import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { LIMITS } from '@gateway/contracts/limits';
import { readBlob } from '@gateway/store/blobs/blobs';
import { createApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import {
  ENDLESS_ANSWERS,
  type EndlessAnswer,
  type HostileFiles,
  startHostileFiles,
} from '@gateway/testkit/attacks/hostile-files';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import {
  ATTEMPTS,
  CONTAINER_BYTES,
  MAX_LOOP_DELAY_MS,
  MAX_MEMORY_MB,
  MAX_NEIGHBOUR_MS,
  MEGABYTE,
  TEXT,
  useAttackedApi,
} from './support/attacks/attacked-api.js';
import { makeEmptyBoxes, makeEndlessSound, makeInterlacedPng } from './support/attacks/bombs.js';
import { BODIES, file, largest, SVG } from './support/attacks/costly-bodies.js';
import { LargeFile } from './support/attacks/large-file.js';
import { linkDevice } from './support/device-owner.js';
import { whenClosed } from './support/raw-request.js';
import { BASE } from './support/test-api.js';

/** After so long a fetch gets no turn any more: 503. */
const TURN_WAIT_MS = 5_000;

describe('what one caller can do to the others with bodies and files', () => {
  let files: Server;
  const downloads: ServerResponse[] = [];
  let hostile: HostileFiles;
  before(async () => {
    files = createServer((_req, res) => {
      downloads.push(res);
      res.writeHead(200, { 'content-length': LIMITS.maxAttachmentBytes }).write(Buffer.alloc(1_000));
    });
    await new Promise<void>((resolve) => files.listen(0, '127.0.0.1', resolve));
    hostile = await startHostileFiles();
  });
  const portOfFiles = () => (files.address() as AddressInfo).port;
  const api = useAttackedApi(() => [portOfFiles(), hostile.port]);
  after(() => {
    files.close();
    hostile.close();
  });

  for (const [what, make] of Object.entries(BODIES)) {
    it(`with ${what}: nothing`, async () => {
      const [body, status] = make();
      const attacker = await api.newToken();
      await api.expectNoHarm(
        async () => void expect((await api.post('/send', attacker, body)).status).to.equal(status),
      );
    });
  }

  it('with bodies that are announced and then trickle: nothing', async () => {
    await api.expectNoHarm(async () => {
      const attacker = await api.newToken();
      const head = `POST ${BASE}/send HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${attacker}\r\nContent-Type: application/json\r\n`;
      const sockets = await Promise.all(Array.from({ length: 25 }, () => api.open()));
      for (const socket of sockets) socket.write(`${head}Content-Length: 15000000\r\n\r\n{"to":`);
      expect((await api.post('/send', await api.newToken(), file(largest))).status, 'the file of another').to.equal(
        202,
      );
      for (const socket of sockets) socket.destroy();
    });
  });

  it('with ten files that are cut off before their end: nothing', async () => {
    const attacker = await api.newToken();
    const head = `POST ${BASE}/send HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${attacker}\r\nContent-Type: application/json\r\n`;
    const most = file(largest).subarray(0, 13_000_000);
    await api.expectNoHarm(async () => {
      for (let i = 0; i < 10; i++) {
        const socket = await api.open();
        socket.resume().write(`${head}Content-Length: 13900000\r\n\r\n`);
        socket.end(most);
        await whenClosed(socket);
      }
    });
  });

  it('with files that keep a decoder busy, or that none reads: nothing', async () => {
    const attachments = [
      { type: 'document', filename: 'x.svg', base64: Buffer.from(SVG).toString('base64') },
      { type: 'image', base64: makeInterlacedPng(7_000, 7_000).toString('base64') },
      { type: 'image', base64: makeInterlacedPng(2_800, 2_800).toString('base64') },
      { type: 'video', base64: makeEmptyBoxes(500_000).toString('base64') },
      { type: 'audio', base64: makeEndlessSound(2 * 1024 * 1024).toString('base64') },
    ];
    const bodies = attachments.map((attachment) => JSON.stringify({ to: TEXT.to, attachment }));
    await api.expectNoHarm(async () => {
      const attacker = await api.newToken();
      const answers = await Promise.all(bodies.map((body) => api.post('/send', attacker, body)));
      expect(answers.map(({ status }) => status)).to.deep.equal(answers.map(() => 202));
    });
  });

  it('with a hundred of the longest lists at once: the others do not wait', async function () {
    this.retries(ATTEMPTS - 1);
    const to = Array.from({ length: LIMITS.maxRecipients }, (_, i) => `+44 7700 ${900_000 + i}`.padEnd(80));
    const body = JSON.stringify({ ...TEXT, to });
    const { store } = api.space;
    const device = 'of-lists';
    await linkDevice(store, { workspace: 'main', device });
    const attackers = await Promise.all(
      Array.from({ length: 10 }, () => createApiToken(store, 'main', { name: 'test', device })),
    );
    const harm = await api.attack(async () => {
      const lists = attackers.flatMap(({ value }) => Array.from({ length: 10 }, () => api.post('/send', value, body)));
      for (const { status } of await Promise.all(lists)) expect(status).to.be.oneOf([202, 503]);
    });
    expect(harm.slowestNeighbourMs, JSON.stringify(harm)).to.be.below(MAX_NEIGHBOUR_MS);
    expect(harm.loopDelayMs, JSON.stringify(harm)).to.be.at.most(MAX_LOOP_DELAY_MS);
  });

  it('with a hundred of the largest files at once: what is accepted is whole, and memory is what the settings say', async function () {
    this.retries(ATTEMPTS - 1);
    const [, budget] = /gateway_body_budget_capacity_bytes (\d+)/.exec(await api.process.metrics()) ?? [];
    const budgetMb = Number(budget) / MEGABYTE;
    if (api.bound) expect(budgetMb).to.equal(CONTAINER_BYTES / MEGABYTE / 4);
    for (const [tokens, files] of [
      [5, 6],
      [10, 10],
    ] as const) {
      const accepted: LargeFile[] = [];
      const harm = await api.attack(async () => {
        const attackers = await Promise.all(Array.from({ length: tokens }, () => api.newToken()));
        const requests = attackers.flatMap((attacker) =>
          Array.from({ length: files }, async () => {
            const sent = new LargeFile();
            const { status, retryAfter } = await sent.post(`${api.origin}/send`, attacker);
            if (status === 202) accepted.push(sent);
            else expect([status, retryAfter]).to.deep.equal([503, '1']);
          }),
        );
        await Promise.all(requests);
      });
      console.log(`        ${JSON.stringify({ accepted: accepted.length, budgetMb, ...harm })}`);
      expect(accepted.length).to.be.at.least(tokens / 2);
      for (const { hash, sizeBytes } of accepted) {
        expect(await readBlob(api.space.store, 'main', { hash, sizeBytes }), 'whole').to.have.length(sizeBytes);
      }
      expect(harm.memoryMb, JSON.stringify(harm)).to.be.at.most(budgetMb + MAX_MEMORY_MB / 2);
      expect(harm.loopDelayMs, JSON.stringify(harm)).to.be.at.most(MAX_LOOP_DELAY_MS);
    }
  });

  it('with URLs of files that never come: nothing', async () => {
    const url = `http://127.0.0.1:${portOfFiles()}/file`;
    const body = JSON.stringify({ to: TEXT.to, attachment: { type: 'document', url } });
    await api.expectNoHarm(async () => {
      const attacker = await api.newToken();
      let waiting = 25;
      const slow = Array.from({ length: waiting }, async () => {
        const askedAtMs = performance.now();
        const { status } = await api.post('/send', attacker, body).finally(() => waiting--);
        return { status, tookMs: performance.now() - askedAtMs };
      });
      await eventually(() => downloads.length >= LIMITS.attachmentFetchesPerToken);
      expect((await api.post('/send', await api.newToken(), file(largest))).status, 'the file of another').to.equal(
        202,
      );
      await eventually(() => {
        for (const download of downloads.splice(0)) download.destroy();
        return waiting === 0;
      });
      for (const { status, tookMs } of await Promise.all(slow)) {
        // On a busy machine the file of another takes longer than these may wait for a turn of their own token.
        expect(status).to.be.oneOf(tookMs < TURN_WAIT_MS ? [400] : [400, 503]);
      }
    });
  });

  const HOSTILE: Record<string, [tokens: number, answers: EndlessAnswer[]]> = {
    'header lines without end': [1, ['header lines']],
    'trailers without end': [1, ['trailers']],
    'early hints without end': [1, ['early hints']],
    'chunks of a byte without end': [1, ['chunks of a byte']],
    'whatever else has no end, for five tokens': [5, ENDLESS_ANSWERS],
  };
  for (const [what, [tokens, answers]] of Object.entries(HOSTILE)) {
    it(`with 25 URLs at a time whose servers answer ${what}: nothing`, async () => {
      let statuses: number[] = [];
      const { isQuiet } = await api.expectNoHarm(async () => {
        const attackers = await Promise.all(Array.from({ length: tokens }, () => api.newToken()));
        const asked = attackers.flatMap((attacker) =>
          Array.from({ length: 25 }, (_, i) => {
            const url = hostile.urlOf(answers[i % answers.length]!);
            return api.post('/send', attacker, JSON.stringify({ to: TEXT.to, attachment: { type: 'document', url } }));
          }),
        );
        statuses = (await Promise.all(asked)).map(({ status }) => status);
      });
      // Of an answer that is followed by others the first is taken.
      const allowed = [400, ...(answers.length > 1 ? [202] : []), ...(isQuiet ? [] : [503])];
      for (const status of statuses)
        expect(status, 'none is waited for so long that others find no turn').to.be.oneOf(allowed);
    });
  }
});
