import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { mediaAuthOf } from '../media/media-auth.js';
import type { Network } from '../network/network.js';

const LARGEST_UPLOAD_BYTES = 128 * 1024 * 1024;

/** Uploads (`POST /mms/<kind>/<token>`) and downloads (`GET /v/...`). False when the request is about something else. */
export function handleMediaRequest(
  network: Network,
  url: URL,
  request: IncomingMessage,
  response: ServerResponse,
): boolean {
  if (request.method === 'POST' && url.pathname.startsWith('/mms/')) {
    void upload(network, url, request, response).catch(() => response.destroy());
    return true;
  }
  if (request.method !== 'GET' || !url.pathname.startsWith('/v/')) return false;
  download(network, url.pathname, request, response);
  return true;
}

async function upload(network: Network, url: URL, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const auth = url.searchParams.get('auth') ?? '';
  const number = auth.split('.')[0] ?? '';
  if (auth !== mediaAuthOf(network.seed, number)) return answer(response, 401, { error: 'not-authorized' });
  const bytes = await readAll(request);
  const fault = network.faults.strike('upload', { account: number });
  if (fault?.silent) return;
  if (fault) await wait(network.faults.delayOf(fault));
  if (fault?.error) return answer(response, fault.error, { error: 'fault' });
  const token = decodeURIComponent(url.searchParams.get('token') ?? url.pathname.split('/').pop() ?? '');
  const path = network.media.keep(bytes, token);
  if (!path) return answer(response, 400, { error: 'token is not the hash of the file' });
  network.counters.uploads += 1;
  network.counters.uploadedBytes += bytes.length;
  answer(response, 200, { url: `https://${network.settings.mediaHost}${path}`, direct_path: path });
}

function download(network: Network, path: string, request: IncomingMessage, response: ServerResponse): void {
  const bytes = network.media.find(path);
  if (!bytes) return answer(response, 404, { error: 'not-found' });
  const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '');
  if (!range) {
    response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': bytes.length });
    response.end(bytes);
    return;
  }
  const start = Number(range[1]);
  const end = Math.min(bytes.length - 1, range[2] ? Number(range[2]) : bytes.length - 1);
  if (start > end) return answer(response, 416, { error: 'range' });
  response.writeHead(206, { 'content-range': `bytes ${start}-${end}/${bytes.length}` });
  response.end(bytes.subarray(start, end + 1));
}

async function readAll(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > LARGEST_UPLOAD_BYTES) throw new Error('upload is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}
