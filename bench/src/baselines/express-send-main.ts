import type { AddressInfo } from 'node:net';
import { Queue } from 'bullmq';
import express from 'express';
import { Redis } from 'ioredis';
import Joi from 'joi';
import { type Methods, serve } from './child.js';

const NUMBER = Joi.string().pattern(/^[0-9]{7,15}$/);
const BODY = Joi.object({
  to: Joi.alternatives(NUMBER, Joi.array().items(NUMBER).min(1).max(10_000)).required(),
  text: Joi.string().max(65_536).required(),
});

/** The least that accepts a message: a route, a schema, a job. */
const methods = {
  listen: async ({ redisUrl }: { redisUrl: string }): Promise<number> => {
    const queue = new Queue('send', { connection: new Redis(redisUrl) });
    const app = express();
    app.use(express.json());
    app.post('/send', async (req, res) => {
      const { value, error } = BODY.validate(req.body);
      if (error) {
        res.status(400).json({ error: error.message });
        return;
      }
      const job = await queue.add('send', value);
      res.status(202).json({ messageId: job.id, status: 'queued' });
    });
    const server = app.listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    return (server.address() as AddressInfo).port;
  },
} satisfies Methods;

export type ExpressSendMethods = typeof methods;

serve(methods);
