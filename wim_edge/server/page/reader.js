// The text of a document, and its segments as they are read, in any order.

import { make } from "./dom.js";
import { contents, laidOut } from "./layout.js";
import { firstOf, Offsets } from "./offsets.js";

const UNREAD = 16384;  // UTF-16 units of a block of text, about

export class Reader {
  constructor(element) {
    Object.assign(this, { element, segments: new Map() });
  }

  show(document) {
    this.segments.clear();
    this.lit = [];  // what is marked, in units, in its order
    this.offsets = new Offsets(document.text);
    Object.assign(this, laidOut(document, (char) => this.offsets.unit(char)));
    this.blocks = [];  // divs that end with lines; the browser draws those alone that are in view
    for (let start = 0; start < this.text.length;) {
      const end = this.lineEnd(start + UNREAD);
      const one = this.part(start, end), made = make("div", { className: "block" }, one.made);
      estimate(made);
      this.blocks.push({ made, start, end, parts: [one] });
      start = end;
    }
    this.element.replaceChildren(...this.blocks.map((one) => one.made));
  }

  // A part of a block, read or not; units [start, end)
  part(start, end, className = "unread") {
    return { made: make("span", { className }, ...this.content(start, end)), start, end, isRead: className !== "unread" };
  }

  // The text of units [start, end), with what is laid out in it
  content(start, end) {
    let low = firstOf(this.marks.length, (one) => this.marks[one].end >= start), at = start;
    const children = [];
    for (; low < this.marks.length && this.marks[low].start < end; low++) {
      const mark = this.marks[low], isPage = mark.kind === "page";
      const [from, to] = [Math.max(mark.start, at), Math.min(mark.end, end)];
      if (isPage ? mark.start < start : to <= from) continue;
      if (from > at) children.push(this.text.slice(at, from));
      const part = make(isPage ? "i" : "span", { className: mark.kind }, ...contents(mark.kind, this.text.slice(from, to)));
      part.dataset.label = mark.label;
      if (mark.number) part.dataset.row = mark.number;
      if (mark.columns) part.style.gridTemplateColumns = mark.columns;
      if (from === mark.start) part.querySelectorAll(".cell").forEach((cell, number) => cell.classList.toggle("figure", Boolean(mark.figures?.[number])));
      children.push(part);
      at = Math.max(at, to);
    }
    if (at < end) children.push(this.text.slice(at, end));
    return children;
  }

  // Where the line ends that unit number `at` is in, and one that does not end is cut, between characters
  lineEnd(at) {
    const { text } = this;
    const end = text.indexOf("\n", at) + 1;
    if (end && end <= at + UNREAD) return end;
    const cut = Math.min(at + UNREAD, text.length);
    return /[\ud800-\udbff]/.test(text[cut - 1]) ? cut + 1 : cut;
  }

  // What is read stands apart from what is not; segments come in any order
  read(event) {
    if (this.lit.length) this.mark([]);
    this.rest();
    const [start, end] = event.chars.map((char) => this.offsets.unit(char)), made = [];
    for (let low = firstOf(this.blocks.length, (one) => this.blocks[one].end > start); this.blocks[low]?.start < end; low++) {
      const block = this.blocks[low];
      block.parts = block.parts.flatMap((old) => {
        const [from, to] = [Math.max(start, old.start), Math.min(end, old.end)];
        if (old.isRead || from >= to) return [old];
        const now = this.part(from, to, `segment now${from && this.text[from - 1] !== "\n" ? " within" : ""}`);
        const parts = [this.part(old.start, from), now, this.part(to, old.end)].filter((one) => one.start < one.end);
        old.made.replaceWith(...parts.map((one) => one.made));
        made.push(now.made);
        return parts;
      });
    }
    this.segments.set(event.segment, made);
  }

