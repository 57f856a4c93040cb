/** The service's version, that of package.json: dist has to run without that file beside it. */
export const VERSION = '1.1.0';
