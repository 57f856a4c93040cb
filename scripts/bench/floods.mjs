/**
 * Floods: many connections that pipeline 64 KiB each, and another client that connects meanwhile.
 *
 * Reports the service's peak memory and the other client's longest wait. Bare node:http gets the
 * same flood, by turns.
 */

import { freshData } from './data.mjs';
import { runScript, startScript, startServer } from './processes.mjs';
import { figure, summary } from './table.mjs';

const SECONDS = 10;
const FORMS = ['read', 'read nothing', 'close their side'];
const FIELD = 'Authorization: Bearer bench\r\n';
const REQUESTS = {
  '/livez': 'GET /livez HTTP/1.1\r\nHost:a\r\n\r\n',
  'an unknown path': 'GET /nothing HTTP/1.1\r\nHost:a\r\n\r\n',
  '/v1/pets': `GET /v1/pets HTTP/1.1\r\nHost:a\r\n${FIELD}\r\n`,
};
/** The response of bare node:http to every request. */
const FLOOR = { fields: ['Content-Type', 'application/json'], body: '{"status":"ok"}' };
const READING = { form: 'read', connections: 1000, request: REQUESTS['/livez'] };
const NEVER_READING = { ...READING, form: 'read nothing', connections: 20, isEndless: true };

export async function measureFloods(bench) {
  const rows = [];
  for (const form of FORMS) {
    for (const [path, request] of Object.entries(REQUESTS)) {
      const what = `1,000 clients that ${form}: GET ${path}`;
      bench.progress(`floods: ${what}`);
      const { peakMb, longestMs } = await flooded(bench, ours(bench), {
        ...READING,
        form,
        request,
      });
      const text = `${peakMb} MB at the peak, longest wait ${longestMs} ms`;
      rows.push({ what, figure: text });
    }
  }
  rows.push(await beside(bench, '1,000 clients that read', READING, '≤ 1.20'));
  rows.push(await beside(bench, '20 clients that write on and never read', NEVER_READING, ''));
  return [{ title: 'Floods of pipelined requests', rows }];
}

/** Returns a row: the other client's longest wait at the service and at bare node:http. */
async function beside(bench, what, flood, goal) {
  const longest = { ours: [], theirs: [] };
  for (let round = 0; round < bench.rounds; round += 1) {
    bench.progress(`floods: ${what}, round ${round + 1}`);
    longest.ours.push((await flooded(bench, ours(bench), flood)).longestMs);
    longest.theirs.push((await flooded(bench, bare(bench), flood)).longestMs);
  }
  const ratios = longest.ours.map((ms, i) => ms / longest.theirs[i]);
  const medians = [longest.ours, longest.theirs].map((waits) => summary(waits).median);
  return {
    what: `${what}: another's longest wait`,
    against: 'bare node:http',
    goal,
    figure: figure(ratios, 2, goal),
    absolute: `${medians[0]} : ${medians[1]} ms`,
  };
}

function ours(bench) {
  const path = freshData(bench.folder, 'floods', 1000);
  return () => startServer(bench.node, 'serve-petstore.mjs', { kind: 'file', path });
}

function bare(bench) {
  return () => startServer(bench.node, 'serve-floor.mjs', { kind: 'naive', ...FLOOR });
}

async function flooded(bench, startOne, flood) {
  const server = await startOne();
  const job = { port: server.port, seconds: SECONDS, ...flood };
  const flooders = startScript(process.execPath, 'flood.mjs', job);
  await flooders.nextLine();
  const { longestMs } = await runScript(process.execPath, 'newcomer.mjs', job);
  const peakMb = Math.round(server.memory().peak / 1e6);
  flooders.child.kill('SIGKILL');
  await flooders.end;
  await server.stop();
  return { peakMb, longestMs };
}
