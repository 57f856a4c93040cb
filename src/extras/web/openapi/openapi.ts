/**
 * The OpenAPI 3.1 description of the service, and the operation that serves it.
 *
 * It describes what this service does, not only what the specification requires: each status of an
 * operation, its header fields, and examples that are real responses. A test compares all of it
 * with a running service.
 */

import { stringifyExactJson } from '../../../core/base/exact-json.ts';
import type { Operation } from '../../../core/http/operation.ts';
import { jsonResponse } from '../../../core/http/http-response.ts';
import { DEFAULT_BODY_LIMIT_BYTES } from '../../../core/http/request-body.ts';
import {
  BROKEN_ENCODING,
  COMPONENTS,
  DEPRECATION,
  describedError,
  field,
  INT64,
  jsonOf,
  optional,
  refTo,
  SUCCESSOR_LINK,
} from './components.ts';
import { ERROR_CODES } from '../docs/error-codes.ts';
import { publicOperation } from '../page/page.ts';
import type { OpenApi, OperationObject } from './types.ts';
import { BASE_PATH, GET_PET_REMOVED_ON, PETS_PATH } from '../../../core/api/operations.ts';
import { DEFAULT_LIMIT, MAX_LIMIT } from '../../../core/pets/pet.ts';

export const OPENAPI_PATH = '/openapi.json';

/** GET /openapi.json, which needs no API key. */
export function openapiOperation(describe: () => OpenApi): Operation {
  // Any web page may read it.
  const headers = ['Access-Control-Allow-Origin', '*'];
  return publicOperation('openapi', OPENAPI_PATH, () =>
    jsonResponse(200, stringifyExactJson(describe()), headers),
  );
}

const OVERVIEW = `Manages pets offered in a store: list them, add one, and (deprecated) get one
by its id.

## Requests

Bodies are JSON in UTF-8. Under \`${BASE_PATH}\` authentication comes first: an unknown path is 401
without a valid API key, and 404 with one. A method that a path does not support is 405 with
\`Allow\`. HEAD works wherever GET does. OPTIONS on a known path returns 204 with \`Allow\` (with
a valid key where one is needed). Every response has \`Cache-Control: no-store\` and
\`X-Content-Type-Options: nosniff\`.

## Integers

Integers of the format int64 use the whole range, exactly, as JSON numbers. Read and write them with
a JSON library that does not round them to doubles.

## Paging

A list has at most \`limit\` pets, in ascending order of id. If more match, the response has a
\`Link\` to the next page, which keeps \`limit\` and \`status\`. Follow it until a response has
none. Pets that are added meanwhile are at the end of the list, so no earlier page changes.

## Retries

A GET can be retried at any time, and a create after 503, which means that nothing was stored. If
the connection broke, or after 500 with \`outcome_unknown\`, the pet may be stored. If each
create has an \`Idempotency-Key\`, a new one for each pet, it can be retried after any failure
for 24 hours, as long as its key is among the newest 100,000: the pet is stored once. If a
response has \`Retry-After\`, wait that many seconds.

## Errors

Every failure has an Error body. Its \`code\`, from a closed list, is for programs. Its \`message\`
is for people: it names everything that is wrong, and its words may change.`;

const SERVER = `The server of this description. Add ${BASE_PATH} for the base URL of a client`;

/** Describes the operations of a service below the prefix. Each needs its entry here. */
export function describeService(prefix: string, operations: readonly Operation[]): OpenApi {
  const paths: Record<string, Record<string, OperationObject>> = {};
  for (const described of OPERATIONS) {
    const served = operations.find(({ name }) => name === described.operationId);
    if (served === undefined) continue;
    (paths[served.path] ??= {})[served.method.toLowerCase()] = described;
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Pet Store',
      // That of the interface (S9.2 of SPEC.md), not of the service.
      version: '1.0.0',
      description: OVERVIEW,
      contact: { name: 'The operator of this service' },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    tags: [
      { name: PETS, description: 'Pets offered in a store' },
      { name: OPERATORS, description: 'For operators of the service' },
    ],
    // Relative to the host that serves this. Many tools read servers only at the top level. With
    // '/' generated clients would request `//v1/pets`, which in a browser is a host named v1.
    ...(prefix === '' ? {} : { servers: [{ url: prefix, description: SERVER }] }),
    security: [{ apiKey: [] }],
    paths: prefixed(prefix, paths),
    components: prefixed(prefix, COMPONENTS),
    'x-error-codes': prefixed(prefix, ERROR_CODES),
  };
}

