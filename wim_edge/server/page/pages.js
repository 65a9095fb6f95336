// The pages of a PDF as they look: a picture each, its text above it to be selected, tints where segments are read and
// marks where a quotation stands. What is far from view is not drawn.

import { api } from "./api.js";
import { make } from "./dom.js";
import { Offsets } from "./offsets.js";

const STEP = 200, WIDEST = 2400;  // pixels: pictures come in few widths
const pen = document.createElement("canvas").getContext("2d");
pen.font = "100px sans-serif";

export class Pages {
  constructor(element) {
    Object.assign(this, { element, sheets: [], segments: new Map() });
    const near = (seen) => seen.forEach((one) => this.draw(this.sheets[one.target.dataset.at], one.isIntersecting));
    this.watch = new IntersectionObserver(near, { root: element, rootMargin: "100% 0px" });
  }

  show(document) {
    this.watch.disconnect();
    this.segments.clear();
    this.now = null;
    this.marked = [];
    this.offsets = new Offsets(document.text);
    this.sheets = document.sheets.map((page, at) => {
      const picture = make("img", { alt: page.end > page.start ? "" : `Page ${at + 1}, a picture without text` });
      picture.addEventListener("error", () => { picture.alt = `Page ${at + 1} cannot be shown`; });
      const tints = make("div"), lines = make("div"), made = make("div", { className: "sheet" }, picture, tints, lines);
      made.style.aspectRatio = `${page.width} / ${page.height}`;
      made.dataset.at = at;
      return { ...page, at, made, picture, tints, lines, path: `documents/${document.id}/pages/${at + 1}` };
    });
    this.element.replaceChildren(...this.sheets.map(({ made, at }) =>
      make("figure", { "aria-label": `Page ${at + 1}` }, made, make("figcaption", {}, `${at + 1} of ${this.sheets.length}`))));
    this.sheets.forEach(({ made }) => this.watch.observe(made));
  }

  // Have a page drawn while it is near, and let go of it when it is far
  draw(sheet, isNear) {
    if (!sheet || sheet.isNear === isNear) return;
    sheet.isNear = isNear;
    if (!isNear) {
      sheet.picture.removeAttribute("src");
      sheet.tints.replaceChildren();
      sheet.lines.replaceChildren();
      return;
    }
    const pixels = Math.ceil((sheet.made.clientWidth * devicePixelRatio) / STEP) * STEP;
    sheet.picture.src = `api/${sheet.path}/image?width=${Math.min(Math.max(pixels, STEP), WIDEST)}`;
    return this.write(sheet).catch(() => {});  // without its words the picture is there all the same
  }

  // Load where the words stand, once, and lay the text over the picture
  async write(sheet) {
    sheet.loading ??= api(`${sheet.path}/words`).catch((error) => {
      sheet.loading = null;  // the next time it may come
      throw error;
    });
    sheet.words = (await sheet.loading).words;
    if (!sheet.isNear) return;
    sheet.lines.replaceChildren(...this.boxes(sheet, sheet.start, sheet.end).map((line) => {
      const text = this.offsets.slice(line.start, line.end), made = make("span", { className: "line" }, text + "\n");
      const high = (line.bottom - line.top) * sheet.height, wide = (line.right - line.left) * sheet.width;
      const natural = pen.measureText(text).width / 100 || 1;
      made.style.cssText = `left: ${100 * line.left}%; top: ${100 * line.top}%; font-size: ${(100 * high) / sheet.width}cqw;
        transform: scaleX(${wide / (natural * high)})`;
      made.dataset.start = this.offsets.unit(line.start);
      return made;
    }));
    this.tint(sheet);
  }

  // The nodes that hold text, each with the unit that it begins with
  nodes() {
    return [...this.element.querySelectorAll(".line")].map((line) => [line.firstChild, Number(line.dataset.start)]);
  }

  // Boxes around the words of characters [from, to), one a line
  boxes(sheet, from, to) {
    const found = [];
    for (const [start, end, left, top, right, bottom] of sheet.words ?? []) {
      if (end <= from || start >= to) continue;
      const last = found.at(-1), high = bottom - top;
      const shared = last ? Math.min(bottom, last.bottom) - Math.max(top, last.top) : 0;
      const isNext = shared > 0.5 * Math.min(high, last?.bottom - last?.top) && left >= last.left
        && (left - last.right) * sheet.width < 3 * high * sheet.height;
      if (!isNext) found.push({ start, end, left, top, right, bottom });
      else Object.assign(last, { end, right, top: Math.min(top, last.top), bottom: Math.max(bottom, last.bottom) });
    }
    return found;
  }

  // Draw what is read of a page, and what is marked on it
  tint(sheet) {
    const made = [];
    for (const [segment, { start, end, relevance }] of this.segments) {
      if (end <= sheet.start || start >= sheet.end) continue;
      for (const bar of bars(this.boxes(sheet, start, end))) {
        const one = placed("i", bar, { className: segment === this.now ? "now" : "" });
        one.dataset.segment = segment;
        one.style.setProperty("--r", relevance);
        made.push(one);
      }
    }
    const marked = this.marked.flatMap((span, at) => this.boxes(sheet, ...span).map((box) => ({ ...box, className: at ? "also" : "" })));
    marked.forEach((box, at) => {  // lines meet in the middle, so that no edge goes through letters
      const above = marked[at - 1];
      if (above && above.top < box.top && box.top < above.bottom) above.bottom = box.top = (above.bottom + box.top) / 2;
    });
    made.push(...marked.map((box) => placed("mark", box, { tabIndex: -1, className: box.className }, this.offsets.slice(box.start, box.end))));
    const hadFocus = sheet.tints.contains(window.document.activeElement);
    sheet.tints.replaceChildren(...made);
    if (hadFocus) sheet.tints.querySelector("mark:not(.also)")?.focus({ preventScroll: true });
  }

