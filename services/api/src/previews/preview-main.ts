import { describeFile } from './describe-file.js';
import { type PreviewJob, READY } from './preview-job.js';

/**
 * A process of its own for files of strangers: reads a line with the job and then the bytes of the file, writes a line
 * with its description, and so on. Its parent ends it when it takes too long; it ends itself when the parent is gone.
 */
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  // A terminal sends them to the parent, too, which ends its requests first.
  process.on(signal, () => {});
}
// At once, even while native code runs.
process.stdin.once('end', () => process.kill(process.pid, 'SIGKILL'));

let job: PreviewJob | undefined;
let pending: Buffer[] = [];
let pendingBytes = 0;

process.stdin.on('data', (chunk: Buffer) => {
  pending.push(chunk);
  pendingBytes += chunk.length;
  if (job === undefined) readJob();
  if (job !== undefined && pendingBytes === job.sizeBytes) void answer(job, take());
});
process.stdout.write(`${READY}\n`);

function readJob(): void {
  const bytes = take();
  const end = bytes.indexOf('\n');
  if (end >= 0) job = JSON.parse(bytes.toString('utf8', 0, end)) as PreviewJob;
  put(bytes.subarray(end + 1));
}

async function answer(current: PreviewJob, bytes: Buffer): Promise<void> {
  job = undefined;
  const description = await describeFile(bytes, current).catch(() => ({}));
  process.stdout.write(`${JSON.stringify(description)}\n`);
}

function take(): Buffer {
  const bytes = pending.length === 1 ? pending[0]! : Buffer.concat(pending, pendingBytes);
  pending = [];
  pendingBytes = 0;
  return bytes;
}

function put(bytes: Buffer): void {
  pending = [bytes];
  pendingBytes = bytes.length;
}
