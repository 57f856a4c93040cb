/**
 * What the OpenAPI description says in more than one place: schemas, header fields, and the answers
 * that several operations share.
 */

import { INT64_MAX, INT64_MIN } from '../base/int64.ts';
import { ApiError, STATUS_OF_CODE, type ErrorCode } from '../http/api-error.ts';
import { deprecationHeaders } from '../http/deprecation.ts';
import { PET_STATUSES } from '../model/pet.ts';
import type {
  HeaderObject,
  MediaType,
  Named,
  OpenApi,
  Reference,
  ResponseObject,
  Schema,
} from './types.ts';
import { GET_PET_DEPRECATION } from '../api/operations.ts';
import { PETS_PATH } from '../api/paths.ts';

/** With its bounds: to a validator a format only says what is meant. */
export const INT64: Schema = {
  type: 'integer',
  format: 'int64',
  minimum: INT64_MIN,
  maximum: INT64_MAX,
};

export function schemaRef(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` };
}

export function responseRef(name: string): Reference {
  return { $ref: `#/components/responses/${name}` };
}

/** Content of JSON. `examples` maps a name to a value. */
export function jsonContent(schema: Schema, examples: Named<unknown>): Named<MediaType> {
  const named = Object.entries(examples).map(([name, value]) => [name, { value }]);
  return { 'application/json': { schema, examples: Object.fromEntries(named) } };
}

/** An answer with an Error body. `examples` maps a name to the code and the message. */
export function describedError(
  description: string,
  examples: Named<readonly [ErrorCode, string]>,
  headers: Named<HeaderObject> = {},
): ResponseObject {
  const bodies = Object.entries(examples).map(([name, [code, message]]) => [
    name,
    new ApiError(code, message).body,
  ]);
  const content = jsonContent(schemaRef('Error'), Object.fromEntries(bodies));
  return { description, headers, content };
}

const NEW_PET_PROPERTIES: Named<Schema> = {
  name: { type: 'string', description: 'Any string; it comes back character for character' },
  categoryId: { ...INT64, description: 'Identifier of the category the animal belongs to' },
  status: {
    ...schemaRef('PetStatus'),
    description: 'Stays absent where none was given; such a pet matches no status filter',
  },
};

