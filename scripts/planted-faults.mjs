/** Prints the table of planted faults of src/kit/README.md: which check finds which. */

import { buildTests } from './test.mjs';

if (!process.features.typescript) buildTests();
const folder = process.features.typescript ? '../test/kit/' : '../.build/test/kit/';
const extension = process.features.typescript ? 'ts' : 'js';
const { faultTable, findings } = await import(`${folder}fault-table.${extension}`);
console.log(faultTable(await findings()));
