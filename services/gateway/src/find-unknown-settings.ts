export interface UnknownSetting {
  setting: string;
  /** The one that was probably meant. */
  nearest: string;
}

/** Names of ours begin with these words, and those of hardly anything else. */
const OUR_WORDS = /^(MESSENGER|DASHBOARD|ATTACHMENT|CREDENTIAL|PACE|OPS)_/;
/** Kubernetes tells each container where all services are, unless `enableServiceLinks` is false. */
const SERVICE_LINK = /_(SERVICE_(HOST|PORT)|PORT_\d+_(TCP|UDP))(_|$)/;
/** Typing errors in a name of four letters, each. */
const LETTERS_PER_ERROR = 4;

/** Variables that look like settings (`DASHBORD_PORT`, `MESSENGER_ADDRESS`), but are none: left unsaid, a default would count. */
export function findUnknownSettings(variables: readonly string[], known: ReadonlySet<string>): UnknownSetting[] {
  const names = [...known];
  return variables.flatMap((setting) => {
    const name = setting.replace(/_FILE$/, '');
    if (known.has(name) || SERVICE_LINK.test(name)) return [];
    const [nearest, errors] = findNearest(name, names);
    const isNear = errors <= Math.max(1, Math.floor(name.length / LETTERS_PER_ERROR));
    return isNear || OUR_WORDS.test(name) ? [{ setting, nearest }] : [];
  });
}

function findNearest(name: string, names: readonly string[]): [nearest: string, errors: number] {
  const distances = names.map((each): [string, number] => [each, distanceOf(name, each)]);
  return distances.reduce((best, each) => (each[1] < best[1] ? each : best));
}

/** Letters to be added, left out or replaced to make one word of the other (Levenshtein). */
function distanceOf(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, column) => column);
  for (const [index, letter] of [...one].entries()) {
    const next = [index + 1];
    for (let column = 1; column <= other.length; column++) {
      const replaced = row[column - 1]! + (letter === other[column - 1] ? 0 : 1);
      next.push(Math.min(next[column - 1]! + 1, row[column]! + 1, replaced));
    }
    row = next;
  }
  return row.at(-1)!;
}
