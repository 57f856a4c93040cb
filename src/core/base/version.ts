/** The version in package.json, repeated here because dist runs without that file. */
export const VERSION = '3.0.0';

/**
 * Returns why a version of Node.js is not supported, or undefined if it is. The versions are those
 * of `engines` in package.json: older ones read some malformed requests differently from a proxy
 * (CVE-2025-23167).
 */
export function whyUnsupported(version: string): string | undefined {
  const [major = 0, minor = 0, patch = 0] = version.replace('v', '').split('.').map(parseFloat);
  const number = (major * 1000 + minor) * 1000 + patch;
  if (number >= 22_015_001 || (number >= 20_019_002 && major === 20)) return undefined;
  return `Node.js 20 from 20.19.2 on, or 22.15.1 or later, is needed, not ${version}`;
}
