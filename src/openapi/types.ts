/** As much of OpenAPI 3.1 as the description of this service uses, in the specification's words. */

export interface OpenApi {
  readonly openapi: '3.1.0';
  readonly info: {
    readonly title: string;
    readonly version: string;
    readonly description: string;
    readonly contact: { readonly name: string };
    readonly license: { readonly name: string; readonly identifier: string };
  };
  readonly tags: readonly Tag[];
  readonly servers: readonly ServerObject[];
  readonly security: readonly SecurityRequirement[];
  readonly paths: Named<PathItem>;
  readonly components: {
    readonly securitySchemes: Named<SecurityScheme>;
    readonly schemas: Named<Schema>;
    readonly responses: Named<ResponseObject>;
  };
  /** An extension, by the code of an Error. */
  readonly 'x-error-codes': Named<ErrorCodeObject>;
}

export interface ErrorCodeObject {
  readonly status: number;
  /** When the code occurs. CommonMark, as every description is. */
  readonly description: string;
  /** What a client does about it. */
  readonly remedy: string;
}

export type Named<T> = Readonly<Record<string, T>>;

export interface Tag {
  readonly name: string;
  readonly description: string;
}

export interface ServerObject {
  readonly url: string;
  readonly description?: string;
}

/** Scheme names; an empty object or list asks for none. */
export type SecurityRequirement = Named<readonly string[]>;

export interface SecurityScheme {
  readonly type: 'http';
  readonly scheme: 'bearer';
  readonly description: string;
}

export interface PathItem {
  readonly get?: OperationObject;
  readonly post?: OperationObject;
}

export interface OperationObject {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly deprecated?: true;
  readonly security?: readonly SecurityRequirement[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: RequestBody;
  /** By status, or `default` for those that are not listed. */
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

export interface RequestBody {
  readonly description: string;
  readonly required: true;
  readonly content: Named<MediaType>;
}

export interface ResponseObject {
  readonly description: string;
  readonly headers?: Named<HeaderObject>;
  readonly content: Named<MediaType>;
}

export interface HeaderObject {
  readonly description: string;
  /** True where each such answer carries the field. */
  readonly required?: true;
  readonly schema: Schema;
  readonly example: string | number;
}

export interface MediaType {
  readonly schema: Schema;
  readonly examples?: Named<Example>;
}

export interface Example {
  readonly value: unknown;
}

export interface Reference {
  readonly $ref: string;
}

/** The keywords of JSON Schema 2020-12 in use. */
export interface Schema {
  readonly $ref?: string;
  readonly description?: string;
  readonly type?: 'object' | 'array' | 'string' | 'integer';
  readonly format?: 'int64';
  readonly enum?: readonly string[];
  readonly minLength?: number;
  readonly maxLength?: number;
  /** A bigint where a number would be rounded; it goes out as a JSON number. */
  readonly minimum?: number | bigint;
  readonly maximum?: number | bigint;
  readonly default?: number;
  readonly properties?: Named<Schema>;
  readonly required?: readonly string[];
  readonly additionalProperties?: false;
  readonly items?: Schema;
}
