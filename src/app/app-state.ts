/**
 * The states of an app: what it does in each of them with a request or a call of `app.pets`.
 *
 *     state     entered by            list, get             create         /readyz
 *     starting  createApp             503 starting          503 starting   503 starting
 *     open      open, when it has     the store's response  the store's    200, or 503 with the
 *               its store                                   response       store's problem
 *     draining  drain, in any state   as before; without a  503 stopping   503 stopping
 *               except closed         store, 503 stopping
 *     closed    close, in any state   the store's response; 503 stopping   503 stopping
 *                                     503 stopping if there
 *                                     never was a store
 *
 * If `open` completes while the app is draining, its store serves reads. If `open` is first called
 * in `closed`, it rejects. An app never returns to an earlier state.
 */

import { StoreUnavailableError, type PetStore } from '../model/pet-store.ts';

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

  /** True in the last two states, in which each response closes its connection. */
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
