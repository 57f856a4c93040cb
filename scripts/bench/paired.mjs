/**
 * The runner of all comparisons: two contenders take turns in short bursts.
 *
 *     start both, warm up │ ours theirs │ theirs ours │ ours theirs │ … │ stop both
 *
 * Both are up at once, and a ratio is that of neighbours: what else the machine does in that second
 * falls on both. A round begins with fresh processes, since the same code is compiled faster in one
 * than in another. Both have the same number of bursts behind them at all times, since that is how
 * much of their code is compiled: were one of them set against several others, it would be ahead.
 */

/**
 * Resolves with the pairs [ours, theirs] of figures. A contender is `{ name, start }`; `start`
 * resolves with `{ burst, stop }`, and `burst` with the figures of one burst.
 */
export async function measurePairs(bench, what, ours, theirs) {
  const pairs = [];
  for (let round = 0; round < bench.rounds; round += 1) {
    bench.progress(`${what}, ${theirs.name}: round ${round + 1}`);
    const running = [await ours.start(), await theirs.start()];
    for (let turn = -bench.warmUps; turn < bench.turns; turn += 1) {
      const figures = [];
      const order = (round + turn) % 2 === 0 ? [0, 1] : [1, 0];
      for (const side of order) figures[side] = await running[side].burst();
      // The first turns, while the code is not compiled yet, do not count.
      if (turn >= 0) pairs.push(figures);
    }
    for (const { stop } of running) await stop();
  }
  return pairs;
}