  // The character at the top of what is seen
  get top() {
    if (!this.element.scrollTop) return 0;  // the middle of a row is not where its text begins
    const { left, top, width } = this.element.getBoundingClientRect();
    const block = this.blocks.find(({ made }) => made.getBoundingClientRect().bottom > top + 8) ?? this.blocks[0];
    const nodes = block ? [...this.nodes(block.made, block.start)] : [];
    let caret, found;  // between paragraphs there is none, but below
    for (let y = top + 12; !found && y < top + 120; y += 12) {
      caret = window.document.caretRangeFromPoint?.(left + width / 2, y);
      found = nodes.find(([node]) => node === caret?.startContainer);
    }
    return this.offsets.char(found ? found[1] + caret.startOffset : block?.start ?? 0);
  }

  set top(char) {
    const at = this.offsets.unit(char), ink = this.text.slice(at, at + 999).search(/\S/);  // a line's end has no place
    const unit = at + Math.max(0, ink), block = this.blocks.find((one) => unit < one.end) ?? this.blocks.at(-1), range = window.document.createRange();
    // A sign that is put away stands nowhere
    const isSeen = ([node, first]) => first + node.length > unit && node.parentElement.getClientRects().length;
    settled(() => {  // what is read or marked in the meantime has other nodes
      block.made.scrollIntoView({ block: "start" });
      const [node, first] = [...this.nodes(block.made, block.start)].find(isSeen) ?? [];
      if (!node) return;
      range.setStart(node, Math.max(0, unit - first));
      range.setEnd(node, Math.max(0, unit - first) + 1);
      this.element.scrollTop += range.getBoundingClientRect().top - this.element.getBoundingClientRect().top - 8;
    });
  }

  // The nodes that hold text, each with the unit that it begins with
  *nodes(within = this.element, at = 0) {
    const nodes = window.document.createTreeWalker(within, NodeFilter.SHOW_TEXT);
    for (let node = nodes.nextNode(); node; node = nodes.nextNode()) {
      yield [node, at];
      at += node.length;
    }
  }

  // Nothing is read any more
  rest() {
    this.element.querySelectorAll(".now").forEach((one) => one.classList.remove("now"));
  }

  score(segment, relevance) {
    this.segments.get(segment)?.forEach((one) => one.style.setProperty("--r", relevance.toFixed(3)));
  }

  // Scroll to the first of several spans of characters, and mark exactly these
  go(spans, focus = true) {
    this.mark(spans);
    const mark = this.element.querySelector("mark:not(.also)");
    if (!mark) return;
    settled(() => mark.scrollIntoView({ block: "center" }));
    if (focus) mark.focus({ preventScroll: true });
  }

  // The units of characters, with the whole of a row: its cells would not stand below the others any more
  whole(chars) {
    const [from, to] = chars.map((char) => this.offsets.unit(char)), rows = this.marks.filter((one) => one.kind === "row" && one.start < to && one.end > from);
    return rows.length ? [Math.min(from, rows[0].start), Math.max(to, rows.at(-1).end)] : [from, to];
  }

  // Mark spans of characters where they stand, without going there
  mark(spans) {
    const { scrollTop } = this.element, before = this.lit;
    this.lit = spans.map((chars, at) => [...this.whole(chars), at ? "also" : ""]).sort(([one], [other]) => one - other);
    for (const { start, end, made } of this.blocks.flatMap((one) => one.parts)) {
      if ([...before, ...this.lit].some(([from, to]) => from < end && to > start)) made.replaceChildren(...this.lined(start, end));
    }
    this.element.scrollTop = scrollTop;
  }

  // The text of a part, with what is marked in it
  lined(start, end) {
    const children = [];
    let at = start;
    for (const [from, to, className] of this.lit) {
      if (to <= at || from >= end) continue;
      const [first, last] = [Math.max(at, from), Math.min(end, to)];
      children.push(...this.content(at, first), make("mark", { tabIndex: -1, className }, ...this.content(first, last)));
      at = last;
    }
    return [...children, ...this.content(at, end)];
  }
}

// Scroll now, and again when what came into view has been drawn, and has another height than was thought
function settled(scroll) {
  scroll();
  requestAnimationFrame(() => requestAnimationFrame(scroll));
}

// What a block will be high, for the scroll bar, until the browser has drawn it
function estimate(block) {
  const lines = block.textContent.split("\n").reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / 90)), 0);
  block.style.containIntrinsicSize = `auto ${Math.round(1.6 * lines)}rem`;
}
