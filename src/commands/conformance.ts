/**
 * Checks any pet store service against the API specification (kit/README.md).
 *
 *     petstore conformance https://host/v1 --key KEY
 */

import { runCommand } from '../kit/command.ts';

process.exitCode = await runCommand(process.argv.slice(2), process.env);