/** Returns a copy in which the prefix is before each path of an example. No key changes. */
function prefixed<T>(prefix: string, part: T): T {
  if (typeof part === 'string') return part.replaceAll(PETS_PATH, `${prefix}${PETS_PATH}`) as T;
  if (typeof part !== 'object' || part === null) return part;
  if (Array.isArray(part)) return part.map((item: unknown) => prefixed(prefix, item)) as T;
  const members = Object.entries(part).map(([key, member]) => [key, prefixed(prefix, member)]);
  return Object.fromEntries(members) as T;
}

type Own = Omit<OperationObject, 'tags'>;

/** Adds the responses that operations have in common. An operation's own take precedence. */
function complete(tag: string, operation: Own): OperationObject {
  const common = { 400: refTo('responses/Malformed'), default: refTo('responses/Failure') };
  const withKey = { 401: refTo('responses/Unauthorized'), 503: refTo('responses/Starting') };
  const needsKey = operation.security === undefined;
  const responses = { ...common, ...(needsKey ? withKey : {}), ...operation.responses };
  return { ...operation, tags: [tag], responses };
}

const PETS = 'pets';
const OPERATORS = 'operators';

const REX = { name: 'Rex', categoryId: 7, status: 'available' } as const;
const MIA = { name: 'Mia', categoryId: 3 } as const;
const STORED_REX = { id: 1, ...REX };
const STORED_MIA = { id: 2, ...MIA };
const HEALTHY = { ok: { status: 'ok' } } as const;

/** Parts of messages in the examples. */
const NO_LIMIT = 'limit must be an integer from 1 to 100, not "0"';
const NO_STATUS = 'status must be one of available, pending, sold, not "lost"';
const NO_CATEGORY = 'categoryId must be an integer of 64 bits, not 1.5';
const SYNC_FAILED = 'pets cannot be stored: EIO: i/o error';
const NO_MEDIA_TYPE = 'unsupported_media_type: Content-';

const LIST_PETS: Own = {
  operationId: 'listPets',
  summary: 'List pets',
  description:
    'Returns a page of pets in ascending order of id. Each parameter may be given once. ' +
    'Other parameters are ignored.',
  parameters: [
    {
      name: 'limit',
      in: 'query',
      description: 'Maximum number of pets to return, in plain decimal digits',
      schema: { type: 'integer', minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT },
      example: DEFAULT_LIMIT,
    },
    {
      name: 'status',
      in: 'query',
      description: 'Filter by availability status',
      schema: refTo('schemas/PetStatus'),
      example: 'available',
    },
    {
      name: 'after',
      in: 'query',
      description:
        'Only pets with a greater id, an extension. Follow the Link instead of building a query',
      schema: INT64,
    },
  ],
  responses: {
    200: {
      description: 'The pets, or an empty array if none match',
      headers: optional({
        Link: field(
          'The next page (RFC 8288), if more pets match',
          `<${PETS_PATH}?limit=2&after=2>; rel="next"`,
        ),
      }),
      content: jsonOf('Pets', { page: [STORED_REX, STORED_MIA], none: [] }),
    },
    400: describedError({
      invalidParameters: `invalid_parameter: ${NO_LIMIT}; ${NO_STATUS}`,
      ...BROKEN_ENCODING,
    }),
  },
};

