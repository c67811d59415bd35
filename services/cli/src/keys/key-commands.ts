import { systemClock } from '@gateway/runtime/clock';
import { confirmEverywhere, connectToAll } from '@gateway/store/core/confirming/confirm-everywhere';
import { countKeyUse, type KeyUse, resealAll } from '@gateway/store/core/sealed-values';
import type { KeyRing } from '@gateway/store/core/vault';
import { type Command, Option } from 'commander';
import type { CliContext, RunCommand } from '../cli-context.js';

const SETTINGS: Record<KeyRing, string> = { credentials: 'CREDENTIAL_KEYS', contents: 'CONTENT_KEYS' };
const PROGRESS_EVERY_MS = 2_000;

/** `keys status | reseal | retire`. */
export function addKeyCommands(program: Command, run: RunCommand): void {
  const keys = program.command('keys').description('encryption keys: which are in use, and how to rotate them');
  keys
    .command('status')
    .description('count the values that each key of each ring has encrypted; decrypts nothing')
    .action(() => run(status));
  keys
    .command('reseal')
    .description(
      'encrypt everything with the first key of its ring, while the gateway runs; may be stopped and repeated',
    )
    .action(() => run(reseal));
  keys
    .command('retire')
    .description('check whether a key can be removed from the settings; fails while anything is encrypted with it')
    .argument('<key>', 'its id, the part before the colon')
    .addOption(
      new Option('--ring <ring>', 'needed if both rings have a key with this id').choices(Object.keys(SETTINGS)),
    )
    .action((key: string, { ring }: { ring?: KeyRing }) => run((context) => retire(context, key, ring)));
}

async function status({ store, output }: CliContext): Promise<void> {
  const uses = await countKeyUse(store);
  output.list(
    uses,
    (index) => {
      const { ring, keyId, values, use } = uses[index]!;
      return { ring, key: keyId, setting: SETTINGS[ring], use: WORDS[use], values: String(values) };
    },
    'Nothing is encrypted.',
  );
}

const WORDS: Record<KeyUse['use'], string> = { seals: 'encrypts', opens: 'decrypts', unknown: 'not configured here' };

async function reseal({ store, output, record }: CliContext): Promise<void> {
  for (const ring of Object.keys(SETTINGS) as KeyRing[]) {
    if (store.vault.keyIds(ring).length === 0) throw new Error(`${SETTINGS[ring]} is required`);
  }
  let toldMs = systemClock.monotonicMs();
  const { resealed, unopened } = await resealAll(store, {
    onProgress(progress) {
      if (systemClock.monotonicMs() - toldMs < PROGRESS_EVERY_MS) return;
      toldMs = systemClock.monotonicMs();
      output.note(`${progress.resealed} encrypted again, ${progress.seen} seen in this round`);
    },
  });
  if (resealed > 0) await record('keys.resealed', String(resealed));
  output.show({ resealed, unopened });
  if (unopened > 0) throw new Error(`${unopened} values cannot be decrypted with the keys that are configured here`);
}

/** A replica that takes over may have values that are encrypted with it, which is destroyed by then: so all must have what was counted. */
async function retire({ store, output }: CliContext, keyId: string, ring: KeyRing | undefined): Promise<void> {
  const since = await connectToAll(store);
  const found = (await countKeyUse(store)).filter((use) => use.keyId === keyId && (ring ?? use.ring) === use.ring);
  const [use, other] = found;
  if (!use) throw new Error(`no ring has a key ${keyId}, and nothing is encrypted with it`);
  if (other) throw new Error(`both rings have a key ${keyId}: choose one with --ring`);
  if (use.use === 'seals')
    throw new Error(`${keyId} is the first key of ${SETTINGS[use.ring]}: put another key in front first`);
  if (use.values > 0) throw new Error(`${use.values} values are encrypted with ${keyId}: run keys reseal first`);
  await confirmEverywhere(store, since);
  output.show({ ring: use.ring, key: keyId, values: 0, retired: true });
  output.note(`\nRemove ${keyId} from ${SETTINGS[use.ring]} everywhere, and destroy it.`);
}
