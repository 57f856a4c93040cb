/** A button that copies the text of an element, or selects it if the browser forbids that. */

import type { Element } from './element.ts';

declare const navigator: { readonly clipboard?: { writeText(text: string): Promise<void> } };
declare function getSelection(): { selectAllChildren(element: Element): void };

export function copyOnClick(button: Element, source: Element): void {
  button.addEventListener('click', async () => {
    try {
      // Without https, a page from another machine has no clipboard.
      await navigator.clipboard!.writeText(source.textContent);
      button.textContent = 'Copied';
    } catch {
      getSelection().selectAllChildren(source);
      button.textContent = 'Selected: copy it by hand';
    }
  });
}
