import { open, readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { describePerson, normalizePerson } from '@gateway/contracts/people/normalize-person';
import { canonicalPhoneNumber } from '@gateway/contracts/people/phone-number';
import { systemClock } from '@gateway/runtime/clock';
import { describeOptOut } from '@gateway/store/workspace/describe-opt-out';
import {
  addOptOuts,
  countOptOuts,
  findOptOut,
  listOptOuts,
  placeOf,
  removeOptOut,
} from '@gateway/store/workspace/opt-outs';
import { type Command, InvalidArgumentError } from 'commander';
import { type CliContext, proofOf, type RunCommand } from '../cli-context.js';
import { showTime } from '../output.js';
import { readCount } from '../read-count.js';
import { readNumbers } from './read-numbers.js';

const LIST_LIMIT = 100;
const PAGE = 1_000;
const STANDARD_INPUT = '-';
/** Of an export. */
const COLUMNS = 'phone,source,at';

type Described = ReturnType<typeof describeOptOut>;

/** `optouts list | show | add | remove | import | export`. */
export function addOptOutCommands(program: Command, run: RunCommand): void {
  const optouts = program.command('optouts').description('opt-outs: people who get no messages from any device');
  optouts
    .command('list')
    .description(`show the first ${LIST_LIMIT} (see --limit), in no particular order`)
    .option('--limit <count>', 'how many to show', readCount, LIST_LIMIT)
    .action(({ limit }: { limit: number }) => run((context) => list(context, limit)));
  optouts
    .command('show')
    .description('show whether a person has opted out, when and how')
    .argument('<phone>', 'country code first', readPhone)
    .action((phone: string) => run((context) => show(context, phone)));
  optouts
    .command('add')
    .description('send these people nothing except one-time passwords; takes effect at once, also for queued sends')
    .argument('<phone...>', 'country code first', collectPhones)
    .action((phones: string[]) => run(async (context) => add(context, phones, await proofOf(context))));
  optouts
    .command('remove')
    .description('remove these people from the list, whether they wrote STOP or were added')
    .argument('<phone...>', 'country code first', collectPhones)
    .action((phones: string[]) => run((context) => remove(context, phones)));
  optouts
    .command('import')
    .description('add the numbers in a file: one per line, or the first column of a CSV file')
    .argument('<file>', 'or - for the standard input')
    .option('--skip-invalid', 'skip lines without a phone number; by default they stop the import')
    .action((file: string, options: { skipInvalid?: true }) => run((context) => importFile(context, file, options)));
  optouts
    .command('export')
    .description(
      'write the whole list as CSV: phone (or the hidden identifier, as digits@lid), source, at; to the standard output with --json an object a line',
    )
    .argument('[file]', 'a new file; without it the standard output')
    .action((file: string | undefined) => run((context) => exportFile(context, file)));
}

async function list({ store, workspace, output }: CliContext, limit: number): Promise<void> {
  const [people, total] = await Promise.all([listOptOuts(store, workspace, { limit }), countOptOuts(store, workspace)]);
  const toRow = (index: number) => {
    const { phone, hiddenId, source, atMs } = people[index]!;
    return { phone: phone ?? `no number (${hiddenId})`, source, since: showTime(atMs) };
  };
  output.list(people.map(describeOptOut), toRow, 'There are no opt-outs.');
  if (total > people.length) output.note(`\n... and ${total - people.length} more: optouts export`);
}

async function show({ store, workspace, output }: CliContext, number: string): Promise<void> {
  const found = await findOptOut(store, workspace, number);
  output.show({ ...describePerson(number), optedOut: found !== undefined, ...(found && describeOptOut(found)) });
}

async function add(
  { store, workspace, output, record }: CliContext,
  numbers: readonly string[],
  from: { keyId: string },
): Promise<void> {
  const people = new Set(numbers.map(canonicalPhoneNumber)).size;
  const { added } = await addOptOuts(store, workspace, { numbers, source: 'cli', atMs: systemClock.nowMs(), from });
  if (added > 0) await record('opt_outs.added', String(added));
  output.show({ added, unchanged: people - added });
}

async function remove({ store, workspace, output, record }: CliContext, numbers: readonly string[]): Promise<void> {
  const { keyId } = await proofOf({ store, workspace });
  let removed = 0;
  for (const number of numbers) if (await removeOptOut(store, workspace, number, 'cli', keyId)) removed++;
  if (removed > 0) await record('opt_out.lifted', String(removed));
  output.show({ removed });
}

async function importFile(
  context: CliContext,
  file: string,
  { skipInvalid = false }: { skipInvalid?: boolean },
): Promise<void> {
  const proof = await proofOf(context);
  const { numbers, invalidLines } = readNumbers(
    file === STANDARD_INPUT ? await text(context.stdin) : await readFile(file, 'utf8'),
  );
  if (invalidLines.length > 0 && !skipInvalid) {
    const shown = invalidLines.slice(0, 10).join(', ');
    const more = invalidLines.length > 10 ? ` and ${invalidLines.length - 10} more` : '';
    throw new Error(`nothing was imported: no phone number in line ${shown}${more} (use --skip-invalid to skip them)`);
  }
  if (invalidLines.length > 0) context.output.note(`Lines skipped: ${invalidLines.length}`);
  await add(context, numbers, proof);
}

async function exportFile({ store, workspace, output }: CliContext, file: string | undefined): Promise<void> {
  if (file === undefined) {
    output.note(COLUMNS);
    for await (const page of pages(store, workspace)) for (const each of page) output.line(each, toCsv(each));
    return;
  }
  const target = await open(file, 'wx', 0o600);
  try {
    await target.write(`${COLUMNS}\n`);
    for await (const page of pages(store, workspace)) await target.write(`${page.map(toCsv).join('\n')}\n`);
  } finally {
    await target.close();
  }
  output.show({ file });
}

function toCsv({ phone, hiddenId, source, at }: Described): string {
  return `${phone ?? hiddenId},${source},${at}`;
}

async function* pages(store: CliContext['store'], workspace: string): AsyncGenerator<Described[]> {
  let after: string | undefined;
  do {
    const page = await listOptOuts(store, workspace, { limit: PAGE, ...(after !== undefined && { after }) });
    if (page.length > 0) yield page.map(describeOptOut);
    const last = page.at(-1);
    after = last && placeOf(last);
  } while (after !== undefined);
}

function readPhone(given: string): string {
  const person = normalizePerson(given);
  if (person === undefined) throw new InvalidArgumentError('Expected 7 to 15 digits, country code first.');
  return person;
}

function collectPhones(given: string, before: string[] | undefined): string[] {
  return [...(before ?? []), readPhone(given)];
}
