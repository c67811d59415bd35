import { isDeviceId } from '@gateway/contracts/ids';
import { SIGNATURE_SCHEMES, type SignatureScheme } from '@gateway/contracts/webhooks/signature';
import {
  CUSTOM_HEADER,
  SUBSCRIBABLE_TYPES,
  WEBHOOK_LIMITS,
  type WebhookSettings,
} from '@gateway/contracts/webhooks/webhook';
import { Joi } from './input-kinds.js';

interface WebhookInput extends WebhookSettings {
  url: string;
  headers: Record<string, string>;
}

/** What the owner of an endpoint chooses; each with the same meaning when it is made and when it is changed. */
const fields = {
  url: Joi.httpUrl()
    .custom(readUrl)
    .description(
      'https, at any port, on the public internet. The operator may allow other networks, these also by http.',
    ),
  headers: Joi.object()
    .pattern(
      CUSTOM_HEADER,
      Joi.string()
        .max(WEBHOOK_LIMITS.maxHeaderCharacters)
        .pattern(/^[\x20-\x7e]*$/),
    )
    .max(WEBHOOK_LIMITS.maxHeaders)
    .custom(readHeaders)
    .description(
      'Up to 10 headers that are sent with each request, such as `Authorization`. Those of HTTP itself and of the signature cannot be set.',
    ),
  description: Joi.string().allow('').max(200).description('For people.'),
  types: Joi.array()
    .items(
      Joi.string()
        .valid(...SUBSCRIBABLE_TYPES)
        // All of them, for each that is wrong, would be long.
        .messages({ 'any.only': 'is no type of event that there is' }),
    )
    .min(1)
    .unique()
    .description(
      'What it is told. Without it all types but `message.<status>`: these are one request for each recipient and status, where ' +
        '`messages.updated` has up to 500 changes.',
    ),
  devices: Joi.array()
    .items(Joi.string().custom(readDevice))
    .min(1)
    .max(100)
    .unique()
    .allow(null)
    .description('Only what happens on these devices. `null`: on all of the workspace.'),
  content: Joi.string()
    .valid('full', 'none')
    .description(
      '`none`: what people write, their names, their files and what they reply to are left out. Every message is told as a text that is `null`.',
    ),
  numbers: Joi.string()
    .valid('full', 'masked')
    .description(
      '`masked`: most digits of phone numbers are left out, those of shared contacts too, and the number of a sender where it stands in a name ' +
        'or a text. Other numbers in what people write are not looked for: that is left out with `content: none`.',
    ),
  gatherSeconds: Joi.number()
    .integer()
    .min(1)
    .max(WEBHOOK_LIMITS.maxGatherSeconds)
    .description('How long changes of lists are gathered before they are told, if they are fewer than 500.'),
  order: Joi.string()
    .valid('recipient', 'strict')
    .description(
      '`recipient`: what your server refuses again and again, or never answers, while it takes other requests is put aside, with all that ' +
        'follows for the same recipient, and tried again by itself. `strict`: it holds up all that comes after it.',
    ),
  concurrency: Joi.number()
    .integer()
    .min(1)
    .max(WEBHOOK_LIMITS.maxConcurrency)
    .description(
      'How many requests at a time tell what has a request of its own, as `message.<status>`. Those of one recipient come one after the ' +
        'other. Without it: 1.',
    ),
};

export type NewWebhookInput = Pick<WebhookInput, 'url'> & Partial<WebhookInput> & { signature: SignatureScheme };

/** An endpoint that is to be made, by the API or an operator. */
export const newWebhookInput = Joi.object<NewWebhookInput>({
  ...fields,
  url: fields.url.required(),
  signature: Joi.string()
    .valid(...SIGNATURE_SCHEMES)
    .default('v1')
    .description('`v1`: HMAC-SHA256 with a secret. `v1a`: ed25519, for receivers who should have no secret.'),
});

export type WebhookChangeInput = Partial<WebhookInput>;

/** What is to be another one. */
export const webhookChangeInput = Joi.object<WebhookChangeInput>(fields).or(...Object.keys(fields));

function readUrl(given: string): string {
  if (new URL(given).hash) throw new Error('must be a URL without a fragment');
  return given;
}

/** Which of two values of one name counts would be for the endpoint to guess. */
function readHeaders(given: Record<string, string>): Record<string, string> {
  const names = Object.keys(given);
  const different = new Set(names.map((name) => name.toLowerCase()));
  if (different.size < names.length) throw new Error('must have each name once, whatever its case');
  return given;
}

function readDevice(given: string): string {
  if (!isDeviceId(given)) throw new Error('must be the id of a device');
  return given;
}
