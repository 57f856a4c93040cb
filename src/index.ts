/** What the package exports: the app, and what a program around it needs. */

export { createApp, openApp, type App } from './app.ts';
export type { ApiKeyOption, NamedApiKey } from './core/app/api-keys.ts';
export type { AppOptions } from './app.ts';
export type { Logger, LogLevel } from './core/base/logger.ts';
export type { LabelledSample, MeasuredValue, Measurement } from './core/base/measurement.ts';
export { VERSION } from './core/base/version.ts';
export { connectionsOf } from './core/http/http-server.ts';
export type { Limits } from './core/http/limits.ts';
export { stopServer } from './core/http/stop-server.ts';
export { createHttpServer } from './extras/open-network/open-network-server.ts';
export type { Int64 } from './core/base/int64.ts';
export {
  stringifyPet,
  type NewPet,
  type Pet,
  type PetInput,
  type PetQuery,
  type PetStatus,
  type StoredPet,
} from './core/pets/pet.ts';
export type { PetAccess, PetAccessCreateOptions, PetAccessPage } from './core/pets/pet-access.ts';
export type { ProcessStats, Runtime } from './extras/ops/runtime.ts';
export {
  KeyReusedError,
  OutcomeUnknownError,
  StoreUnavailableError,
} from './core/pets/pet-store.ts';
export type {
  CreateOnceResult,
  PageQuery,
  PetCount,
  PetStore,
  StoredPage,
  WherePetsAre,
} from './core/pets/pet-store.ts';
export {
  formatMembers,
  formatPet,
  formatPets,
  InvalidPetError,
  parsePet,
  readNewPet,
} from './core/pets/pet-text.ts';
export type { ClusterOptions as InitEtcdOptions, EtcdOptions } from './extras/etcd/etcd-options.ts';
export { initEtcd } from './extras/etcd/open-log.ts';
export { openFileStore, type FileStore, type FileStoreOptions } from './core/store/file-store.ts';
export { createMemoryStore } from './core/store/memory-store.ts';
