/** What the page uses of the DOM. The compiler's DOM types would declare `name` globally. */
export interface Element {
  textContent: string;
  className: string;
  hidden: boolean;
  open: boolean;
  value: string;
  checked: boolean;
  type: string;
  readonly hash: string;
  append(...children: readonly (Element | string)[]): void;
  replaceChildren(...children: readonly Element[]): void;
  querySelector(selector: string): Element;
  setAttribute(name: string, value: string): void;
  addEventListener(type: string, listener: (event: { preventDefault(): void }) => void): void;
  focus(): void;
}
