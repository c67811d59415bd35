import type { AddressInfo } from 'node:net';
import express from 'express';
import { Redis } from 'ioredis';
import { type Methods, serve } from './child.js';

/** The least that an HTTP service with a data store does: one route, one read. */
const methods = {
  listen: async ({ redisUrl, key }: { redisUrl: string; key: string }): Promise<number> => {
    const redis = new Redis(redisUrl);
    const app = express();
    app.get('/status', async (_req, res) => {
      res.json({ success: true, status: await redis.get(key) });
    });
    const server = app.listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    return (server.address() as AddressInfo).port;
  },
} satisfies Methods;

export type ExpressMethods = typeof methods;

serve(methods);
