import { type LookupAddress, NODATA, NOTFOUND } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import { toError } from '@gateway/runtime/errors';
import { type NameFiles, readNameSettings, SYSTEM_FILES } from './name-settings.js';

export interface NameOptions {
  /** Default: those of the system. */
  files?: NameFiles;
  /** Name servers with their ports, such as `127.0.0.1:53`. Default: those of the system. */
  servers?: readonly string[];
}

/** For one server, once; its second and last attempt may take twice that. */
const ATTEMPT_MS = 2_000;
/** Servers that ignore one of the two queries delay nothing once the other is answered. */
const OTHER_FAMILY_MS = 1_000;

/**
 * All addresses of a name: by the hosts file, else by the name servers, with the search domains of the system. Unlike
 * `dns.lookup` it holds no thread of the pool that files, ciphers and all other names need, and ends when it is told to
 * (ADR 14). Rejects when there are none, when the servers do not answer, and when `signal` aborts.
 */
export async function resolveName(
  name: string,
  signal: AbortSignal,
  { files = SYSTEM_FILES, servers }: NameOptions = {},
): Promise<LookupAddress[]> {
  const { hosts, search, ndots } = await readNameSettings(files);
  const absolute = name.toLowerCase().replace(/\.$/, '');
  const known = hosts.get(absolute) ?? (isLocal(absolute) ? ['127.0.0.1', '::1'] : undefined);
  if (known) return known.map((address) => ({ address, family: isIP(address) }));
  const resolver = new Resolver({ timeout: ATTEMPT_MS, tries: 2 });
  if (servers) resolver.setServers(servers);
  const cancel = () => resolver.cancel();
  signal.addEventListener('abort', cancel);
  try {
    let failure = notFound(name);
    for (const candidate of candidatesOf(name, absolute, { search, ndots })) {
      signal.throwIfAborted();
      const answer = await askForBoth(resolver, candidate);
      if (Array.isArray(answer)) return answer;
      if (!isAbsence(answer)) failure = answer;
    }
    throw failure;
  } finally {
    signal.removeEventListener('abort', cancel);
  }
}

/** As resolvers of C libraries do: a name with enough dots is asked for as it is first, others in the search domains first. */
function candidatesOf(
  name: string,
  absolute: string,
  { search, ndots }: { search: readonly string[]; ndots: number },
): string[] {
  if (name.endsWith('.')) return [absolute];
  const found = search.map((domain) => `${absolute}.${domain}`);
  return absolute.split('.').length > ndots ? [absolute, ...found] : [...found, absolute];
}

async function askForBoth(resolver: Resolver, name: string): Promise<LookupAddress[] | NodeJS.ErrnoException> {
  let timer: NodeJS.Timeout | undefined;
  const hurry = () => {
    timer ??= setTimeout(() => resolver.cancel(), OTHER_FAMILY_MS);
  };
  const ask = async (addresses: Promise<string[]>, family: 4 | 6) => {
    const found = (await addresses).map((address) => ({ address, family }));
    hurry();
    return found;
  };
  const answers = await Promise.allSettled([ask(resolver.resolve4(name), 4), ask(resolver.resolve6(name), 6)]);
  clearTimeout(timer);
  const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  if (found.length > 0) return found;
  const failures = answers.flatMap((answer) => (answer.status === 'rejected' ? [toError(answer.reason)] : []));
  return failures.find((failure) => !isAbsence(failure)) ?? failures[0] ?? notFound(name);
}

function isAbsence({ code }: NodeJS.ErrnoException): boolean {
  return code === NOTFOUND || code === NODATA;
}

/** RFC 6761: these are never asked of anyone. */
function isLocal(name: string): boolean {
  return name === 'localhost' || name.endsWith('.localhost');
}

function notFound(name: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`no address of ${name}`), { code: NOTFOUND });
}
