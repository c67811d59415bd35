import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '@gateway/runtime/config/read-config';
import { expect } from 'chai';
import Joi from 'joi';

interface Config {
  NAME: string;
  SECRET: string;
  COUNT: number;
}

const schema = Joi.object<Config>({
  NAME: Joi.string().default('unnamed'),
  SECRET: Joi.string()
    .pattern(/^[a-f]+$/)
    .required(),
  COUNT: Joi.number().integer().max(10).default(3),
});

describe('readConfig', () => {
  it('converts values, fills in defaults and ignores variables it does not know', () => {
    expect(readConfig(schema, { SECRET: 'abc', COUNT: '7', PATH: '/bin' })).to.deep.equal({
      NAME: 'unnamed',
      SECRET: 'abc',
      COUNT: 7,
    });
  });

  it('takes an empty variable for an absent one', () => {
    expect(readConfig(schema, { SECRET: 'abc', NAME: '', COUNT: '' })).to.include({ NAME: 'unnamed', COUNT: 3 });
  });

  it('takes a setting from the file that NAME_FILE names', () => {
    const folder = mkdtempSync(join(tmpdir(), 'settings-'));
    const path = join(folder, 'secret');
    try {
      writeFileSync(path, 'abc\n');
      expect(readConfig(schema, { SECRET_FILE: path, COUNT: '7' })).to.include({ SECRET: 'abc', COUNT: 7 });
      expect(readConfig(schema, { SECRET: 'fed', SECRET_FILE: '', OTHER_FILE: '/none' })).to.include({ SECRET: 'fed' });
      const both = () => readConfig(schema, { SECRET: 'fed', SECRET_FILE: path });
      expect(both).to.throw(/: SECRET and SECRET_FILE must not both be set$/);
      const none = () => readConfig(schema, { SECRET_FILE: join(folder, 'none'), COUNT: '99' });
      expect(none).to.throw(/SECRET_FILE cannot be read \(ENOENT\).*COUNT must be less than/);
      writeFileSync(path, 'hunter2hunter2');
      expect(() => readConfig(schema, { SECRET_FILE: path })).to.throw(/: SECRET does not have the expected form$/);
      writeFileSync(path, '\n');
      expect(() => readConfig(schema, { SECRET_FILE: path })).to.throw(/: SECRET is required$/);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('names all problems at once', () => {
    expect(() => readConfig(schema, { COUNT: '99' })).to.throw(/SECRET is required; COUNT must be less than/);
  });

  it('never shows a value', () => {
    const attempt = () => readConfig(schema, { SECRET: 'hunter2hunter2', COUNT: 'hunter2hunter2' });
    expect(attempt).to.throw(/SECRET does not have the expected form/);
    try {
      attempt();
    } catch (error) {
      expect(String(error)).not.to.include('hunter2');
    }
  });
});
