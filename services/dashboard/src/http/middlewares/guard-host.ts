import type { RequestHandler } from 'express';
import { isLoopback } from '../../config.js';
import type { DashboardDeps } from '../../dashboard-deps.js';
import { ConsoleError } from '../console-error.js';

/**
 * Answers under the names that it was told, and those of this machine: what is typed under another would cross a network in
 * the clear, and a page elsewhere could give its own name our address.
 */
export function guardHost({ publicUrl, allowsPlainHttp }: DashboardDeps): RequestHandler {
  return (req, _res, next) => {
    const host = req.get('host') ?? '';
    const isOurs = allowsPlainHttp || host === publicUrl?.host || isLoopback(host.replace(/:\d+$/, ''));
    next(isOurs ? undefined : new ConsoleError('plain_http'));
  };
}
