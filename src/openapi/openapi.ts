/**
 * The OpenAPI 3.1 description of the service, and the operation that serves it.
 *
 * It says what this service does, not only what the interface asks of any: each status that an
 * operation answers, the header fields that come with it, and examples that are real answers. A
 * test walks it against a running service, and so it can be believed.
 */

import type { Operation } from '../http/operation.ts';
import { jsonResponse } from '../http/api-response.ts';
import { DEFAULT_BODY_LIMIT_BYTES } from '../http/request-body.ts';
import {
  COMPONENTS,
  DEPRECATED_FAILURE,
  DEPRECATED_STARTING,
  DEPRECATION,
  describedError,
  INT64,
  PUBLIC,
  PUBLIC_FAILURE,
  PUBLIC_MALFORMED,
  jsonContent,
  responseRef,
  schemaRef,
  SUCCESSOR_LINK,
} from './components.ts';
import { ERROR_CODES } from './error-codes.ts';
import type { HeaderObject, OpenApi, OperationObject, Parameter } from './types.ts';
import { GET_PET_DEPRECATION } from '../api/operations.ts';
import { BASE_PATH, PET_PATH, PETS_PATH } from '../api/paths.ts';
import { DEFAULT_LIMIT, MAX_LIMIT } from '../api/read-parameters.ts';

export const OPENAPI_PATH = '/openapi.json';

/** GET /openapi.json, which needs no key. Its examples are those of an app without a prefix. */
export function openapiOperation(prefix: string): Operation {
  const reply = jsonResponse(200, encodeDescription(describeService(prefix)));
  return {
    name: 'openapi',
    method: 'GET',
    path: OPENAPI_PATH,
    needsKey: false,
    isPublic: true,
    handle: () => reply,
  };
}

const OVERVIEW = `Manages animals offered in a store: list them, add one, and (deprecated) get one
by its id.

## Requests

Bodies are JSON in UTF-8. Under \`${BASE_PATH}\` authentication comes first: without a valid API key
even an unknown path is 401, and 404 with one. A method that a path does not answer is 405 with
\`Allow\`. HEAD is answered wherever GET is, and OPTIONS everywhere, by 204 with \`Allow\`. Every
response has \`Cache-Control: no-store\` and \`X-Content-Type-Options: nosniff\`.

## Integers

Integers of the format int64 use its whole range, exactly, as JSON numbers: read and write them with
a JSON library that does not round them to doubles.

## Paging

A list has at most \`limit\` animals, in ascending order of id. If more match, the response has a
\`Link\` to the next page, which keeps \`limit\` and \`status\`. Follow it until a response has
none. Animals that are added meanwhile come at the end: they shift no page.

## Retries

A GET can be sent again at any time, and a create after 503: nothing was stored. If the connection
broke, or after 500 with \`outcome_unknown\`, the animal may be stored. Send an \`Idempotency-Key\`
with each create, a new one for each animal, and for 24 hours the same request can be sent again
after anything: the animal is stored once. If a response has \`Retry-After\`, wait as many seconds.

## Errors

Every failure has an Error body. Programs decide by its \`code\`, from a closed list. Its
\`message\` is for people: it names everything that was wrong, and its words may change.`;

const SERVER = `Where this description comes from: the base URL of a client is this and ${BASE_PATH}`;

/** Below the prefix that the app is mounted under. */
export function describeService(prefix: string): OpenApi {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Pet Store',
      // The version of the interface (its part 9), which is not that of the service.
      version: '1.0.0',
      description: OVERVIEW,
      contact: { name: 'Whoever runs this service' },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    tags: [
      { name: PETS, description: 'The interface: animals offered in a store' },
      { name: OPERATION, description: 'For those who run the service' },
    ],
    // Of the host that serves this description. Many tools read no other place for it than this.
    servers: [{ url: prefix || '/', description: SERVER }],
    security: [{ apiKey: [] }],
    paths: {
      [PETS_PATH]: { get: LIST_PETS, post: CREATE_PET },
      [PET_PATH]: { get: GET_PET },
      '/livez': { get: LIVEZ },
      '/readyz': { get: READYZ },
      '/metrics': { get: METRICS },
      [OPENAPI_PATH]: { get: OPENAPI },
    },
    components: COMPONENTS,
    'x-error-codes': ERROR_CODES,
  };
}

/** As JSON. JSON.stringify takes no bigint: each goes through it as a string with a mark. */
function encodeDescription(description: OpenApi): string {
  const mark = (_key: string, value: unknown): unknown =>
    typeof value === 'bigint' ? `bigint:${value}` : value;
  return JSON.stringify(description, mark).replace(/"bigint:(-?[0-9]+)"/g, '$1');
}

const PETS = 'pets';
const OPERATION = 'operation';

