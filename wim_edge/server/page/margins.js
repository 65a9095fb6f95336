// The margins of a question: a list in the document's order, judged in place.

import { $, make, button, percent, place } from "./dom.js";

export class Margins {
  // `go(margin)` leads to its characters, `judge(segment, accepted)` tells the server
  constructor({ go, judge }) {
    Object.assign(this, { go, judge, found: new Map(), judged: {}, at: null });
    $("next").onclick = () => this.step(1);
    $("previous").onclick = () => this.step(-1);
  }

  clear(judged = {}) {
    this.judged = this.answered = judged;
    this.found.clear();
    this.at = null;
    this.draw();
  }

  // The text is read anew: margins stay where the reader has judged them, though none may be written again
  anew() {
    for (const segment of this.found.keys()) if (!(segment in this.judged)) this.found.delete(segment);
    this.draw();
  }

  add(event) {
    if (!event.text) return;
    this.found.set(event.segment, { ...event });
    this.draw();
  }

  // What a segment is worth now, and whether the answer draws on it, where that is known
  score(segment, relevance, chosen) {
    const margin = this.found.get(segment);
    if (!margin) return;
    margin.relevance = relevance;
    if (chosen !== undefined) margin.relevant = chosen;
    this.show(margin);
  }

  get ordered() {
    return [...this.found.values()].sort((one, other) => one.segment - other.segment);
  }

  draw() {
    const margins = this.ordered;
    $("margins").hidden = !margins.length;
    $("margin-list").replaceChildren(...margins.map((one) => this.made(one)));
    this.count();
  }

  count() {
    const margins = this.ordered, at = margins.findIndex((one) => one.segment === this.at);
    $("count").textContent = at < 0 ? `${margins.length}` : `${at + 1} of ${margins.length}`;
    $("next").disabled = $("previous").disabled = !margins.length;
    for (const one of margins) one.made.classList.toggle("at", one.segment === this.at);
  }

  made(margin) {
    const text = margin.quote ? `“${margin.text}”` : margin.text;
    const quote = button(text, () => this.select(margin.segment), "link quoted");
    const [up, down] = [["The answer shall draw on this margin", true], ["The answer shall not draw on this margin", false]]
      .map(([title, accepted]) => {
        const thumb = button("", () => this.verdict(margin.segment, accepted), accepted ? "up" : "down");
        thumb.title = title;
        thumb.setAttribute("aria-label", title);
        thumb.append(hand());
        return thumb;
      });
    const where = make("span", { className: "where" });
    margin.made = make("li", { className: "margin" }, quote, make("div", { className: "row" }, where, up, down));
    Object.assign(margin, { up, down, where });
    this.show(margin);
    return margin.made;
  }

  show(margin) {
    const verdict = this.judged[margin.segment];
    margin.where.textContent = [margin.title, place(margin), percent(margin.relevance)].filter(Boolean).join(" · ");
    margin.up.setAttribute("aria-pressed", verdict === true);
    margin.down.setAttribute("aria-pressed", verdict === false);
    margin.made.style.setProperty("--r", margin.relevance.toFixed(3));
    margin.made.classList.toggle("rejected", verdict === false);
    margin.made.classList.toggle("relevant", verdict ?? margin.relevant);
  }

  // The reader has judged otherwise since the answer
  get isChanged() {
    return JSON.stringify(this.judged) !== JSON.stringify(this.answered);
  }

  get setAside() {
    return Object.values(this.judged).includes(false);
  }

  mark(judged) {
    this.judged = judged;
    this.found.forEach((one) => this.show(one));
  }

  verdict(segment, accepted) {
    this.judge(segment, this.judged[segment] === accepted ? null : accepted);
  }

  select(segment) {
    this.at = segment;
    this.count();
    const margin = this.found.get(segment);
    margin.made.scrollIntoView({ block: "nearest" });
    this.go(margin);
  }

  // Have the next and the previous margin be those beside a place that was gone to
  stand(segment, [start], isThere) {
    const at = (one) => isThere(one) && one.chars[0] <= start && start < one.chars[1];
    const found = this.found.get(segment) ?? this.ordered.find(at);
    if (!found) return;
    this.at = found.segment;
    this.count();
  }

  step(by) {
    const margins = this.ordered, at = margins.findIndex((one) => one.segment === this.at);
    if (!margins.length) return;
    const to = at < 0 ? (by > 0 ? 0 : margins.length - 1) : (at + by + margins.length) % margins.length;
    this.select(margins[to].segment);
  }
}

// A thumb, as a drawing: not every machine has a font with one
function hand() {
  const space = "http://www.w3.org/2000/svg";
  const [drawing, path] = ["svg", "path"].map((name) => document.createElementNS(space, name));
  drawing.setAttribute("viewBox", "0 0 16 16");
  drawing.setAttribute("aria-hidden", "true");
  path.setAttribute("d", "M1 7h3v7H1zM5 7l3-6c1.2 0 1.9.9 1.6 2L9 6h4.2c1 0 1.6.9 1.3 1.8l-1.6 5c-.2.7-.8 1.2-1.6 1.2H5z");
  drawing.append(path);
  return drawing;
}
