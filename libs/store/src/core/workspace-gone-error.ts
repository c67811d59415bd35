import { GatewayError } from '@gateway/runtime/errors';

/** What was to be written is of a workspace that has been deleted since the caller was let in. */
export class WorkspaceGoneError extends GatewayError {
  constructor() {
    super({ code: 'workspace_gone', message: 'the workspace has been deleted meanwhile' });
  }
}
