/**
 * The shared parts of the OpenAPI description: schemas, header fields, and responses that several
 * operations have.
 */

import { INT64_MAX, INT64_MIN } from '../../../core/base/int64.ts';
import { PET_STATUSES } from '../../../core/pets/pet.ts';
import type { HeaderObject, Named, OpenApi, ResponseObject, Schema } from './types.ts';
import type { ErrorCode } from '../../../core/api/api-error.ts';
import { ERROR_CODES } from '../docs/error-codes.ts';
import { deprecationHeaders, PETS_PATH } from '../../../core/api/operations.ts';

/** It has bounds, since a validator may ignore the format. */
export const INT64: Schema = {
  type: 'integer',
  format: 'int64',
  minimum: INT64_MIN,
  maximum: INT64_MAX,
};

/** Refers to a shared part, such as `schemas/Pet`. */
export function refTo(part: string): { readonly $ref: string } {
  return { $ref: `#/components/${part}` };
}

/** Describes JSON of a shared schema. `examples` maps a name to a value. */
export function jsonOf(schema: string, examples: Named<unknown>): ResponseObject['content'] {
  const named = Object.entries(examples).map(([name, value]) => [name, { value }]);
  const content = { schema: refTo(`schemas/${schema}`), examples: Object.fromEntries(named) };
  return { 'application/json': content };
}

/**
 * Describes a response with an Error body by what its codes mean. `examples` maps a name to a code
 * and its message; other codes have no example.
 */
export function describedError(
  examples: Named<`${ErrorCode}: ${string}`>,
  headers: Named<HeaderObject> = {},
  withoutExample: readonly ErrorCode[] = [],
): ResponseObject {
  const errors = Object.entries(examples).map(([name, example]) => {
    const [code, message] = example.split(/: (.*)/) as [ErrorCode, string];
    return [name, { code, message, status: ERROR_CODES[code]!.status }] as const;
  });
  const codes = new Set([...errors.map(([, { code }]) => code), ...withoutExample]);
  const meanings = Array.from(codes, (code) => ERROR_CODES[code]!);
  const isOneStatus = meanings.every(({ status }) => status === meanings[0]!.status);
  const sentences = meanings.map(({ status, description }) =>
    isOneStatus ? description : `${status}: ${description}`,
  );
  const content = jsonOf('Error', Object.fromEntries(errors));
  return { description: sentences.join('. '), headers, content };
}

/** Describes a header field that each such response has, if it is not `optional`. */
export function field(
  description: string,
  example: string | number,
  schema: Schema = { type: 'string' },
): HeaderObject {
  return { description, schema, example, required: true };
}

/** Describes header fields that only some of the responses have. */
export function optional(headers: Named<HeaderObject>): Named<HeaderObject> {
  const entries = Object.entries(headers);
  return Object.fromEntries(entries.map(([name, { required: _, ...header }]) => [name, header]));
}

const NEW_PET_PROPERTIES: Named<Schema> = {
  name: { type: 'string', description: 'Any string. It comes back character for character' },
  categoryId: { ...INT64, description: 'Identifier of the category the pet belongs to' },
  status: {
    ...refTo('schemas/PetStatus'),
    description: 'Stays absent if none was given. Such a pet matches no status filter',
  },
};

const SCHEMAS: Named<Schema> = {
  PetStatus: {
    type: 'string',
    description: 'Availability status. Case matters',
    enum: PET_STATUSES,
  },
  NewPet: {
    type: 'object',
    description: 'A pet to add. Other fields, including an id, are ignored',
    required: ['name', 'categoryId'],
    properties: NEW_PET_PROPERTIES,
  },
  Pet: {
    type: 'object',
    required: ['id', 'name', 'categoryId'],
    properties: {
      id: { ...INT64, minimum: 1, description: 'Assigned on creation: 1, 2, 3 and so on' },
      ...NEW_PET_PROPERTIES,
    },
  },
  Pets: { type: 'array', description: 'In ascending order of id', items: refTo('schemas/Pet') },
  Error: {
    type: 'object',
    description: 'The body of every failure',
    required: ['code', 'message', 'status'],
    properties: {
      code: {
        type: 'string',
        description: 'For programs: a word from a closed list',
        enum: Object.keys(ERROR_CODES),
      },
      message: { type: 'string', description: 'For people: names everything that is wrong' },
      status: { type: 'integer', description: 'The HTTP status', minimum: 400, maximum: 599 },
    },
    additionalProperties: false,
  },
  Health: {
    type: 'object',
    required: ['status'],
    properties: { status: { type: 'string', enum: ['ok'] } },
  },
};

const SECONDS: Schema = { type: 'integer', minimum: 1 };
const RETRY_AFTER: Named<HeaderObject> = {
  'Retry-After': field('How many seconds to wait before a retry', 1, SECONDS),
};

/** Examples of two responses. */
const STARTING = { starting: 'unavailable: The service is starting' } as const;
export const BROKEN_ENCODING = {
  brokenEncoding: 'malformed_request: The query "%zz" has broken percent-encoding',
} as const;

export const COMPONENTS: OpenApi['components'] = {
  securitySchemes: {
    apiKey: {
      type: 'http',
      scheme: 'bearer',
      description:
        'Send the API key as the token: `Authorization: Bearer <API_KEY>`. The operator of the ' +
        'service issues the keys. A missing or invalid key is 401.',
    },
  },
  schemas: SCHEMAS,
  responses: {
    Malformed: describedError({
      ...BROKEN_ENCODING,
      host: 'malformed_request: Host "a,b" is not a host',
    }),
    Unauthorized: describedError(
      {
        missing: 'unauthorized: An API key is required: Authorization: Bearer <API_KEY>',
        invalid: 'unauthorized: The API key is not valid',
      },
      {
        'WWW-Authenticate': field(
          'The challenge (RFC 6750). It has an error only if a credential was sent',
          'Bearer realm="petstore", error="invalid_token"',
        ),
      },
    ),
    Starting: describedError(STARTING, RETRY_AFTER),
    Unavailable: describedError(
      { ...STARTING, stopping: 'unavailable: The service is stopping' },
      RETRY_AFTER,
    ),
    // Any other failure, before a request reaches its operation or of the service itself.
    Failure: describedError(
      {
        expectation: 'expectation_failed: Expect must be 100-continue, not "200-ok"',
        header: 'headers_too_large: The header is longer than 16384 bytes',
        method: `method_not_allowed: ${PETS_PATH}/1 does not support DELETE, only GET, HEAD, OPTIONS`,
        coding:
          'unsupported_transfer_coding: Transfer-Encoding must be chunked, not "gzip, chunked"',
        version: 'unsupported_http_version: HTTP/2.0 is not supported, only HTTP/1.0 and HTTP/1.1',
        internal: 'internal_error: The service failed to respond',
      },
      optional({
        Allow: field('With 405: the methods that the path supports', 'GET, HEAD, OPTIONS'),
      }),
      ['request_timeout'],
    ),
  },
};

const [, SINCE = '', , SUNSET = '', , LINK = ''] = deprecationHeaders('');

/** getPet sends this Link with its own responses, also with its 410. */
export const SUCCESSOR_LINK: Named<HeaderObject> = {
  Link: field('The path of the replacement of getPet (RFC 8288)', LINK),
};

/** The header fields of what getPet returns until it is removed. */
export const DEPRECATION: Named<HeaderObject> = {
  Deprecation: field('Since when getPet is deprecated (RFC 9745)', SINCE),
  Sunset: field('When getPet is removed (RFC 8594)', SUNSET),
  ...SUCCESSOR_LINK,
};
