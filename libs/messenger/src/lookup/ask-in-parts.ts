import { networkCodeOf } from '../session/session-errors.js';

/** Codes by which the network refuses a query because of one of those it is about, without saying which. */
const ABOUT_ONE: ReadonlySet<number> = new Set([400, 404, 406]);
/** Queries that one batch may come to. One bad name among a hundred costs fourteen. */
const MAX_QUERIES = 48;

export interface AnswersInParts<Item, Answer> {
  answers: Answer[];
  /** Those that the network refuses to answer, with its code; past `MAX_QUERIES` also their neighbours. */
  refused: Map<Item, number>;
}

/** The items that were refused alone, with the network's code. */
export interface RefusedBefore<Item> {
  get(item: Item): number | undefined;
  set(item: Item, code: number): unknown;
  delete(item: Item): unknown;
}

/**
 * Halves a batch that is refused, and its halves: one bad name must not fail a hundred. Throws other failures.
 *
 * @param before kept from batch to batch: what was refused alone is asked alone, after the others. So a batch with more
 *   bad names than its queries can tell apart has fewer of them at the next attempt.
 */
export async function askInParts<Item, Answer>(
  items: readonly Item[],
  ask: (items: readonly Item[]) => Promise<Answer[]>,
  before: RefusedBefore<Item> = new Map(),
): Promise<AnswersInParts<Item, Answer>> {
  const answers: Answer[] = [];
  const refused = new Map<Item, number>();
  const suspects = items.filter((item) => before.get(item) !== undefined);
  const others = items.filter((item) => before.get(item) === undefined);
  let queries = 0;

  /** Its answers, or the code by which it is refused. */
  const query = async (part: readonly Item[]): Promise<number | undefined> => {
    queries += 1;
    try {
      answers.push(...(await ask(part)));
      return undefined;
    } catch (thrown) {
      const code = networkCodeOf(thrown) ?? 0;
      if (ABOUT_ONE.has(code)) return code;
      throw thrown;
    }
  };

  const open = others.length > 0 ? [others] : [];
  for (let part = open.pop(); part; part = open.pop()) {
    const code = await query(part);
    if (code === undefined) continue;
    const middle = Math.ceil(part.length / 2);
    if (part.length > 1 && queries + open.length + 2 <= MAX_QUERIES)
      open.push(part.slice(middle), part.slice(0, middle));
    else for (const item of part) refused.set(item, code);
    if (part.length === 1) before.set(part[0]!, code);
  }
  for (const item of suspects) {
    const code = queries < MAX_QUERIES ? await query([item]) : before.get(item);
    if (code === undefined) before.delete(item);
    else refused.set(item, code);
  }
  return { answers, refused };
}
