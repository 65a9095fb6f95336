// The text of a document, its segments as they are read, in any order, and the margins beside them.
// Offsets are characters (code points) of the text; JavaScript counts UTF-16 units, so both are told apart.

const UNREAD = 16384;  // UTF-16 units of a block of text, about

export class Reader {
  // `map` is a strip as long as the text: what is read of it, the darker the more it matters
  constructor(element, map, judge) {
    Object.assign(this, { element, map, judge, judged: {}, segments: new Map(), margins: new Map(), told: new Map() });
  }

  show(document, judged = {}) {
    this.told.clear();
    this.clear(document, judged);
  }

  clear(document, judged) {
    this.document = document;
    this.judged = judged;
    this.segments.clear();
    this.margins.clear();
    this.map.replaceChildren();
    this.anew = false;
    this.wide = [];  // where characters of two units stand
    let at = 0;
    for (const c of document.text) {
      if (c.length === 2) this.wide.push(at);
      at += 1;
    }
    this.blocks = [];  // divs that end with lines; the browser draws those alone that are in view
    for (let start = 0; start < document.text.length;) {
      const end = this.lineEnd(start + UNREAD);
      const made = window.document.createElement("div");
      made.className = "block";
      const block = { made, start, end, parts: [this.unread(start, end)] };
      made.append(block.parts[0].made);
      estimate(made);
      this.blocks.push(block);
      start = end;
    }
    this.element.replaceChildren(...this.blocks.map((one) => one.made));
  }

  // Parts of a block are what is read, a segment each, and what is not; units [start, end)
  unread(start, end) {
    const made = window.document.createElement("span");
    made.className = "unread";
    made.textContent = this.document.text.slice(start, end);
    return { made, start, end, read: false };
  }

  // Where the line ends that unit number `at` is in, and one that does not end is cut, between characters
  lineEnd(at) {
    const { text } = this.document;
    const end = text.indexOf("\n", at) + 1;
    if (end && end <= at + UNREAD) return end;
    const cut = Math.min(at + UNREAD, text.length);
    return /[\ud800-\udbff]/.test(text[cut - 1]) ? cut + 1 : cut;
  }

