/** What a service has for its operators: metrics, and perhaps an access log and CORS. */

import { apiKeyErrors } from '../../core/app/api-keys.ts';
import type { CommonOptions, Extension, ServiceView } from '../../core/app/service-options.ts';
import { isObject } from '../../core/base/exact-json.ts';
import { safeLogger, warningLogger } from '../../core/base/logger.ts';
import { condition, mustBe, type Check } from '../../core/base/option-error.ts';
import { createRequestIds, logResponse } from './access-log.ts';
import { createCors, isOrigin } from './cors.ts';
import { createMetrics, METRICS_RIGHT } from './metrics.ts';
import type { Runtime } from './runtime.ts';

export interface OpsOptions {
  /** Logs each request with its response, and gives it an id. Off by default. */
  readonly accessLog?: boolean | undefined;
  /** The origins whose web pages may use the service, or `*`. None by default. */
  readonly corsOrigins?: readonly string[] | undefined;
  /** What the metrics report about the program around the app. */
  readonly runtime?: Runtime | undefined;
}

/** Returns the parts of this folder that are on. */
export function opsExtension(
  { accessLog, corsOrigins = [], runtime, log, timeOfDay = Date.now }: OpsOptions & CommonOptions,
  view: ServiceView,
): Extension {
  const logger = safeLogger(log ?? warningLogger);
  const metrics = createMetrics({ ...view, timeOfDay, runtime });
  const requestIds = accessLog === true ? createRequestIds() : undefined;
  return {
    operations: [metrics.operation],
    policies: [
      ...(requestIds === undefined ? [] : [requestIds]),
      ...(corsOrigins.length === 0 ? [] : [createCors(corsOrigins, view.operations)]),
    ],
    onResponse(exchange) {
      const seconds = (performance.now() - exchange.startedAt) / 1000;
      metrics.countResponse(exchange, seconds);
      if (requestIds === undefined) return;
      logResponse(logger, exchange, requestIds.idOf(exchange.request), seconds);
    },
    detailsOf: (request) => ({ requestId: requestIds?.idOf(request) ?? '' }),
    onApiKeys: () => metrics.forgetOldKeys(),
    close: () => metrics.close(),
  };
}

/** The checks of the options, and of the API keys, which may be for the metrics only. */
export const OPS_CHECKS: Readonly<Record<keyof OpsOptions | 'apiKeys', Check>> = {
  apiKeys: (value, option) => apiKeyErrors(value, option, [METRICS_RIGHT]),
  accessLog: condition('true or false', (value) => typeof value === 'boolean'),
  corsOrigins(value, option) {
    if (!Array.isArray(value)) return [mustBe(option, 'an array of origins', value)];
    // Array.from, since flatMap would pass over holes.
    return Array.from(value as readonly unknown[]).flatMap((origin, index) => {
      const isValid = typeof origin === 'string' && isOrigin(origin);
      return isValid ? [] : [mustBe(`${option}[${index}]`, originMeantBy(origin), origin)];
    });
  },
  runtime: condition('an object with nodeVersion and openConnections', (value) => {
    const { nodeVersion, openConnections } = isObject(value) ? value : {};
    return typeof nodeVersion === 'string' && typeof openConnections === 'function';
  }),
};

/** Returns the origin of a longer URL, such as `https://shop.example/`, or an example. */
function originMeantBy(value: unknown): string {
  const origin = typeof value === 'string' && URL.canParse(value) ? new URL(value).origin : '';
  return isOrigin(origin) ? origin : 'an origin such as https://shop.example, or *';
}