  tintNear([start, end]) {
    for (const sheet of this.sheets) if (sheet.isNear && sheet.words && start < sheet.end && end > sheet.start) this.tint(sheet);
  }

  read(event) {
    const [start, end] = event.chars;
    this.rest();
    this.now = event.segment;
    this.segments.set(event.segment, { start, end, relevance: 0 });
    this.tintNear(event.chars);
  }

  rest() {
    this.element.querySelectorAll(".now").forEach((one) => one.classList.remove("now"));
    this.now = null;
  }

  score(segment, relevance) {
    const found = this.segments.get(segment);
    if (!found) return;
    found.relevance = relevance.toFixed(3);
    for (const one of this.element.querySelectorAll(`[data-segment="${segment}"]`)) one.style.setProperty("--r", found.relevance);
  }

  // The character at the top of what is seen; pages without text have none of their own
  get top() {
    const at = this.element.scrollTop + this.element.offsetTop;
    const sheet = this.sheets.find(({ made }) => made.offsetTop + made.offsetHeight > at) ?? this.sheets.at(-1);
    const share = Math.max(0, (at - sheet.made.offsetTop) / sheet.made.offsetHeight);
    return Math.floor(sheet.start + share * (sheet.end - sheet.start));
  }

  set top(char) {
    const sheet = this.sheetAt(char), share = (char - sheet.start) / Math.max(1, sheet.end - sheet.start);
    this.element.scrollTop = sheet.made.offsetTop - this.element.offsetTop + Math.max(0, share) * sheet.made.offsetHeight;
  }

  // The page in the middle of what is seen, where a mark comes to stand; from 1
  get page() {
    const middle = this.element.scrollTop + this.element.offsetTop + this.element.clientHeight / 2;
    return 1 + Math.max(0, this.sheets.findLastIndex(({ made }) => made.offsetTop <= middle));
  }

  set page(number) {
    const sheet = this.sheets[Math.min(Math.max(1, number), this.sheets.length) - 1];
    this.element.scrollTop = sheet.made.offsetTop - this.element.offsetTop - 8;
  }

  sheetAt(char) {
    return this.sheets.find((one) => char < one.end) ?? this.sheets.at(-1);
  }

  // Draw what is near anew, as it has another size
  redraw() {
    const near = this.sheets.filter((one) => one.isNear);
    near.forEach((one) => this.draw(one, false));
    near.forEach((one) => this.draw(one, true));
  }

  // Mark spans of characters where they stand, without going there
  mark(spans) {
    const before = this.marked;
    this.marked = spans;
    for (const one of [...before, ...spans]) this.tintNear(one);
  }

  // Scroll to where characters stand on their page; returns the page
  async scrollTo(start, end) {
    const sheet = this.sheetAt(start);
    await this.write(sheet).catch(() => {});
    const boxes = this.boxes(sheet, start, end), probe = placed("b", boxes.length ? boxes.reduce(around) : { left: 0, right: 1, top: 0, bottom: 0.1 });
    sheet.made.append(probe);
    probe.scrollIntoView({ block: "center" });
    probe.remove();
    return sheet;
  }

  async go(spans, focus = true) {
    const marked = spans.map(([start, end]) => [start, Math.max(end, start + 1)]), [first] = marked;
    this.mark(marked);
    await this.write(this.sheetAt(first[0])).catch(() => {});
    if (this.marked !== marked) return;  // another place was wanted in the meantime
    const sheet = await this.scrollTo(...first);
    await this.draw(sheet, true);
    this.tintNear(first);
    if (focus) sheet.made.querySelector("mark:not(.also)")?.focus({ preventScroll: true });
  }
}

const around = (one, other) => ({
  left: Math.min(one.left, other.left), top: Math.min(one.top, other.top), right: Math.max(one.right, other.right), bottom: Math.max(one.bottom, other.bottom),
});

// Boxes of lines as one box a column: the cells of a row, and what is below them
const bars = (boxes) => boxes.reduce((found, box, at) => {
  const bar = found.at(-1), last = boxes[at - 1], isBeside = last && box.top < last.bottom && box.bottom > last.top;
  const goesOn = isBeside || (last && box.top >= last.top && box.left < bar.right && box.right > bar.left);
  return goesOn ? [...found.slice(0, -1), around(bar, box)] : [...found, box];
}, []);

function placed(tag, { left, top, right, bottom }, properties = {}, ...children) {
  const made = make(tag, properties, ...children);
  made.style.cssText = `left: ${100 * left}%; top: ${100 * top}%; width: ${100 * (right - left)}%; height: ${100 * (bottom - top)}%`;
  return made;
}