  unit(at) {
    let low = 0, high = this.wide.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.wide[middle] < at) low = middle + 1;
      else high = middle;
    }
    return at + low;
  }

  slice(start, end) {
    return this.document.text.slice(this.unit(start), this.unit(end));
  }

  read(event, follow) {
    if (this.anew) this.clear(this.document, this.judged);  // a question answered again without reading keeps all
    if (this.segments.has(event.segment)) return;
    const [start, end] = event.chars;
    const made = window.document.createElement("span");
    made.className = "segment";
    this.put(made, this.unit(start), this.unit(end));
    this.element.querySelector(".now")?.classList.remove("now");
    made.classList.add("now");
    this.segments.set(event.segment, { made, start, end, spot: this.spot(event.segment, start, end) });
    // A margin that is judged stays, though none may be written for a segment that is rejected
    if (this.told.has(event.segment) && event.segment in this.judged) this.margin(this.told.get(event.segment));
    if (follow) made.scrollIntoView({ block: "nearest" });
  }

  // Where a segment stands in the whole
  spot(segment, start, end) {
    const spot = window.document.createElement("i"), share = (units) => `${(100 * units) / this.document.text.length}%`;
    spot.style.left = share(this.unit(start));
    spot.style.width = share(this.unit(end) - this.unit(start));
    spot.onclick = () => this.segments.get(segment)?.made.scrollIntoView({ block: "center" });
    this.map.append(spot);
    return spot;
  }

  // Have the segment stand in the place of its text, which was unread; segments come in any order
  put(made, start, end) {
    let low = 0, high = this.blocks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.blocks[middle].start <= start) low = middle;
      else high = middle - 1;
    }
    const block = this.blocks[low];
    if (!block) return;
    this.reach(low, end);
    const at = block.parts.findIndex((one) => !one.read && one.end > start && one.start < end);
    if (at < 0) {  // another segment has shown all of it
      (block.parts.find((one) => one.end > start) ?? block.parts.at(-1)).made.before(made);
      return;
    }
    const old = block.parts[at], [from, to] = [Math.max(start, old.start), Math.min(end, old.end)];
    made.textContent = this.document.text.slice(from, to);
    const parts = [{ made, start: from, end: to, read: true }];
    if (old.start < from) parts.unshift(this.unread(old.start, from));
    if (to < old.end) parts.push(this.unread(to, old.end));
    old.made.replaceWith(...parts.map((one) => one.made));
    block.parts.splice(at, 1, ...parts);
    if (block.end - block.start > 2 * UNREAD && block.parts.length > 1) this.split(low);
  }

  // Make two blocks of one, between parts: near the middle, where a line ends if one does
  split(number) {
    const block = this.blocks[number], { text } = this.document, middle = (block.start + block.end) / 2;
    const cost = ({ end }) => Math.abs(end - middle) + (text[end - 1] === "\n" ? 0 : UNREAD);
    const best = block.parts.slice(0, -1).reduce((one, other) => (cost(other) < cost(one) ? other : one));
    const parts = block.parts.splice(block.parts.indexOf(best) + 1);
    const made = window.document.createElement("div");
    made.className = "block";
    const margin = parts[0].made.previousElementSibling;
    const moved = window.document.createRange();
    moved.setStartBefore(margin?.matches("aside") ? margin : parts[0].made);
    moved.setEndAfter(block.made.lastChild);
    made.append(moved.extractContents());
    block.made.after(made);
    this.blocks.splice(number + 1, 0, { made, start: best.end, end: block.end, parts });
    block.end = best.end;
    [block.made, made].forEach(estimate);
  }

  // Have a block reach to the end of the line that unit `to` is in, with parts of the next ones
  reach(number, to) {
    const block = this.blocks[number], { text } = this.document;
    const lineEnd = (at) => (text[at - 1] === "\n" ? at : this.lineEnd(at));
    if (block.end >= to) return;
    for (let target = lineEnd(to); block.end < target;) {
      const next = this.blocks[number + 1], part = next.parts[0];
      if (part.read && block.end >= to && block.end - block.start > 2 * UNREAD) break;  // of a line that hardly ends
      let moved = part;
      if (!part.read && part.end > target) {
        moved = this.unread(part.start, target);
        part.start = target;
        part.made.textContent = text.slice(target, part.end);
      } else {
        next.parts.shift();
        if (part.read) target = Math.max(target, lineEnd(part.end));
      }
      const margin = moved.made.previousElementSibling, last = block.parts.at(-1);
      if (!moved.read && !last.read) {
        moved.made.remove();
        last.end = moved.end;
        last.made.textContent = text.slice(last.start, last.end);
      } else {
        block.made.append(...(margin?.matches("aside") ? [margin] : []), moved.made);
        block.parts.push(moved);
      }
      block.end = next.start = moved.end;
      if (!next.parts.length) this.blocks.splice(number + 1, 1)[0].made.remove();
      else estimate(next.made);
    }
    estimate(block.made);
  }

  // Nothing is read any more
  rest() {
    this.element.querySelector(".now")?.classList.remove("now");
  }

  score(segment, relevance) {
    const found = this.segments.get(segment);
    for (const one of found ? [found.made, found.spot] : []) one.style.setProperty("--r", relevance.toFixed(3));
  }

  place(one) {
    if (one.page !== null) return `page ${one.page}`;
    const where = one.line ? `line ${one.line}` : "characters " + (one.quote ?? one.chars).join("–");
    return [one.section, where].filter(Boolean).join(", ");
  }

  margin(event) {
    const found = this.segments.get(event.segment);
    if (!found || !event.text) return;
    this.told.set(event.segment, event);
    this.margins.get(event.segment)?.made.remove();
    const made = window.document.createElement("aside");
    made.className = "margin";
    made.setAttribute("aria-label", `Margin, ${this.place(event)}`);
    const quote = window.document.createElement("button");
    Object.assign(quote, { type: "button", className: "link", textContent: event.quote ? `“${event.text}”` : event.text });
    quote.onclick = () => this.go(event.segment, event.quote ?? event.chars, event.chars);
    const place = window.document.createElement("p");
    place.className = "faint";
    place.textContent = `${this.place(event)} · ${Math.round(event.relevance * 100)}%`;
    const row = window.document.createElement("p");
    const titles = [["The answer shall draw on this margin", true], ["The answer shall not draw on this margin", false]];
    const [good, bad] = titles.map(([title, accepted]) => {
      const thumb = window.document.createElement("button");
      Object.assign(thumb, { type: "button", title, className: accepted ? "up" : "down" });
      thumb.append(hand());
      thumb.setAttribute("aria-label", title);
      thumb.onclick = () => this.judge(event.segment, this.judged[event.segment] === accepted ? null : accepted);
      return thumb;
    });
    row.append(good, " ", bad);
    made.append(place, quote, row);
    found.made.before(made);
    this.margins.set(event.segment, { made, good, bad, relevant: event.relevant });
    this.mark(event.segment);
  }

  // Show the reader's verdict on a margin
  mark(segment) {
    const found = this.margins.get(segment);
    if (!found) return;
    const verdict = this.judged[segment];
    found.good.setAttribute("aria-pressed", verdict === true);
    found.bad.setAttribute("aria-pressed", verdict === false);
    found.made.classList.toggle("rejected", verdict === false);
    found.made.classList.toggle("relevant", verdict ?? found.relevant);
  }

  // The same for characters of whichever segment they stand in
  goTo(chars) {
    for (const [segment, { start, end }] of this.segments) {
      if (start <= chars[0] && chars[0] < end) return this.go(segment, chars);
    }
  }

  // Scroll to characters of a segment, and highlight exactly these
  go(segment, [start, end]) {
    const old = this.element.querySelector("mark");
    if (old) {
      const parent = old.parentNode;
      old.replaceWith(old.textContent);
      parent.normalize();
    }
    const found = this.segments.get(segment);
    if (!found) return;
    const [from, to] = [Math.max(start, found.start), Math.min(end, found.end)];
    const mark = window.document.createElement("mark");
    mark.tabIndex = -1;
    mark.textContent = this.slice(from, to);
    found.made.replaceChildren(this.slice(found.start, from), mark, this.slice(to, found.end));
    mark.scrollIntoView({ block: "center" });
    mark.focus({ preventScroll: true });
  }
}

// What a block will be high, for the scroll bar, until the browser has drawn it
function estimate(block) {
  const lines = block.textContent.split("\n").reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / 90)), 0);
  block.style.containIntrinsicSize = `auto ${Math.round(1.6 * lines)}rem`;
}

// A thumb, as a drawing: not every machine has a font with one
function hand() {
  const space = "http://www.w3.org/2000/svg";
  const [drawing, path] = ["svg", "path"].map((name) => window.document.createElementNS(space, name));
  drawing.setAttribute("viewBox", "0 0 16 16");
  drawing.setAttribute("aria-hidden", "true");
  path.setAttribute("d", "M1 7h3v7H1zM5 7l3-6c1.2 0 1.9.9 1.6 2L9 6h4.2c1 0 1.6.9 1.3 1.8l-1.6 5c-.2.7-.8 1.2-1.6 1.2H5z");
  drawing.append(path);
  return drawing;
}
