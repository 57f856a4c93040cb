/** The version in package.json, repeated here because dist runs without that file. */
export const VERSION = '1.2.0';