const CREATE_PET: Own = {
  operationId: 'createPet',
  summary: 'Add a pet',
  description:
    'Responds when the pet is stored durably. A refused pet is not stored. After 500 with ' +
    'outcome_unknown it may be.',
  parameters: [
    {
      name: 'Idempotency-Key',
      in: 'header',
      description:
        'Makes a retry safe: each request with the key and the pet gets the same response. ' +
        '1 to 255 visible ASCII characters, quoted or not. Best is a random UUID',
      // In quotes each character may have a backslash before it.
      schema: { type: 'string', minLength: 1, maxLength: 512 },
      example: '8e03978e-40d5-43dd-bc93-6894a57f9324',
    },
  ],
  requestBody: {
    description: 'JSON in UTF-8. A missing Content-Type means application/json',
    required: true,
    content: jsonOf('NewPet', { withStatus: REX, withoutStatus: MIA }),
  },
  responses: {
    201: {
      description: 'The pet was added',
      headers: {
        Location: field('The path of the new pet', `${PETS_PATH}/1`),
        ...optional({
          'Idempotent-Replayed': field(
            'Present if an earlier request with the same Idempotency-Key stored the pet',
            'true',
            { type: 'string', enum: ['true'] },
          ),
        }),
      },
      content: jsonOf('Pet', { withStatus: STORED_REX, withoutStatus: STORED_MIA }),
    },
    400: describedError({
      invalidKey:
        'invalid_idempotency_key: Idempotency-Key must be 1 to 255 visible ASCII characters',
      invalidFields: `invalid_body: name is required; ${NO_CATEGORY}; ${NO_STATUS}`,
      noBody: 'invalid_json: A body is required, and it must be JSON',
      ...BROKEN_ENCODING,
    }),
    413: describedError({
      byDefault: `body_too_large: The body is longer than the limit of ${DEFAULT_BODY_LIMIT_BYTES} bytes`,
    }),
    415: describedError(
      {
        contentType: `${NO_MEDIA_TYPE}Type must be application/json, not "text/plain"`,
        contentEncoding: `${NO_MEDIA_TYPE}Encoding "gzip" is not supported, send none`,
      },
      optional({
        Accept: field('The accepted Content-Type, if it is wrong', 'application/json'),
        'Accept-Encoding': field('The accepted Content-Encoding, if it is wrong', 'identity'),
      }),
    ),
    422: describedError({
      otherPet: 'idempotency_key_reused: The key was used for another pet, the one with the id 1',
    }),
    500: describedError({
      unknown: `outcome_unknown: It is not known whether the pet was stored: ${SYNC_FAILED}`,
      internal: 'internal_error: The service failed to respond',
    }),
    503: refTo('responses/Unavailable'),
  },
};

const GET_PET: Own = {
  operationId: 'getPet',
  summary: 'Get a pet',
  description: `Will be removed on ${GET_PET_REMOVED_ON.slice(0, 10)}. Use listPets and its status filter.`,
  deprecated: true,
  parameters: [
    {
      name: 'petId',
      in: 'path',
      description: 'Identifier of the pet to retrieve',
      required: true,
      schema: INT64,
      example: 1,
    },
  ],
  responses: {
    200: {
      description: 'The pet was found',
      headers: DEPRECATION,
      content: jsonOf('Pet', { found: STORED_REX }),
    },
    404: describedError(
      {
        noSuchPet: 'not_found: There is no pet with the id "4711"',
        noInt64: 'not_found: There is no pet with the id "Rex"',
      },
      DEPRECATION,
    ),
    410: describedError(
      {
        removed: `operation_removed: getPet was removed on ${GET_PET_REMOVED_ON}, use ${PETS_PATH}`,
      },
      SUCCESSOR_LINK,
    ),
  },
};

const LIVEZ: Own = {
  operationId: 'livez',
  summary: 'Show whether the process is alive',
  description:
    'Does not use the store. A supervisor should restart a process that does not respond.',
  security: [],
  responses: {
    200: { description: 'The process is alive', content: jsonOf('Health', HEALTHY) },
  },
};

const READYZ: Own = {
  operationId: 'readyz',
  summary: 'Show whether the service is ready for requests',
  description:
    'Returns 503, with the reason, while the service starts, stops, or cannot store pets.',
  security: [],
  responses: {
    200: { description: 'The service is ready', content: jsonOf('Health', HEALTHY) },
    503: refTo('responses/Unavailable'),
  },
};

const METRICS: Own = {
  operationId: 'metrics',
  summary: 'Show metrics for Prometheus',
  description:
    'Requests, uses of API keys, pets, commits and load. An API key that may only read ' +
    'metrics is valid here, and nowhere else.',
  responses: {
    200: {
      description: 'The metrics in the text format 0.0.4',
      content: { 'text/plain; version=0.0.4; charset=utf-8': { schema: { type: 'string' } } },
    },
  },
};

const OPENAPI: Own = {
  operationId: 'openapi',
  summary: 'Show this description',
  description: 'Any web page may read it.',
  security: [],
  responses: {
    200: {
      description: 'The OpenAPI description of the service',
      headers: { 'Access-Control-Allow-Origin': field('Any web page may read it', '*') },
      content: { 'application/json': { schema: { type: 'object' } } },
    },
  },
};

const OPERATIONS: readonly OperationObject[] = [
  ...[LIST_PETS, CREATE_PET, GET_PET].map((own) => complete(PETS, own)),
  ...[LIVEZ, READYZ, METRICS, OPENAPI].map((own) => complete(OPERATORS, own)),
];
