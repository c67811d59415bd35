import { CLUSTER_TEST_PARTS } from '@gateway/scripts/tests/cluster-tests';
import { findTests } from '@gateway/scripts/tests/find-tests';
import { WAITING } from '@gateway/scripts/tests/waiting-tests';
import { expect } from 'chai';

// A test that was renamed would leave its list without a word.
describe('lists of tests', () => {
  const partsOfNone = (parts: readonly string[], files: readonly string[]) =>
    parts.filter((part) => !files.some((file) => file.includes(part)));

  it('name only tests that there are: those on a Cluster', () => {
    expect(partsOfNone(CLUSTER_TEST_PARTS, findTests({ long: false }))).to.deep.equal([]);
  });

  it('name only tests that there are: those that wait', () => {
    expect(partsOfNone(WAITING, findTests({ long: true }))).to.deep.equal([]);
  });
});
