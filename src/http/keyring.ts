/** Keyring: looks up API keys, and records their use. */

/** The use of all keys with one name. */
export interface KeyUse {
  readonly name: string;
  requests: number;
  /** When the last request began, by performance.now(); 0 before the first. */
  lastUsedAt: number;
}

export interface ApiKey {
  readonly text: string;
  readonly use: KeyUse;
}

/** Returns the API key with this text, or undefined if no such key is in force. */
export type Keyring = (token: string) => ApiKey | undefined;
