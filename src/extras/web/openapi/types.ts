/** The part of OpenAPI 3.1 that the description of this service uses, with OpenAPI's names. */

import type { ErrorMeaning } from '../docs/error-codes.ts';

export type Named<T> = Readonly<Record<string, T>>;

export interface OpenApi {
  readonly openapi: '3.1.0';
  readonly info: {
    readonly title: string;
    readonly version: string;
    readonly description: string;
    readonly contact: { readonly name: string };
    readonly license: { readonly name: string; readonly identifier: string };
  };
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  /** Absent without a prefix: then it is the host that serves the description. */
  readonly servers?: readonly { readonly url: string; readonly description: string }[];
  readonly security: readonly Named<readonly string[]>[];
  readonly paths: Named<Named<OperationObject>>;
  readonly components: {
    readonly securitySchemes: Record<'apiKey', Record<'type' | 'scheme' | 'description', string>>;
    readonly schemas: Named<Schema>;
    readonly responses: Named<ResponseObject>;
  };
  /**
   * An extension. The names are the codes of an Error: an enum has no descriptions for its values.
   */
  readonly 'x-error-codes': Named<ErrorMeaning>;
}

export interface OperationObject {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly deprecated?: true;
  /** Empty if the operation needs no API key. */
  readonly security?: OpenApi['security'];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: RequestBody;
  /** By status, or `default` for every other status. */
  readonly responses: Named<ResponseObject | Reference>;
}

export interface Parameter {
  readonly name: string;
  readonly in: 'query' | 'path' | 'header';
  readonly description: string;
  readonly required?: true;
  readonly schema: Schema;
  readonly example?: string | number;
}

/** A header field of a response. With `required` each such response has it. */
export type HeaderObject = Omit<Parameter, 'name' | 'in'>;

export interface RequestBody {
  readonly description: string;
  readonly required?: true;
  readonly content: Named<{
    readonly schema: Schema;
    readonly examples?: Named<{ readonly value: unknown }>;
  }>;
}

export interface ResponseObject extends Omit<RequestBody, 'required'> {
  readonly headers?: Named<HeaderObject>;
}

export interface Reference {
  readonly $ref: string;
}

/** The keywords of JSON Schema 2020-12 that the description uses. */
export interface Schema {
  readonly $ref?: string;
  readonly description?: string;
  readonly type?: 'object' | 'array' | 'string' | 'integer';
  readonly format?: 'int64';
  readonly enum?: readonly string[];
  readonly minLength?: number;
  readonly maxLength?: number;
  /** A bigint if a number would be rounded. It is sent as a JSON number. */
  readonly minimum?: number | bigint;
  readonly maximum?: number | bigint;
  readonly default?: number;
  readonly properties?: Named<Schema>;
  readonly required?: readonly string[];
  readonly additionalProperties?: false;
  readonly items?: Schema;
}
