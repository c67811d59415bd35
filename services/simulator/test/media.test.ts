import { createHash, randomBytes } from 'node:crypto';
import { Agent } from 'node:https';
import { eventually } from '@gateway/testkit/eventually';
import type { WAMessage } from '@whiskeysockets/baileys';
import { expect } from 'chai';
import { useSimulator } from './support/simulator-fixture.js';

describe('media', () => {
  const network = useSimulator();
  const file = randomBytes(100_000);
  const agent = () => new Agent({ ca: network.simulator.caPem });
  const firstRow = (number: string) =>
    eventually(() => [...network.simulator.network.phones.phone(number).inbox.rows()].find(({ shown }) => shown === 1));

  it('reaches the phone whole, over HTTPS that the client can verify', async () => {
    const client = await network.link({ fetchAgent: agent() });
    const content = { document: file, mimetype: 'application/pdf', fileName: 'a.pdf', caption: 'read this' };
    const sent = await client.socket.sendMessage('4914000000001@s.whatsapp.net', content);
    const row = await firstRow('4914000000001');
    expect(row).to.deep.include({ type: 'document', text: 'read this' });
    expect(row.details).to.deep.include({ intact: true, bytes: file.length, mimeType: 'application/pdf' });
    const url = `${network.simulator.adminUrl}/admin/phones/4914000000001/messages/${sent?.key.id}/media`;
    const bytes = Buffer.from(await (await fetch(url)).arrayBuffer());
    expect(bytes.equals(file)).to.equal(true);
  });

  it('says which file does not open on the phone', async () => {
    const client = await network.link({ fetchAgent: agent() });
    const message = {
      imageMessage: {
        mediaKey: randomBytes(32),
        directPath: '/v/nowhere',
        fileSha256: randomBytes(32),
        mimetype: 'image/png',
      },
    };
    await client.socket.relayMessage('4914000000002@s.whatsapp.net', message, {});
    const { details } = await firstRow('4914000000002');
    expect(details).to.deep.include({ intact: false, problem: 'file was not uploaded' });
  });

  it('is where the own phone says when a client could not fetch it', async () => {
    const [alice, bob] = [await network.link({ fetchAgent: agent() }), await network.link()];
    const received = new Promise<WAMessage>((resolve) => {
      bob.socket.ev.on('messages.upsert', ({ messages }) => {
        for (const each of messages) if (each.message?.documentMessage) resolve(each);
      });
    });
    await alice.socket.sendMessage(bob.jid, { document: file, mimetype: 'application/pdf', fileName: 'a.pdf' });
    const message = await received;
    const { directPath } = message.message!.documentMessage!;
    message.message!.documentMessage!.directPath = '/lost';
    const updated = await bob.socket.updateMediaMessage(message);
    expect(updated.message?.documentMessage?.directPath).to.equal(directPath);
    message.key.id = 'UNKNOWN';
    const refused = await bob.socket.updateMediaMessage(message).catch((error: Error) => error);
    expect(refused).to.be.instanceOf(Error);
  });

  it('fails uploads on demand', async () => {
    const client = await network.link({ fetchAgent: agent() });
    await network.admin('PUT', '/admin/faults', [{ on: 'upload', do: { error: 500 }, count: 1 }]);
    const upload = () => client.socket.sendMessage('4914000000003@s.whatsapp.net', { image: file, jpegThumbnail: '' });
    const refused = await upload().catch((error: Error) => error);
    expect(refused).to.be.instanceOf(Error);
    await upload();
    await firstRow('4914000000003');
  });

  it('takes only what its token says, from clients it knows', async () => {
    const { settings } = network.simulator.network;
    const token = createHash('sha256').update('something else').digest('base64url');
    const agentOf = agent();
    const { request } = await import('node:https');
    const post = (auth: string) =>
      new Promise<number | undefined>((resolve, reject) => {
        const url = `https://${settings.mediaHost}/mms/image/${token}?auth=${auth}&token=${token}`;
        const sending = request(url, { method: 'POST', agent: agentOf }, (response) => resolve(response.statusCode));
        sending.on('error', reject);
        sending.end(file);
      });
    expect(await post('unknown')).to.equal(401);
  });
});
