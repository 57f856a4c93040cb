/** @param {(text: string) => void} progress */
export async function judgePeers(progress) {
  progress('');
}
