/** A binary heap: the smallest element by `isBefore` first. Push and pop cost O(log n). */
export class Heap<Element> {
  readonly #elements: Element[] = [];
  readonly #isBefore: (a: Element, b: Element) => boolean;

  constructor(isBefore: (a: Element, b: Element) => boolean) {
    this.#isBefore = isBefore;
  }

  peek(): Element | undefined {
    return this.#elements[0];
  }

  push(element: Element): void {
    const elements = this.#elements;
    let at = elements.length;
    elements.push(element);
    while (at > 0) {
      const parentAt = (at - 1) >> 1;
      const parent = elements[parentAt] as Element;
      if (!this.#isBefore(element, parent)) break;
      elements[at] = parent;
      at = parentAt;
    }
    elements[at] = element;
  }

  pop(): Element | undefined {
    const elements = this.#elements;
    const first = elements[0];
    const last = elements.pop();
    if (elements.length === 0 || last === undefined) return first;
    let at = 0;
    for (;;) {
      let childAt = 2 * at + 1;
      const left = elements[childAt];
      if (left === undefined) break;
      const right = elements[childAt + 1];
      let child = left;
      if (right !== undefined && this.#isBefore(right, left)) {
        child = right;
        childAt += 1;
      }
      if (!this.#isBefore(child, last)) break;
      elements[at] = child;
      at = childAt;
    }
    elements[at] = last;
    return first;
  }
}
