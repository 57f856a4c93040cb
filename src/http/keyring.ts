/** Keyring: what authentication asks, and what is known of each API key. */

/** What the keys of one name were used for. */
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

/** Returns the API key that a token is, or undefined if it is not one in force. */
export type Keyring = (token: string) => ApiKey | undefined;
