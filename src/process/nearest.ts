/** The name that is nearest to a misspelt one, for "did you mean". */

/** Returns the name with the fewest edits (Levenshtein). `names` must not be empty. */
export function nearest(text: string, names: readonly string[]): string {
  return names.reduce((best, name) => (edits(text, name) < edits(text, best) ? name : best));
}

/** Returns how many letters have to be added, removed or changed. */
export function edits(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (const [index, letter] of [...from].entries()) {
    const above = row;
    row = [index + 1];
    for (let column = 1; column <= to.length; column += 1) {
      const change = above[column - 1]! + (letter === to[column - 1] ? 0 : 1);
      row.push(Math.min(change, above[column]! + 1, row[column - 1]! + 1));
    }
  }
  return row.at(-1)!;
}
