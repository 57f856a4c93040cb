/**
 * A program with an etcd store that a test calls over the IPC channel. Its arguments are the module
 * of the store, which may have a planted fault, and the options as JSON.
 */

import type * as storeModule from '../../../src/stores/etcd/etcd-store.ts';
import type { Answer, Question } from './store-process.ts';

const [module = '', options = ''] = process.argv.slice(2);
const { openEtcdStore } = (await import(module)) as typeof storeModule;
const store = await openEtcdStore(JSON.parse(options) as storeModule.EtcdStoreOptions);

process.on('message', (question: Question & { readonly number: number }) => {
  void answerTo(question).then((answer) => send({ number: question.number, ...answer }));
});
process.on('disconnect', () => process.exit());
void store.lost.then(({ message }) => send({ number: -1, error: 'LogLostError', message }));
send({ number: 0, value: undefined });

async function answerTo(question: Question): Promise<Answer> {
  try {
    switch (question.kind) {
      case 'create': {
        const newPet = { name: question.name, categoryId: 1n };
        const { key } = question;
        const pet =
          key === undefined
            ? await store.create(newPet)
            : (await store.createOnce(newPet, key)).pet;
        return { value: [{ id: Number(pet.id), name: pet.name }] };
      }
      case 'get': {
        const pet = await store.get(BigInt(question.id));
        return { value: pet === undefined ? [] : [{ id: question.id, name: pet.name }] };
      }
      case 'list': {
        const { after, limit } = question;
        const { pets } = await store.list({
          limit,
          after: after === 0 ? undefined : BigInt(after),
        });
        return { value: pets.map(({ id, name }) => ({ id: Number(id), name })) };
      }
    }
  } catch (error) {
    const { name, message } = error as Error;
    return { error: name, message };
  }
}

function send(message: unknown): void {
  // The parent may have ended.
  process.send?.(message, () => undefined);
}
