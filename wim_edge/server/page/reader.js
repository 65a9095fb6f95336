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
    this.marked = null;
    this.offsets = new Offsets(document.text);
    Object.assign(this, laidOut(document, (char) => this.offsets.unit(char)));
    this.blocks = [];  // divs that end with lines; the browser draws those alone that are in view
    for (let start = 0; start < this.text.length;) {
      const end = this.lineEnd(start + UNREAD);
      this.blocks.push(blockOf([this.unread(start, end)]));
      start = end;
    }
    this.element.replaceChildren(...this.blocks.map((one) => one.made));
  }

  // Parts of a block are what is read, a segment each, and what is not; units [start, end)
  unread(start, end) {
    return { made: make("span", { className: "unread" }, ...this.content(start, end)), start, end, read: false };
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

  read(event) {
    this.unmark();
    this.rest();
    const [start, end] = event.chars, first = this.offsets.unit(start), isWithin = first && this.text[first - 1] !== "\n";
    const made = make("span", { className: `segment now${isWithin ? " within" : ""}` });
    this.put(made, first, this.offsets.unit(end));
    this.segments.set(event.segment, { made, start, end });
  }

  // Have the segment stand in the place of its text, which was unread; segments come in any order
  put(made, start, end) {
    const low = Math.max(0, firstOf(this.blocks.length, (one) => this.blocks[one].start > start) - 1);
    const block = this.blocks[low];
    if (!block) return;
    this.reach(low, end);
    const at = block.parts.findIndex((one) => !one.read && one.end > start && one.start < end);
    if (at < 0) {  // another segment has shown all of it
      (block.parts.find((one) => one.end > start) ?? block.parts.at(-1)).made.before(made);
      return;
    }
    const old = block.parts[at], [from, to] = [Math.max(start, old.start), Math.min(end, old.end)];
    made.replaceChildren(...this.content(from, to));
    const parts = [{ made, start: from, end: to, read: true }];
    if (old.start < from) parts.unshift(this.unread(old.start, from));
    if (to < old.end) parts.push(this.unread(to, old.end));
    old.made.replaceWith(...parts.map((one) => one.made));
    block.parts.splice(at, 1, ...parts);
    if (block.end - block.start > 2 * UNREAD && block.parts.length > 1) this.split(low);
  }

  // Make two blocks of one, between parts: near the middle, where a line ends if one does
  split(number) {
    const block = this.blocks[number], { text } = this, middle = (block.start + block.end) / 2;
    const cost = ({ end }) => Math.abs(end - middle) + (text[end - 1] === "\n" ? 0 : UNREAD);
    const best = block.parts.slice(0, -1).reduce((one, other) => (cost(other) < cost(one) ? other : one));
    const next = blockOf(block.parts.splice(block.parts.indexOf(best) + 1));
    block.made.after(next.made);
    this.blocks.splice(number + 1, 0, next);
    block.end = best.end;
    estimate(block.made);
  }

  // Have a block reach to the end of the line that unit `to` is in, with parts of the next ones
  reach(number, to) {
    const block = this.blocks[number], { text } = this;
    const lineEnd = (at) => (text[at - 1] === "\n" ? at : this.lineEnd(at));
    if (block.end >= to) return;
    for (let target = lineEnd(to); block.end < target;) {
      const next = this.blocks[number + 1], part = next.parts[0];
      if (part.read && block.end >= to && block.end - block.start > 2 * UNREAD) break;  // of a line that hardly ends
      let moved = part;
      if (!part.read && part.end > target) {
        moved = this.unread(part.start, target);
        part.start = target;
        part.made.replaceChildren(...this.content(target, part.end));
      } else {
        next.parts.shift();
        if (part.read) target = Math.max(target, lineEnd(part.end));
      }
      const last = block.parts.at(-1);
      if (!moved.read && !last.read) {
        moved.made.remove();
        last.end = moved.end;
        last.made.replaceChildren(...this.content(last.start, last.end));
      } else {
        block.made.append(moved.made);
        block.parts.push(moved);
      }
      block.end = next.start = moved.end;
      if (!next.parts.length) this.blocks.splice(number + 1, 1)[0].made.remove();
      else estimate(next.made);
    }
    estimate(block.made);
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
    const unit = at + Math.max(0, ink), [start, , made] = this.partAt(unit);
    // A sign that is put away stands nowhere
    const isSeen = ([node, first]) => first + node.length > unit && node.parentElement.getClientRects().length;
    const [node, first] = [...this.nodes(made, start)].find(isSeen) ?? [made, unit], range = window.document.createRange();
    range.setStart(node, Math.max(0, unit - first));
    if (node !== made) range.setEnd(node, Math.max(0, unit - first) + 1);
    settled(() => {
      made.closest(".block")?.scrollIntoView({ block: "start" });
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
    this.element.querySelector(".now")?.classList.remove("now");
  }

  score(segment, relevance) {
    this.segments.get(segment)?.made.style.setProperty("--r", relevance.toFixed(3));
  }

  // Scroll to characters of a segment, or of the text where none is named, and highlight exactly these
  go([start, end], segment, focus = true, scroll = true) {
    this.marked?.();
    const within = (one) => one.start <= start && start < one.end;
    const found = this.segments.get(segment) ?? [...this.segments.values()].find(within);
    const [first, last, made] = found ? [this.offsets.unit(found.start), this.offsets.unit(found.end), found.made] : this.partAt(this.offsets.unit(start));
    const [from, to] = this.whole(Math.max(this.offsets.unit(start), first), Math.min(this.offsets.unit(end), last), first, last);
    const mark = make("mark", { tabIndex: -1 }, ...this.content(from, to));
    made.replaceChildren(...this.content(first, from), mark, ...this.content(to, last));
    this.marked = () => made.replaceChildren(...this.content(first, last));
    if (scroll) settled(() => mark.scrollIntoView({ block: "center" }));
    if (focus) mark.focus({ preventScroll: true });
  }

  // The units of what is marked, with the whole of a row: its cells would not stand below the others any more
  whole(from, to, first, last) {
    const rows = this.marks.filter((one) => one.kind === "row" && one.start < to && one.end > from);
    if (!rows.length) return [from, to];
    return [Math.max(first, Math.min(from, rows[0].start)), Math.min(last, Math.max(to, rows.at(-1).end))];
  }

  unmark() {
    this.marked = this.marked?.();
  }

  // Mark characters where they stand, without going there; null: none
  mark(chars) {
    if (!chars) return this.unmark();
    const { scrollTop } = this.element;
    this.go(chars, undefined, false, false);
    this.element.scrollTop = scrollTop;
  }

  // The part that holds a unit, read or not
  partAt(unit) {
    const block = this.blocks.find((one) => unit < one.end) ?? this.blocks.at(-1);
    const part = block.parts.find((one) => unit < one.end) ?? block.parts.at(-1);
    return [part.start, part.end, part.made];
  }
}

function blockOf(parts) {
  const made = make("div", { className: "block" }, ...parts.map((one) => one.made));
  estimate(made);
  return { made, start: parts[0].start, end: parts.at(-1).end, parts };
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
