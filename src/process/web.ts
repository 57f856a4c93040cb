/** The setting for `extras/web`. */

import type { WebOptions } from '../extras/web/web.ts';
import { onOrOff, type GivenSettings, type Setting } from './setting.ts';

export const PAGE: Setting<boolean> = {
  option: 'page',
  variable: 'PETSTORE_PAGE',
  flag: 'page',
  parser: onOrOff,
  default: true,
  help: 'a page at / and a reference at /docs',
};

export function readWebOptions(given: GivenSettings): WebOptions {
  return { page: given.read(PAGE) };
}
