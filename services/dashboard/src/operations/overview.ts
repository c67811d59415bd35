import { readOverviewHours } from '@gateway/contracts/console/overview';
import Joi from 'joi';
import { ConsoleError } from '../http/console-error.js';
import { checkQuery, operation } from '../http/operation.js';

const query = Joi.object<{ hours: string }>({ hours: Joi.string().default('1') });

/** Query: `hours`, how far it looks back: 1, 24 or 168. */
export const showOverview = operation({
  method: 'get',
  path: '/overview',
  for: 'viewer',
  async handle({ req }, { overview }) {
    const hours = readOverviewHours(checkQuery(query, req).hours);
    if (hours === undefined) throw new ConsoleError('invalid_request');
    return { body: { overview: await overview.read(hours) } };
  },
});
