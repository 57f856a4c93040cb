/** What page and reference have in common in the browser: elements, a copy button. */

/** What they use of the DOM. The compiler's DOM types would declare `name` globally. */
export interface Element {
  textContent: string;
  className: string;
  hidden: boolean;
  open: boolean;
  value: string;
  checked: boolean;
  readonly hash: string;
  append(...children: readonly (Element | string)[]): void;
  replaceChildren(...children: readonly Element[]): void;
  querySelector(selector: string): Element;
  setAttribute(name: string, value: string): void;
  addEventListener(type: string, listener: (event: { preventDefault(): void }) => void): void;
  focus(): void;
}

declare const document: { createElement(name: string): Element };
declare const navigator: { readonly clipboard?: { writeText(text: string): Promise<void> } };
declare function getSelection(): { selectAllChildren(element: Element): void };

export function make(tag: string, className = '', text = ''): Element {
  const made = document.createElement(tag);
  [made.className, made.textContent] = [className, text];
  return made;
}

/** Lets the button copy the text of an element, or select it if the browser forbids that. */
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
