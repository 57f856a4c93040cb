/** What the package exports: the app, and what a program around it needs. */

export { createApp, openApp, type App } from './app/app.ts';
export type { ApiKeyOption, NamedApiKey } from './app/api-keys.ts';
export type { AppOptions } from './app/app-options.ts';
export type { Logger, LogLevel } from './base/logger.ts';
export { VERSION } from './base/version.ts';
export { connectionsOf } from './http/http-server.ts';
export type { Limits } from './http/limits.ts';
export { stopServer } from './http/stop-server.ts';
export { createOpenNetworkServer as createHttpServer } from './open-network/open-network-server.ts';
export type { Int64 } from './base/int64.ts';
export {
  stringifyPet,
  type GivenPet,
  type NewPet,
  type Pet,
  type PetAccessQuery,
  type PetStatus,
  type StoredPet,
} from './model/pet.ts';
export type { PetAccess, PetAccessCreateOptions, PetAccessPage } from './model/pet-access.ts';
export type { ProcessStats, Runtime } from './ops/runtime.ts';
export { KeyReusedError, OutcomeUnknownError, StoreUnavailableError } from './model/pet-store.ts';
export type { CreatedPet, MaybePromise, PetCount, PetPage } from './model/pet-store.ts';
export type { PetQuery, PetStore, StoreStats, WherePetsAre } from './model/pet-store.ts';
export {
  formatMembers,
  formatPet,
  formatPets,
  InvalidPetError,
  readNewPet,
} from './model/pet-text.ts';
export type { ClusterOptions as InitEtcdOptions, EtcdOptions } from './stores/etcd/etcd-options.ts';
export { initEtcd } from './stores/etcd/open-log.ts';
export { openFileStore, type FileStore, type FileStoreOptions } from './stores/file/file-store.ts';
export { createMemoryStore } from './stores/memory-store.ts';
