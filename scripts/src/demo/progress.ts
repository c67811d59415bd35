/** How a demo shows its progress. */
export interface Progress {
  /** A step begins: shown with a spinner until the next one, or until it is done. */
  step(title: string): void;
  /** What the step has reached. */
  update(detail: string): void;
  done(detail?: string): void;
  fail(): void;
  /** What happens beside the step. */
  note(text: string): void;
  /** Anything else, such as the table at the end. */
  print(text: string): void;
}

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const FRAME_MS = 80;
/** Without a terminal a line now and then is enough. */
const PLAIN_UPDATE_MS = 5_000;
const BAR_WIDTH = 24;

export function createProgress(stream: NodeJS.WriteStream): Progress {
  return stream.isTTY ? animated(stream) : plain(stream);
}

/** `████████░░░░ 33/50` */
export function bar(part: number, whole: number): string {
  const filled = whole === 0 ? 0 : Math.round((part / whole) * BAR_WIDTH);
  return `${'█'.repeat(filled)}${'░'.repeat(BAR_WIDTH - filled)} ${part}/${whole}`;
}

function animated(stream: NodeJS.WriteStream): Progress {
  let [title, detail, frame] = ['', '', 0];
  let timer: NodeJS.Timeout | undefined;
  const draw = (mark: string, end: string) => {
    const line = `${mark} ${title}${detail && `  ${dim(detail)}`}`;
    stream.write(`\r\u001b[2K${line}${end}`);
  };
  const spin = () => draw(cyan(FRAMES[frame++ % FRAMES.length]!), '');
  const finish = (mark: string) => {
    clearInterval(timer);
    if (title) draw(mark, '\n');
    title = '';
  };
  return {
    step: (next) => {
      [title, detail] = [next, ''];
      timer = setInterval(spin, FRAME_MS).unref();
      spin();
    },
    update: (next) => {
      detail = next;
    },
    done: (next) => {
      detail = next ?? detail;
      finish(green('✔'));
    },
    fail: () => finish(red('✘')),
    note: (text) => {
      stream.write(`\r\u001b[2K  ${dim(text)}\n`);
      if (title) spin();
    },
    print: (text) => stream.write(`${text}\n`),
  };
}

function plain(stream: NodeJS.WriteStream): Progress {
  let [title, detail, lastMs] = ['', '', 0];
  const write = (line: string) => stream.write(`${line}\n`);
  return {
    step: (next) => {
      [title, detail, lastMs] = [next, '', performance.now()];
    },
    update: (next) => {
      detail = next;
      if (performance.now() - lastMs < PLAIN_UPDATE_MS) return;
      lastMs = performance.now();
      write(`  ${title}  ${detail}`);
    },
    done: (next = detail) => {
      write(`✔ ${title}${next && `  ${next}`}`);
      title = '';
    },
    fail: () => {
      if (title) write(`✘ ${title}${detail && `  ${detail}`}`);
    },
    note: (text) => write(`  ${text}`),
    print: write,
  };
}

const paint = (colour: number) => (text: string) => `\u001b[${colour}m${text}\u001b[0m`;
const [dim, red, green, cyan] = [paint(2), paint(31), paint(32), paint(36)] as const;
