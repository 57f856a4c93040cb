/** The auth of a real cluster: a user `pets`, and what root changes. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tempDir } from '../disk/temp-dir.ts';
import { gateway, rangeOf, type Cluster } from './cluster.ts';

const PASSWORD = 'pässword "1"';

export type Auth = Awaited<ReturnType<typeof enableAuth>>;

/** Turns auth on, with the right to read and write the prefix `petstore/`. */
export async function enableAuth(
  t: { after(hook: () => void): void },
  { endpoints: [endpoint = ''] }: Cluster,
) {
  const call = async (path: string, body: object, token?: string): Promise<string> => {
    const text = await gateway(endpoint, `/v3/auth/${path}`, body, token);
    assert.doesNotMatch(text, /"error"/, `${path}: ${text}`);
    return text;
  };
  const asRoot = async (path: string, body: object): Promise<void> => {
    const text = await call('authenticate', { name: 'root', password: 'root' });
    await call(path, body, (JSON.parse(text) as { readonly token: string }).token);
  };
  const range = rangeOf('petstore/');
  const perm = { permType: 'READWRITE', ...range };
  for (const [name, secret] of [
    ['root', 'root'],
    ['pets', PASSWORD],
  ] as const) {
    await call('user/add', { name, password: secret });
    await call('role/add', { name });
    await call('user/grant', { user: name, role: name });
  }
  await call('role/grant', { name: 'pets', perm });
  await call('enable', {});
  const passwordFile = join(tempDir(t), 'password');
  writeFileSync(passwordFile, `${PASSWORD}\n`);
  return {
    /** What a store of the user is opened with. */
    user: { user: 'pets', passwordFile },
    /** Lets the user read the prefix, read and write it, or neither. */
    async permit(permType: 'READ' | 'READWRITE' | 'NONE'): Promise<void> {
      if (permType === 'NONE') await asRoot('role/revoke', { role: 'pets', ...range });
      else await asRoot('role/grant', { name: 'pets', perm: { ...perm, permType } });
    },
    /** Changes the user's password in etcd; the file keeps the old one. */
    changePassword: (password: string) => asRoot('user/changepw', { name: 'pets', password }),
  };
}
