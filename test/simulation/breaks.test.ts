/** The simulation catches each deliberate break of the file store (breaks.ts). */

import { testSlips } from '../support/slips.ts';
import { BREAKS } from './breaks.ts';

const SLIPS = Object.fromEntries(BREAKS.map(({ slips }, index) => [index, slips]));

testSlips(SLIPS, 'simulation/breaks.js', (loaded: typeof import('./breaks.ts'), index) =>
  loaded.BREAKS[Number(index)]!.search(),
);
