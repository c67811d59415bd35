import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants, setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import { MAX_ANSWER_CHARACTERS, type PreviewJob, READY } from './preview-job.js';

/**
 * `no_answer`: its time was over. `too_much`: it wrote more than any description has. `died`: by itself, or of its limits.
 * After each of them the process is gone.
 */
export type ProcessFailure = 'no_answer' | 'too_much' | 'died';

type ProcessAnswer = { kind: 'line'; line: string } | { kind: 'failed'; why: ProcessFailure };

/**
 * Without a compiler: decoding is native code, and what is ours costs the same. Node 24 reserves 512 MB of writable memory for
 * compiled code, more than all that the process may have; and none of its memory is both writable and executable.
 */
const NODE_OPTIONS = ['--max-old-space-size=128', '--jitless'];
/** Of processor time in its whole life: ends it, too, when the parent is gone and its own loop never turns again. */
const CPU_SECONDS = 120;
/**
 * The limits come from the shell: Node can set none. Where one is unknown (`-d` of macOS does little), the others hold.
 * When the memory of the container is used up, this process is the first that the system ends.
 */
const START = `ulimit -c 0; ulimit -t ${CPU_SECONDS}; ulimit -d "$1"; shift; echo 1000 >/proc/self/oom_score_adj; exec "$@"`;
/** Nothing of our environment, where the keys are. That they stay there is up to `node`: docs/security.md. One thread decodes, and its memory is not spread over arenas. */
const ENVIRONMENT = { UV_THREADPOOL_SIZE: '1', MALLOC_ARENA_MAX: '2' };

/**
 * A process that reads files of strangers, one at a time. It is given no secrets, no sockets and no environment of ours, and
 * what it writes is JSON of a bounded length: a compromised one can only return wrong data about a file. What else
 * our user can do, it can: the image shuts our own process to that user. It is ended with SIGKILL, which native code cannot
 * hold up.
 */
export class PreviewProcess {
  readonly #process: ChildProcess;
  readonly #exited: Promise<unknown>;
  #text = '';
  #settle: ((answer: ProcessAnswer) => void) | undefined;
  #gone = false;
  /** Files that it was given. */
  used = 0;

  /**
   * @param entry the module that it runs.
   * @param memoryKilobytes writable memory, most of it for a decoded image; a process that needs more fails and ends.
   */
  constructor(entry: URL, memoryKilobytes: number) {
    const node = [process.execPath, ...NODE_OPTIONS, fileURLToPath(entry)];
    this.#process = spawn('/bin/sh', ['-c', START, 'sh', String(memoryKilobytes), ...node], {
      ...{ cwd: '/', env: ENVIRONMENT, stdio: ['pipe', 'pipe', 'ignore'] },
    });
    giveWay(this.#process.pid);
    this.#exited = once(this.#process, 'close').catch(() => undefined);
    this.#process.once('exit', () => this.#end('died'));
    this.#process.once('error', () => this.#end('died'));
    // If its pipe is gone, so is the process: `exit` has the details.
    this.#process.stdin!.on('error', () => {});
    this.#process.stdout!.setEncoding('latin1').on('data', (text: string) => this.#read(text));
  }

  /** To be awaited before it is asked anything. */
  async becomeReady(timeoutMs: number): Promise<'ready' | ProcessFailure> {
    const first = await this.#nextLine(timeoutMs);
    if (first.kind === 'failed') return first.why;
    return first.line === READY ? READY : this.#end('too_much');
  }

  get isGone(): boolean {
    return this.#gone;
  }

  /** One at a time. Without a line within `timeoutMs` the process is ended. */
  ask(job: PreviewJob, bytes: Buffer, timeoutMs: number): Promise<ProcessAnswer> {
    this.used++;
    const answer = this.#nextLine(timeoutMs);
    this.#process.stdin!.write(`${JSON.stringify(job)}\n`);
    this.#process.stdin!.write(bytes);
    return answer;
  }

  /** Resolves when it is gone. Safe to repeat. */
  async end(): Promise<void> {
    this.#end('died');
    await this.#exited;
  }

  #nextLine(timeoutMs: number): Promise<ProcessAnswer> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#end('no_answer'), timeoutMs);
      this.#settle = (answer) => {
        clearTimeout(timer);
        this.#settle = undefined;
        resolve(answer);
      };
      if (this.#gone) this.#settle({ kind: 'failed', why: 'died' });
    });
  }

  #read(text: string): void {
    this.#text += text;
    const end = this.#text.indexOf('\n');
    if (end < 0) {
      if (this.#text.length > MAX_ANSWER_CHARACTERS) this.#end('too_much');
      return;
    }
    const line = this.#text.slice(0, end);
    this.#text = this.#text.slice(end + 1);
    if (this.#settle && this.#text === '') this.#settle({ kind: 'line', line });
    // It sent an answer without a question.
    else this.#end('too_much');
  }

  #end(why: ProcessFailure): ProcessFailure {
    this.#gone = true;
    this.#process.kill('SIGKILL');
    this.#settle?.({ kind: 'failed', why });
    return why;
  }
}

/** Waiting callers have priority over previews. */
function giveWay(pid: number | undefined): void {
  try {
    if (pid !== undefined) setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // It is gone already, or the system has no priorities.
  }
}
