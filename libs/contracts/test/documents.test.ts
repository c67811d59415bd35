import { readFileSync } from 'node:fs';
import { REASONS } from '@gateway/contracts/devices/device-state';
import { RESTRICTIONS } from '@gateway/contracts/devices/restriction';
import { API_ERRORS } from '@gateway/contracts/errors';
import { expect } from 'chai';

// Tests run from the root of the repository.
const page = readFileSync('docs/errors.md', 'utf8');

describe('docs/errors.md', () => {
  it('explains every error that a caller can see', () => {
    for (const { status, message } of Object.values(API_ERRORS))
      expect(page).to.include(`| ${status} | \`${message}\` |`);
  });
  it('names every reason why a device is not connected', () => {
    for (const reason of Object.keys(REASONS)) expect(page).to.include(`\`${reason}\``);
  });
  it('explains what the network can restrict', () => {
    for (const kind of Object.keys(RESTRICTIONS)) expect(page, kind).to.include(`\`${kind}\``);
  });
});