const REX = { name: 'Rex', categoryId: 7, status: 'available' } as const;
const MIA = { name: 'Mia', categoryId: 3 } as const;

const LIST_PARAMETERS: readonly Parameter[] = [
  {
    name: 'limit',
    in: 'query',
    description: 'Maximum number of animals to return, in plain decimal digits',
    schema: { type: 'integer', minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT },
    example: DEFAULT_LIMIT,
  },
  {
    name: 'status',
    in: 'query',
    description: 'Filter by availability status',
    schema: schemaRef('PetStatus'),
    example: 'available',
  },
  {
    name: 'after',
    in: 'query',
    description:
      'Only animals with a greater id. An extension of this service, which the Link to the next ' +
      'page uses: follow that instead of building a query',
    schema: INT64,
  },
];

const NEXT_LINK: HeaderObject = {
  description: 'The next page (RFC 8288), where more animals match than were returned',
  schema: { type: 'string' },
  example: `<${PETS_PATH}?limit=2&after=2>; rel="next"`,
};

const LIST_PETS: OperationObject = {
  operationId: 'listPets',
  tags: [PETS],
  summary: 'List animals',
  description:
    'Returns a page of animals in ascending order of id. Each parameter may be given once; ' +
    'others are ignored.',
  parameters: LIST_PARAMETERS,
  responses: {
    200: {
      description: 'The animals, or an empty array where none match',
      headers: { Link: NEXT_LINK },
      content: jsonContent(schemaRef('Pets'), {
        page: [
          { id: 1, ...REX },
          { id: 2, ...MIA },
        ],
        none: [],
      }),
    },
    400: describedError('A parameter is invalid, or the request is malformed', {
      invalidParameters: [
        'invalid_parameter',
        'limit must be an integer from 1 to 100, not "0"; ' +
          'status must be one of available, pending, sold, not "lost"',
      ],
      brokenEncoding: ['malformed_request', 'The query "%zz" has broken percent-encoding'],
    }),
    401: responseRef('Unauthorized'),
    503: responseRef('Starting'),
    default: responseRef('Failure'),
  },
};

const IDEMPOTENCY_KEY: Parameter = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    'Makes it safe to send the request again: for 24 hours the key stores one animal, and each ' +
    'request with it and that animal gets the same answer. The newest 100,000 keys are kept, each ' +
    'with the API key that it came with. 1 to 255 visible ASCII characters, in quotes or without: ' +
    'best a random UUID',
  schema: { type: 'string', minLength: 1, maxLength: 257 },
  example: '8e03978e-40d5-43dd-bc93-6894a57f9324',
};

const CREATE_PET: OperationObject = {
  operationId: 'createPet',
  tags: [PETS],
  summary: 'Add an animal',
  description:
    'Answers when the animal is stored durably. What was refused leaves nothing behind, and after ' +
    '503 the same request may be sent again; only after 500 with outcome_unknown it may be there. ' +
    'With an Idempotency-Key it may be sent again after anything.',
  parameters: [IDEMPOTENCY_KEY],
  requestBody: {
    description: 'JSON in UTF-8; an absent Content-Type is taken as application/json',
    required: true,
    content: jsonContent(schemaRef('NewPet'), { withStatus: REX, withoutStatus: MIA }),
  },
  responses: {
    201: {
      description: 'The animal was added',
      headers: {
        Location: {
          description: 'The path of the new animal',
          required: true,
          schema: { type: 'string' },
          example: `${PETS_PATH}/1`,
        },
        'Idempotent-Replayed': {
          description: 'Where an earlier request with the same Idempotency-Key stored the animal',
          schema: { type: 'string', enum: ['true'] },
          example: 'true',
        },
      },
      content: jsonContent(schemaRef('Pet'), {
        withStatus: { id: 1, ...REX },
        withoutStatus: { id: 2, ...MIA },
      }),
    },
    400: describedError('The body is not a NewPet, or the request is malformed', {
      invalidKey: [
        'invalid_idempotency_key',
        'Idempotency-Key must be 1 to 255 visible ASCII characters',
      ],
      invalidFields: [
        'invalid_body',
        'name is required; categoryId must be an integer of 64 bits, not 1.5; ' +
          'status must be one of available, pending, sold, not "lost"',
      ],
      brokenJson: [
        'invalid_json',
        "The body is not valid JSON: expected ',' or '}' but found the end at byte 13",
      ],
    }),
    401: responseRef('Unauthorized'),
    413: describedError('The body is longer than the limit, which can be configured', {
      byDefault: [
        'body_too_large',
        `The body is longer than the limit of ${DEFAULT_BODY_LIMIT_BYTES} bytes`,
      ],
    }),
    415: describedError(
      'The body is sent as something else than application/json, or with a content coding',
      {
        contentType: [
          'unsupported_media_type',
          'Content-Type must be application/json, not "text/plain"',
        ],
        contentEncoding: [
          'unsupported_media_type',
          'Content-Encoding "gzip" is not supported, send none',
        ],
      },
      {
        Accept: {
          description: 'Where the Content-Type was at fault: what is accepted',
          schema: { type: 'string' },
          example: 'application/json',
        },
        'Accept-Encoding': {
          description: 'Where the Content-Encoding was at fault: what is accepted',
          schema: { type: 'string' },
          example: 'identity',
        },
      },
    ),
    422: describedError('The Idempotency-Key was used for another animal; nothing was stored', {
      otherPet: [
        'idempotency_key_reused',
        'The key was used for another pet, the one with the id 1',
      ],
    }),
    500: describedError(
      'Nobody can tell whether the animal was stored, because a sync of the disk failed: it may be ' +
        'there later (outcome_unknown); or the service failed (internal_error)',
      {
        unknown: [
          'outcome_unknown',
          'It is not known whether the pet was stored: pets cannot be stored: EIO: i/o error',
        ],
        internal: ['internal_error', 'The service failed to answer'],
      },
    ),
    503: responseRef('Unavailable'),
    default: responseRef('Failure'),
  },
};

