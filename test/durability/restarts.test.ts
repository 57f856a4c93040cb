/**
 * A service that is stopped and started again under load: no connection is reset, so that each
 * client knows what became of its pet.
 */

import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { rounds } from '../support/extent.ts';
import { parseAnswers } from '../support/http/answers.ts';
import { end, KEY, portOf, startProcess, type Process } from '../support/process/process.ts';
import { tempDir } from '../support/disk/temp-dir.ts';
import { requestOf } from '../support/http/wire.ts';

const CONNECTIONS = 64;
const STOPS = rounds(3, 20);
const UNANSWERED = 'closed without an answer';
const CREATE = requestOf('POST /v1/pets', [], '{"name":"Rex","categoryId":1}');

test(`${CONNECTIONS} connections that POST through ${STOPS} stops meet no reset`, async (t) => {
  const dataFile = join(tempDir(t), 'pets.json');
  const start = async (port: number): Promise<Process> => {
    const args = ['--port', String(port), '--data-file', dataFile];
    const service = startProcess(args, { PETSTORE_API_KEYS: KEY });
    t.after(() => service.child.kill('SIGKILL'));
    await service.ready();
    return service;
  };
  let service = await start(0);
  const port = await portOf(service);
  const seen = new Map<string, number>();
  let isOver = false;
  const clients = Array.from({ length: CONNECTIONS }, async () => {
    while (!isOver) await postUntilClosed(port, () => isOver, seen);
  });
  for (let stop = 0; stop < STOPS; stop += 1) {
    await sleep(100);
    assert.equal(await end(service, 'SIGTERM'), 0, service.stderr());
    service = await start(port);
  }
  await sleep(100);
  isOver = true;
  await Promise.all(clients);

  t.diagnostic(JSON.stringify(Object.fromEntries(seen)));
  const stored = seen.get('201') ?? 0;
  // Between a stop and the next start nobody listens, and every client knows that it sent nothing.
  const known = ['201', '503', 'not connected', UNANSWERED];
  assert.deepEqual(
    [...seen.keys()].filter((what) => !known.includes(what)),
    [],
  );
  const list = await fetch(`http://127.0.0.1:${port}/metrics`, {
    headers: { Authorization: `Bearer ${KEY}` },
  });
  // A request that is on its way for longer than the service waits, on a machine that does other
  // things as well, is one in a hundred at the most.
  const unanswered = seen.get(UNANSWERED) ?? 0;
  assert.ok(unanswered <= stored / 100, `${unanswered} without an answer`);
  const count = /^petstore_pets\{status=""\} ([0-9]+)$/m.exec(await list.text())?.[1];
  assert.ok(Number(count) >= stored && Number(count) <= stored + unanswered, `${count} pets`);
});

/** One create after the other on one connection, until the service closes it or all is over. */
function postUntilClosed(
  port: number,
  isOver: () => boolean,
  seen: Map<string, number>,
): Promise<void> {
  const note = (what: string): unknown => seen.set(what, (seen.get(what) ?? 0) + 1);
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1').setNoDelay(true);
    let received = '';
    let isWaiting = false;
    let isConnected = false;
    const send = (): void => {
      if (isOver()) return void socket.end();
      received = '';
      isWaiting = true;
      socket.write(CREATE);
    };
    socket.on('connect', () => {
      isConnected = true;
      send();
    });
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
      const length = /\r\ncontent-length: ([0-9]+)\r\n/i.exec(received)?.[1];
      const head = received.indexOf('\r\n\r\n');
      if (head === -1 || received.length < head + 4 + Number(length)) return;
      const [answer] = parseAnswers(received);
      note(String(answer?.status));
      isWaiting = false;
      if (answer?.headers.get('connection') === 'close') socket.end();
      // Some are idle when the stop comes, and some about to send.
      else setTimeout(send, 3 * Math.random());
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      if (!isConnected) note('not connected');
      else if (isWaiting) note('closed without an answer');
      setTimeout(resolve, 10);
    });
  });
}
