import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';

/** Where the system keeps what it knows of names. */
export interface NameFiles {
  hosts: string;
  resolver: string;
}

export interface NameSettings {
  /** Addresses by name, in lower case. */
  hosts: ReadonlyMap<string, readonly string[]>;
  /** Domains that short names are looked for in. */
  search: readonly string[];
  /** From so many dots on a name is asked for as it is first. */
  ndots: number;
}

export const SYSTEM_FILES: NameFiles = { hosts: '/etc/hosts', resolver: '/etc/resolv.conf' };

/** As in resolv.conf(5): glibc believes no more. */
const MAX_DOTS = 15;

/** Read again for each name, as they may change while the process runs. An unreadable file counts as empty. */
export async function readNameSettings({ hosts, resolver }: NameFiles): Promise<NameSettings> {
  return { hosts: readHosts(await readWords(hosts)), ...readResolver(await readWords(resolver)) };
}

async function readWords(file: string): Promise<string[][]> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return text.split('\n').map((line) =>
    line
      .replace(/[#;].*/, '')
      .trim()
      .split(/\s+/),
  );
}

function readHosts(lines: string[][]): NameSettings['hosts'] {
  const hosts = new Map<string, string[]>();
  for (const [address = '', ...names] of lines) {
    if (!isIP(address)) continue;
    for (const name of names.map((each) => each.toLowerCase())) {
      hosts.set(name, [...(hosts.get(name) ?? []), address]);
    }
  }
  return hosts;
}

/** The last of `search` and `domain` counts. */
function readResolver(lines: string[][]): Omit<NameSettings, 'hosts'> {
  let search: string[] = [];
  let ndots = 1;
  for (const [keyword, ...values] of lines) {
    if (keyword === 'search') search = values;
    if (keyword === 'domain') search = values.slice(0, 1);
    if (keyword !== 'options') continue;
    const dots = values.map((value) => /^ndots:(\d+)$/.exec(value)?.[1]).findLast((value) => value !== undefined);
    if (dots !== undefined) ndots = Math.min(Number(dots), MAX_DOTS);
  }
  return { search: search.map((domain) => domain.replace(/\.$/, '')).filter((domain) => domain !== ''), ndots };
}
