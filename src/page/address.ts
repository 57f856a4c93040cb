/**
 * The module of the reference: puts the address from which the reference was loaded into its curl
 * variables. The browser knows that address behind any proxy. The service does not: the Host field
 * has no scheme, and a proxy may change it.
 */

import { quoted } from './curl-line.ts';

declare const document: { querySelector(selector: string): { textContent: string } };
declare const location: { readonly origin: string };

document.querySelector('#address').textContent = quoted(location.origin);