const GET_PET: OperationObject = {
  operationId: 'getPet',
  tags: [PETS],
  summary: 'Get an animal',
  description:
    `Removed on ${GET_PET_DEPRECATION.removedOn.slice(0, 10)}; ` +
    'use listPets with the status filter instead.',
  deprecated: true,
  parameters: [
    {
      name: 'petId',
      in: 'path',
      description: 'Identifier of the animal to retrieve',
      required: true,
      schema: INT64,
      example: 1,
    },
  ],
  responses: {
    200: {
      description: 'The animal was found',
      headers: DEPRECATION,
      content: jsonContent(schemaRef('Pet'), { found: { id: 1, ...REX } }),
    },
    400: responseRef('Malformed'),
    401: responseRef('Unauthorized'),
    404: describedError(
      'The animal cannot be found: no animal has this id, or petId is no int64 at all',
      {
        noSuchPet: ['not_found', 'There is no pet with the id "4711"'],
        noInt64: ['not_found', 'There is no pet with the id "Rex"'],
      },
      DEPRECATION,
    ),
    410: describedError(
      `The operation was removed: from ${GET_PET_DEPRECATION.removedOn} on, every answer to a ` +
        'valid API key',
      {
        removed: [
          'operation_removed',
          `getPet was removed on ${GET_PET_DEPRECATION.removedOn}, use ${PETS_PATH}`,
        ],
      },
      SUCCESSOR_LINK,
    ),
    503: DEPRECATED_STARTING,
    default: DEPRECATED_FAILURE,
  },
};

const LIVEZ: OperationObject = {
  operationId: 'livez',
  tags: [OPERATION],
  summary: 'Tell whether the process is alive',
  description: 'Asks nothing of the store: a process that does not answer should be started again.',
  security: [],
  responses: {
    200: {
      description: 'The process is alive',
      content: jsonContent(schemaRef('Health'), { ok: { status: 'ok' } }),
    },
    400: responseRef('Malformed'),
    default: responseRef('Failure'),
  },
};

const READYZ: OperationObject = {
  operationId: 'readyz',
  tags: [OPERATION],
  summary: 'Tell whether the service is ready for requests',
  description: 'While it starts or stops, or cannot store animals, the answer is 503 and says why.',
  security: [],
  responses: {
    200: {
      description: 'The service is ready',
      content: jsonContent(schemaRef('Health'), { ok: { status: 'ok' } }),
    },
    400: responseRef('Malformed'),
    503: responseRef('Unavailable'),
    default: responseRef('Failure'),
  },
};

const METRICS: OperationObject = {
  operationId: 'metrics',
  tags: [OPERATION],
  summary: 'Show metrics for Prometheus',
  description:
    'Requests, uses of API keys, animals, commits and how busy the service is. An API key for ' +
    'metrics only opens it, too, and nothing else.',
  responses: {
    200: {
      description: 'The metrics in the text format, version 0.0.4',
      content: { 'text/plain; version=0.0.4; charset=utf-8': { schema: { type: 'string' } } },
    },
    400: responseRef('Malformed'),
    401: responseRef('Unauthorized'),
    503: responseRef('Starting'),
    default: responseRef('Failure'),
  },
};

const OPENAPI: OperationObject = {
  operationId: 'openapi',
  tags: [OPERATION],
  summary: 'Show this description',
  description: 'Any web page may read it.',
  security: [],
  responses: {
    200: {
      description: 'The OpenAPI description of the service',
      headers: PUBLIC,
      content: { 'application/json': { schema: { type: 'object' } } },
    },
    400: PUBLIC_MALFORMED,
    default: PUBLIC_FAILURE,
  },
};
