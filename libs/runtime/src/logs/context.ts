import { AsyncValue } from '../process/async-value.js';

/** The context of a piece of work. It follows the work through every `await`, and is in every log line. */
export interface WorkContext {
  /** Of the HTTP request that started it; rides in the job to the ack. Not known of what an owner finds by itself. */
  requestId?: string;
  device?: string;
  messageId?: string;
}

const current = new AsyncValue<WorkContext>();

/** Runs `work` with this context. One inside another replaces it until the inner work ends. */
export function runInContext<Result>(context: WorkContext, work: () => Result): Result {
  return current.run(context, work);
}

/** `undefined` outside of any request or job. */
export function currentContext(): WorkContext | undefined {
  return current.get();
}
