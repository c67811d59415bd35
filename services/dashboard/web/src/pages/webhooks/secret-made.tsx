import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { testWebhook } from '../../api/webhooks.js';
import { CopyBox } from '../../components/copy-box.js';
import { Failure } from '../../components/states/failure.js';
import { TestAnswer } from './test-answer.js';

const KEY_PREFIX = 'whpk_';

interface SecretMadeProps {
  id: string;
  secret: string;
  onDone: () => void;
}

/** The secret or public key, the lines that verify with it, and the test, which the endpoint has to pass before it is told anything. */
export function SecretMade({ id, secret, onDone }: SecretMadeProps) {
  const { t } = useTranslation();
  const test = useMutation({ mutationFn: () => testWebhook(id) });
  const isKey = secret.startsWith(KEY_PREFIX);
  const isTaken = test.data?.delivered === true;
  return (
    <Stack>
      {!isKey && (
        <Alert variant="outline" color="yellow" c="var(--mantine-color-text)" py="xs">
          {t('webhooks.made.once')}
        </Alert>
      )}
      <CopyBox label={t(isKey ? 'webhooks.made.key' : 'webhooks.made.secret')} value={secret} />
      <Stack gap={6}>
        <Text size="sm">{t('webhooks.made.verify')}</Text>
        <CopyBox label={t('webhooks.made.lines')} value={isKey ? linesWithKey(secret) : linesWith(secret)} />
      </Stack>
      {test.data && <TestAnswer result={test.data} />}
      {test.error && <Failure error={test.error} />}
      <Group gap="xs" grow>
        <Button variant={isTaken ? 'default' : 'filled'} loading={test.isPending} onClick={() => test.mutate()}>
          {t('webhooks.test')}
        </Button>
        <Button variant={isTaken ? 'filled' : 'default'} onClick={onDone}>
          {t('webhooks.made.done')}
        </Button>
      </Group>
    </Stack>
  );
}

const linesWith = (secret: string) => `import { Webhook } from 'standardwebhooks'; // npm install standardwebhooks

// The body as it came, before it is parsed. Throws when it is not from here.
const event = new Webhook('${secret}').verify(body, request.headers);`;

/** The package for secrets knows no keys. */
const linesWithKey = (key: string) => `import { createPublicKey, verify } from 'node:crypto';

const x = Buffer.from('${key.slice(KEY_PREFIX.length)}', 'base64').toString('base64url');
const key = createPublicKey({ format: 'jwk', key: { kty: 'OKP', crv: 'Ed25519', x } });
// The body as it came, before it is parsed.
const signed = Buffer.from(\`\${headers['webhook-id']}.\${headers['webhook-timestamp']}.\${body}\`);
const isFromHere = headers['webhook-signature'].split(' ').some((each) => {
  const [version, signature] = each.split(',');
  return version === 'v1a' && verify(null, signed, key, Buffer.from(signature, 'base64'));
});
// Refuse what is older than five minutes, too: webhook-timestamp is in seconds.`;
