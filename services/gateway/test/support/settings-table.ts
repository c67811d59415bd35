import { readFileSync } from 'node:fs';
import { SETTINGS } from '@gateway/gateway/settings';

/** What Joi says of one setting, as far as the table tells it. */
interface Description {
  flags?: { default?: unknown; presence?: string; unit?: string };
}

interface Setting {
  name: string;
  services: string[];
  described: Description;
}

const SOURCES = [
  'libs/runtime/src/config/gateway-config.ts',
  'libs/egress/src/webhook-policy.ts',
  'services/gateway/src/settings.ts',
  ...['api', 'connection', 'sender', 'events', 'dashboard'].map((name) => `services/${name}/src/config.ts`),
];
/** A member of an interface, or of the simulator's schema, with the comment above it. */
const MEMBER = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*([A-Z][A-Z0-9_]+)\??:/g;
/** A sentence, in which a full stop inside a name or a number ends nothing. */
const DEFAULT = /\s*\bDefault:? ((?:[^.]|\.(?!\s|$))*)\.(?=\s|$)/;

/** The table of docs/settings.md, from the declarations of the code: what a setting means is the comment above it. */
export function makeSettingsTable(): string {
  const comments = readComments(SOURCES);
  const rows = listSettings().map(({ name, services, described: { flags = {} } }) => {
    const comment = comments.get(name);
    if (comment === undefined) throw new Error(`${name} has no comment that says what it means`);
    const said = DEFAULT.exec(comment)?.[1];
    const meaning = comment.replace(DEFAULT, '').replace(/ Required\.$/, '');
    return [`\`${name}\``, meaning, unitOf(name, flags), defaultOf(flags, said), services.join(', ')];
  });
  return toTable(['setting', 'meaning', 'unit', 'default', 'roles'], rows);
}

/** Those of all roles first, then by role and name. */
function listSettings(): Setting[] {
  const { process: ofAll, ...ofRoles } = SETTINGS;
  const settings = new Map<string, Setting>();
  const all = Object.keys(ofRoles).length;
  for (const [service, schema] of Object.entries({ process: ofAll, ...ofRoles })) {
    for (const [name, described] of Object.entries(schema.describe().keys as Record<string, Description>)) {
      if (described.flags?.presence === 'forbidden') continue;
      const known = settings.get(name) ?? { name, services: [], described };
      if (service !== 'process') known.services.push(service);
      settings.set(name, known);
    }
  }
  return [...settings.values()].map((setting) => {
    const { services } = setting;
    return services.length === 0 || services.length === all ? { ...setting, services: ['all'] } : setting;
  });
}

function readComments(files: readonly string[]): Map<string, string> {
  const comments = new Map<string, string>();
  for (const file of files) {
    for (const [, comment, name] of readFileSync(file, 'utf8').matchAll(MEMBER)) {
      const text = comment!
        .replace(/^\s*\*\s?/gm, '')
        .replace(/\s+/g, ' ')
        .trim();
      if (!comments.has(name!)) comments.set(name!, text);
    }
  }
  return comments;
}

function unitOf(name: string, { unit }: NonNullable<Description['flags']>): string {
  return unit ?? (name.endsWith('_PORT') ? 'port' : '');
}

/** What the code has comes first: what a comment says of it may be wrong. */
function defaultOf({ default: value, presence }: NonNullable<Description['flags']>, said: string | undefined): string {
  if (presence === 'required') return 'required';
  if (['string', 'number', 'boolean'].includes(typeof value)) {
    const remark = said?.includes(': ') ? said.slice(said.indexOf(': ')) : '';
    return `\`${value}\`${remark}`;
  }
  return said ?? 'none';
}

function toTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
