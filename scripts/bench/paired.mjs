/**
 * The runner of all comparisons: contenders take turns in short bursts, in pairs.
 *
 *     start all, warm up │ ours naive  ours fastest │ fastest ours  naive ours │ … │ stop all
 *
 * All contenders are up at once, and each burst of theirs has one of ours beside it: what else the
 * machine does in that second falls on both. A round begins with fresh processes, since the same code
 * is compiled faster in one than in another. A contender is `{ name, start }`; `start` resolves with
 * `{ burst, stop }`, and `burst` with the figures of one burst.
 */

/** Resolves with a Map: the pairs [ours, theirs] of figures, by the opponent's name. */
export async function measurePairs(bench, what, ours, opponents) {
  const pairs = new Map(opponents.map(({ name }) => [name, []]));
  for (let round = 0; round < bench.rounds; round += 1) {
    bench.progress(`${what}: round ${round + 1}, start`);
    const running = new Map();
    for (const contender of [ours, ...opponents]) running.set(contender, await contender.start());
    // The first bursts, while the code is not compiled yet, are not counted.
    for (const { burst } of running.values()) {
      for (let i = 0; i < bench.warmUps; i += 1) await burst();
    }
    for (let turn = 0; turn < bench.turns; turn += 1) {
      for (const opponent of rotate(opponents, round + turn)) {
        bench.progress(`${what}: round ${round + 1}, turn ${turn + 1}, ${opponent.name}`);
        const first = (round + turn) % 2 === 0 ? ours : opponent;
        const second = first === ours ? opponent : ours;
        const figures = new Map([[first, await running.get(first).burst()]]);
        figures.set(second, await running.get(second).burst());
        pairs.get(opponent.name).push([figures.get(ours), figures.get(opponent)]);
      }
    }
    for (const { stop } of running.values()) await stop();
  }
  return pairs;
}

/** Each turn begins with another one. */
function rotate(list, turn) {
  const start = turn % list.length;
  return [...list.slice(start), ...list.slice(0, start)];
}
