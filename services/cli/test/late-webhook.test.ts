import type { CliContext } from '@gateway/cli/cli-context';
import { createOutput } from '@gateway/cli/output';
import { addListenCommands } from '@gateway/cli/webhooks/listen-commands';
import { addWriteCommands } from '@gateway/cli/webhooks/write-commands';
import { toError } from '@gateway/runtime/errors';
import type { RunScript } from '@gateway/store/core/scripts/define-script';
import { WorkspaceGoneError } from '@gateway/store/core/workspace-gone-error';
import { deleteWorkspace } from '@gateway/store/workspace/delete-workspace';
import { createWorkspace } from '@gateway/store/workspace/workspaces';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { silentLogger } from '@gateway/testkit/silent-logger';
import { expect } from 'chai';
import { Command } from 'commander';

const URL = 'https://shop.example/hook';

describe('a command for webhooks whose workspace is deleted while it stands still', () => {
  let space: RedisSpace;
  beforeEach(async () => {
    space = await openRedisSpace();
    await createWorkspace(space.store, 'shop');
  });
  afterEach(() => space.close());

  const keys = async () => (await space.store.redis.keys(`${space.prefix}:*`)).sort();

  /** @param step before it goes out for the first time. */
  async function runLate(args: string[], step: string, { isMadeAgain }: { isMadeAgain: boolean }): Promise<unknown> {
    const { store } = space;
    let before: string[] | undefined;
    const run: RunScript = async (name, ...given) => {
      if (name === step && before === undefined) {
        await deleteWorkspace(store, 'shop', { logoutMs: 0, closingMs: 0 });
        if (isMadeAgain) await createWorkspace(store, 'shop');
        before = await keys();
      }
      return store.run(name, ...given);
    };
    const context = {
      ...{ store: { ...store, run }, workspace: 'shop', logger: silentLogger, record: async () => {} },
      ...{
        output: createOutput({ json: true, stream: process.stderr }),
        webhookPolicy: { addresses: { allowed: [] } },
      },
    };
    const program = new Command().exitOverride();
    const runCommand = (work: (context: CliContext) => Promise<void>) => work(context as unknown as CliContext);
    addWriteCommands(program, runCommand);
    addListenCommands(program, runCommand);
    const outcome = await program.parseAsync(args, { from: 'user' }).catch(toError);
    expect(await keys()).to.deep.equal(before);
    return outcome;
  }

  for (const isMadeAgain of [false, true]) {
    for (const step of ['want-events', 'create-webhook']) {
      it(`makes no endpoint in ${isMadeAgain ? 'the next one' : 'it'}: ${step}`, async () => {
        expect(await runLate(['create', URL], step, { isMadeAgain })).to.be.instanceOf(WorkspaceGoneError);
      });
    }
    it(`opens no events of ${isMadeAgain ? 'the next one' : 'it'}`, async () => {
      expect(await runLate(['listen'], 'want-events', { isMadeAgain })).to.be.instanceOf(WorkspaceGoneError);
    });
  }
});
