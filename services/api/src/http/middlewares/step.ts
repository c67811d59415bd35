import type { Request, RequestHandler, Response } from 'express';

/** One check of a request, or what answers it. Throws what refuses it; waits only where it must. */
export type Step = (req: Request, res: Response) => void | Promise<void>;

/**
 * Does steps one after the other, without a turn of the event loop or a promise between those that need not wait. None is
 * done after the answer: what came behind the request on its connection may have been broken.
 */
export function inOrder(steps: readonly Step[]): RequestHandler {
  return async (req, res) => {
    for (const step of steps) {
      const waiting = step(req, res);
      if (waiting) await waiting;
      if (res.headersSent) return;
    }
  };
}