const SCHEMAS: Named<Schema> = {
  PetStatus: {
    type: 'string',
    description: 'Availability status; case matters',
    enum: PET_STATUSES,
  },
  NewPet: {
    type: 'object',
    description: 'A pet to add. Other fields are ignored, a sent id among them',
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
  Pets: { type: 'array', description: 'In ascending order of id', items: schemaRef('Pet') },
  Error: {
    type: 'object',
    description: 'The body of every failure',
    required: ['code', 'message', 'status'],
    properties: {
      code: {
        type: 'string',
        description: 'For programs: one word for each kind of failure, from a closed list',
        enum: Object.keys(STATUS_OF_CODE),
      },
      message: { type: 'string', description: 'For people: names all that was wrong' },
      status: {
        type: 'integer',
        description: 'The HTTP status code of the response',
        minimum: 400,
        maximum: 599,
      },
    },
    additionalProperties: false,
  },
  Health: {
    type: 'object',
    required: ['status'],
    properties: { status: { type: 'string', enum: ['ok'] } },
  },
};

const RETRY_AFTER: HeaderObject = {
  description: 'Seconds after which another try makes sense',
  required: true,
  schema: { type: 'integer', minimum: 1 },
  example: 1,
};

const STARTING: ResponseObject = describedError(
  'The service is starting',
  { starting: ['unavailable', 'The service is starting'] },
  { 'Retry-After': RETRY_AFTER },
);

const UNAVAILABLE: ResponseObject = describedError(
  'The service is starting, stopping, or unable to store animals',
  {
    starting: ['unavailable', 'The service is starting'],
    stopping: ['unavailable', 'The service is stopping'],
  },
  { 'Retry-After': RETRY_AFTER },
);

const UNAUTHORIZED: ResponseObject = describedError(
  'The API key is missing or invalid',
  {
    missing: ['unauthorized', 'An API key is required: Authorization: Bearer <API_KEY>'],
    invalid: ['unauthorized', 'The API key is not valid'],
  },
  {
    'WWW-Authenticate': {
      description: 'The challenge (RFC 6750); it has an error only where a credential was sent',
      required: true,
      schema: { type: 'string' },
      example: 'Bearer realm="petstore", error="invalid_token"',
    },
  },
);

/** What the request's way to an operation, or a fault of our own, can end in. */
const FAILURE: ResponseObject = describedError(
  'Any other failure: the request has a method that the path does not answer (405), did not ' +
    'arrive in time (408), expects what is not known (417), has too large a header (431), a ' +
    'transfer coding (501) or an HTTP version (505) that is not supported; or the service failed ' +
    '(500)',
  {
    expectation: ['expectation_failed', 'Expect must be 100-continue, not "200-ok"'],
    header: ['headers_too_large', 'The header is longer than 16384 bytes'],
    method: [
      'method_not_allowed',
      `${PETS_PATH}/1 does not answer DELETE, only GET, HEAD, OPTIONS`,
    ],
    coding: [
      'unsupported_transfer_coding',
      'Transfer-Encoding must be chunked, not "gzip, chunked"',
    ],
    version: ['unsupported_http_version', 'HTTP/2.0 is not supported, only HTTP/1.0 and HTTP/1.1'],
    internal: ['internal_error', 'The service failed to answer'],
  },
  {
    Allow: {
      description: 'With 405: the methods that the path answers',
      schema: { type: 'string' },
      example: 'GET, HEAD, OPTIONS',
    },
  },
);

const MALFORMED: ResponseObject = describedError('The request is not well-formed', {
  brokenEncoding: ['malformed_request', 'The query "%zz" has broken percent-encoding'],
  host: ['malformed_request', 'Host "a,b" is not a host'],
});

export const COMPONENTS: OpenApi['components'] = {
  securitySchemes: {
    apiKey: {
      type: 'http',
      scheme: 'bearer',
      description:
        'Send the API key as the token: `Authorization: Bearer <API_KEY>`. Whoever runs the ' +
        'service makes the keys. A missing or invalid one is 401.',
    },
  },
  schemas: SCHEMAS,
  responses: {
    Malformed: MALFORMED,
    Unauthorized: UNAUTHORIZED,
    Starting: STARTING,
    Unavailable: UNAVAILABLE,
    Failure: FAILURE,
  },
};

/** The Link that every answer of getPet carries, and after its removal nothing else. */
export const SUCCESSOR_LINK: Named<HeaderObject> = {
  Link: deprecationHeader('Link', 'The path of what replaces getPet (RFC 8288)'),
};

/** The header fields of every answer that getPet itself gives until it is removed. */
export const DEPRECATION: Named<HeaderObject> = {
  Deprecation: deprecationHeader('Deprecation', 'Since when getPet is deprecated (RFC 9745)'),
  Sunset: deprecationHeader('Sunset', 'When getPet is removed (RFC 8594)'),
  ...SUCCESSOR_LINK,
};

/** The shared answers as getPet gives them. A failure may come before getPet is reached. */
export const DEPRECATED_STARTING: ResponseObject = withHeaders(STARTING, DEPRECATION);
export const DEPRECATED_FAILURE: ResponseObject = withHeaders(FAILURE, optional(DEPRECATION));

/** What lets any web page read a response. */
export const PUBLIC: Named<HeaderObject> = {
  'Access-Control-Allow-Origin': {
    description: 'Any web page may read it',
    required: true,
    schema: { type: 'string' },
    example: '*',
  },
};

/** Not required, since the service sends some failures before it knows the path. */
export const PUBLIC_MALFORMED: ResponseObject = withHeaders(MALFORMED, optional(PUBLIC));
export const PUBLIC_FAILURE: ResponseObject = withHeaders(FAILURE, optional(PUBLIC));

function deprecationHeader(name: string, description: string): HeaderObject {
  const fields = deprecationHeaders(GET_PET_DEPRECATION);
  const example = fields[fields.indexOf(name) + 1] ?? '';
  return { description, required: true, schema: { type: 'string' }, example };
}

function withHeaders(response: ResponseObject, headers: Named<HeaderObject>): ResponseObject {
  return { ...response, headers: { ...response.headers, ...headers } };
}

function optional(headers: Named<HeaderObject>): Named<HeaderObject> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, { required: _, ...header }]) => [name, header]),
  );
}
