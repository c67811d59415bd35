import type { CliContext } from '@gateway/cli/cli-context';
import { createOutput } from '@gateway/cli/output';
import { addWorkspaceCommands } from '@gateway/cli/workspaces/workspace-commands';
import { toError } from '@gateway/runtime/errors';
import type { RunScript } from '@gateway/store/core/scripts/define-script';
import { WorkspaceGoneError } from '@gateway/store/core/workspace-gone-error';
import { deleteWorkspace } from '@gateway/store/workspace/delete-workspace';
import { readWorkspaceLimits } from '@gateway/store/workspace/workspace-limits';
import { createWorkspace } from '@gateway/store/workspace/workspaces';
import { openRedisSpace } from '@gateway/testkit/redis-space';
import { silentLogger } from '@gateway/testkit/silent-logger';
import { expect } from 'chai';
import { Command } from 'commander';

describe('a workspace that is deleted, and made anew, while the command that made it stands still', () => {
  it('has none of its limits', async () => {
    const space = await openRedisSpace();
    const { store } = space;
    let isLate = false;
    const run: RunScript = async (name, ...given) => {
      const answer = await store.run(name, ...given);
      if (!isLate) {
        isLate = true;
        await deleteWorkspace(store, 'shop', { logoutMs: 0, closingMs: 0 });
        await createWorkspace(store, 'shop');
      }
      return answer;
    };
    const context = {
      ...{ store: { ...store, run }, workspace: 'default', logger: silentLogger, record: async () => {} },
      output: createOutput({ json: true, stream: process.stderr }),
    };
    const program = new Command().exitOverride();
    addWorkspaceCommands(program, (work) => work(context as unknown as CliContext));
    const args = ['workspace', 'create', 'shop', '--devices', '5'];
    const outcome = await program.parseAsync(args, { from: 'user' }).catch(toError);
    expect(await readWorkspaceLimits(store, 'shop')).to.deep.equal({});
    expect(outcome).to.be.instanceOf(WorkspaceGoneError);
    await space.close();
  });
});
