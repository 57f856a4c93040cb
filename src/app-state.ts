/**
 * The state of an app, from its start to its end: what it does with a request, and with a call of
 * `app.pets`, in each state.
 *
 *     state     entered by           list, get            create          /readyz
 *     starting  createApp            503 starting         503 starting    503 starting
 *     open      open, when it has    the store's answer   the store's     200, or why the store
 *               its store                                 answer          cannot add pets
 *     draining  drain, in any state  as before; without   503 stopping    503 stopping
 *               but closed           a store, 503
 *     closed    close, in any state  stopping
 *
 * A store that `open` brings while the app is draining serves reads from then on. In `closed` no
 * `open` begins. No state is left for an earlier one.
 */

import { StoreUnavailableError, type PetStore } from './model/pet-store.ts';

export type AppPhase = 'starting' | 'open' | 'draining' | 'closed';

export class AppState {
  #phase: AppPhase = 'starting';
  #store: PetStore | undefined;

  get phase(): AppPhase {
    return this.#phase;
  }

  get store(): PetStore | undefined {
    return this.#store;
  }

  /** True in the last two states: each response then closes its connection. */
  get isStopping(): boolean {
    return this.#phase === 'draining' || this.#phase === 'closed';
  }

  opened(store: PetStore): void {
    this.#store = store;
    if (this.#phase === 'starting') this.#phase = 'open';
  }

  drain(): void {
    if (this.#phase !== 'closed') this.#phase = 'draining';
  }

  close(): void {
    this.#phase = 'closed';
  }

  /** Throws StoreUnavailableError if there is no store yet. */
  storeForRead(): PetStore {
    if (this.#store !== undefined) return this.#store;
    throw new StoreUnavailableError(this.isStopping ? STOPPING : STARTING);
  }

  /** Throws StoreUnavailableError unless the app is open. */
  storeForCreate(): PetStore {
    if (this.isStopping) throw new StoreUnavailableError(STOPPING);
    return this.storeForRead();
  }

  /** Returns why the app is not ready, or undefined if it is. */
  problem(): string | undefined {
    if (this.isStopping) return STOPPING;
    return this.#store === undefined ? STARTING : this.#store.problem();
  }
}

const STARTING = 'The service is starting';
const STOPPING = 'The service is stopping';
