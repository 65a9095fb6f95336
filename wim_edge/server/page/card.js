// A card: one question with its answer. `draw` brings it up to date with its state (told.js); what has not changed is
// left alone, so that the keyboard's place and what is unfolded stay.

import { areFigures, button, fill, item, make, place, plain, show, span } from "./dom.js";
import { advice, bare, begin, columns, details, elapsed, headline, isBusy, isChanged, isItem, line, markdown, others, own, pairs, quotation, quoted, quoteOf, sectionOf, share, state, tell, together, word } from "./told.js";

export class Card {
  // `page` does what the card's buttons ask for: go, judge, now, stop, more, again, alone, list, summary, remove, select
  constructor(question, page) {
    Object.assign(this, { page, id: question.id, told: begin(question), at: null });
    this.build();
    this.draw();
  }

  tell(event, idOf) {
    tell(this.told, event, idOf);
    this.later();
  }

  // Draw once for all that happens until the next frame
  later() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.draw();
      this.page.drawn(this);
    });
  }

  build() {
    const { question } = this.told, { page } = this, part = (tag, className, ...children) => make(tag, { className }, ...children);
    const ask = (name) => () => page[name](this);
    this.parts = {
      asked: button(question.question, ask("select"), "asked link"), settled: part("p", "settled faint"), word: part("p", "word"),
      said: part("div", "said"), short: part("p", "short"), near: part("p", "minor", "Closest passages"), quotes: part("ul", "quotes"), advice: part("p", "advice"),
      bar: make("progress", { "aria-label": "Checking", max: 1 }), line: part("span", "sum"), elapsed: part("span", "time"),
      details: part("dl", "facts-list"), warnings: part("ul", "warnings"), others: part("ol", "passages"),
    };
    const { parts } = this, remove = button("×", ask("remove"), "quiet remove", `Remove the question ${question.question}`);
    parts.said.setAttribute("aria-live", "polite");
    parts.word.setAttribute("role", "status");
    this.moreFacts = make("details", { className: "more" }, make("summary", {}, "Details"), parts.details);
    this.moreFacts.ontoggle = () => this.moreFacts.open && this.moreFacts.scrollIntoView({ block: "nearest" });
    this.othersTitle = make("summary", {});
    this.othersBox = make("details", { className: "others" }, this.othersTitle, parts.others);
    this.acts = {
      now: button("Answer now", ask("now"), "now"), stop: button("Stop", ask("stop"), "stop"), more: button("Keep checking", ask("more"), "keep"),
      again: button("Answer again", ask("again"), "again"), alone: button("Ask as written", ask("alone"), "alone"), copy: button("Copy", () => this.copy(), "quiet copy"),
      list: button("Ask as a list", ask("list"), "quiet list"), summary: button("Ask as a summary", ask("summary"), "quiet summary"),
    };
    this.acts.copy.title = "Copy the answer with its citations";
    this.element = make("li", { className: "card" }, make("div", { className: "head" }, parts.asked, remove), parts.settled,
      make("div", { className: "answer" }, parts.word, parts.said, parts.short, parts.advice, parts.warnings, parts.near, parts.quotes, this.othersBox,
        parts.bar, part("div", "end", part("div", "foot", parts.line, parts.elapsed, this.moreFacts), part("div", "acts", ...Object.values(this.acts)))));
  }

  draw() {
    const { told, parts } = this, { answer, provisional, settled } = told;
    const isFound = answer && answer.status !== "not_found";
    this.element.dataset.state = state(told);
    show(parts.settled, settled && settled.asked_as !== settled.question ? `Asked as: ${settled.asked_as}` : "");
    show(parts.word, word(told));
    this.drawSaid();
    show(parts.short, headline(told));
    show(parts.advice, advice(told));
    const quotes = answer ? quoted(answer).filter((one) => !isItem(answer, one)) : provisional ? [provisional.quote] : [];
    parts.near.hidden = !answer || isFound || !quotes.length;
    fill(parts.quotes, together(quotes.map((one) => ({ ...one, titles: told.titles.size })), answer?.query), (found) => (found.length > 1 ? this.rows(found) : this.quote(found[0])));
    this.drawOthers();
    fill(parts.warnings, told.warnings, (one) => item(one));
    const done = share(told);
    parts.bar.hidden = done === undefined;
    done == null ? parts.bar.removeAttribute("value") : (parts.bar.value = done);
    show(parts.line, line(told));
    show(parts.elapsed, elapsed(told));
    fill(parts.details, details(told), ([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value)));
    this.moreFacts.hidden = !answer && !told.plan;
    this.drawActs();
  }

  // The answer itself: large where it is short, a list as a list
  drawSaid() {
    const { told, parts } = this, { answer, error, provisional, written, question } = told;
    const text = error ? `${error.message}. ${error.hint}` : answer?.status === "not_found" && (isBusy(told) || answer.has_more) ? "Nothing found so far." : answer ? own(answer) : provisional ? provisional.short : written || (told.live ? "" : question.short || (question.answer ?? ""));
    parts.said.classList.toggle("large", Boolean(answer?.short && answer.status !== "not_found" && text.length <= 120));
    fill(parts.said, [{ text, isWhole: Boolean(answer), cites: answer?.sources?.length > 1 && text === answer.text ? answer.citations : [] }], (one) => this.said(one));
  }

  said({ text, cites }) {
    const made = make("div", {}), { quotes = [] } = this.told.answer ?? {}, inOne = sectionOf(this.told.answer);
    const left = quotes.filter((one, at) => at || !quotes.slice(1).some((other) => other.document === one.document && other.chars[0] === one.chars[0]));
    for (const part of cites.length ? [text] : text.split(/\n\n+/)) {
      const lines = part.split("\n"), items = lines.filter((one) => one.startsWith("- "));
      if (items.length) {
        const before = lines.filter((one) => !one.startsWith("- ")).join("\n").replace(/( \([^()]*\))?:$/, "").replace(/^[\d,]+ found$/, "");
        made.append(...(before ? [make("p", {}, before)] : []), make("ul", { className: "items" }, ...items.map((one) => this.item(one.slice(2), left, inOne))), ...(inOne && quoted(this.told.answer).every((one) => isItem(this.told.answer, one)) ? [this.place(inOne)] : []));
      } else {
        const quote = quoteOf({ quotes: this.told.answer?.quotes?.filter((one) => plain(part) === `“${plain(one.text)}”`) }, part);
        made.append(quote ? this.quote(quote, "div") : make("p", {}, ...(cites.length ? this.cited(part, cites) : [part])));
      }
    }
    return made;
  }

  // An item leads to the quotation that holds it, or that it holds: of equal items, each to its own of those `left`.
  // `inOne`: where all items stand, which is said once below them
  item(text, left, inOne) {
    const own = left.indexOf(quoteOf({ quotes: left }, text)), quote = own < 0 ? quoteOf(this.told.answer ?? {}, text) : left.splice(own, 1)[0];
    if (!quote) return make("li", {}, text);
    const at = this.place({ ...quote, section: text.startsWith(quote.section) ? null : quote.section });  // not said again
    return make("li", {}, button(bare(text, quote), () => this.page.go(this, quote), "link"), ...(inOne ? [] : [" ", at]));
  }

  // The number of the source stands behind each sentence that one carries
  cited(text, cites) {
    const { sources } = this.told.answer, chars = [...text], made = [];
    let at = 0;
    for (const [end, number] of cites) {
      const cite = button(String(number + 1), () => this.page.go(this, sources[number]), "cite", `Source ${number + 1}: ${this.where(sources[number])}`);
      made.push(chars.slice(at, end).join(""), cite);
      at = end;
    }
    return [...made, chars.slice(at).join("")];
  }

  // A quotation, and its place below it: both lead there
  quote(one, tag = "li") {
    const open = button("", () => this.page.go(this, one), "link quoted"), cells = pairs(one)?.filter(([, cell]) => cell);
    open.append(...(cells ? cells.flatMap(([label, cell], at) => [at ? " · " : "", span(label && `${label}: `, "label"), cell]) : [quotation(one)]));
    return make(tag, { className: "quotation" }, open, this.place(one));
  }

  // Rows of a table as a table: each leads to its place
  rows(found) {
    const cells = found.map((one) => pairs(one).map(([, cell]) => cell)), shown = columns(found[0], this.told.answer.query);
    const figures = shown.filter((at) => areFigures(cells.map((row) => row[at])));
    const line = (row, tag) => make("tr", {}, ...shown.map((at) => make(tag, { className: figures.includes(at) ? "figure" : "" }, row[at] ?? "")));
    const body = found.map((one, row) => line(cells[row].map((cell, at) => (at ? cell : button(cell || "–", () => this.page.go(this, one), "link", `${cell}, ${this.where(one)}`))), "td"));
    const table = make("table", {}, make("thead", {}, line(pairs(found[0]).map(([label]) => label), "th")), make("tbody", {}, ...body));
    return make("li", { className: "quotation" }, make("div", { className: "table" }, table), this.place({ ...found[0], rows: found.length < 4 && found.map((one) => one.row).filter(Boolean).join(", "), row: null, line: null }));
  }

  place(one) {
    return Object.assign(button(this.where(one), () => this.page.go(this, one), "place"), { tabIndex: -1 });
  }

  where(one) {
    const { titles, names } = this.told;
    return [names.size > 1 || titles.size > 1 ? titles.get(one.document) ?? one.document : "", place(one)].filter(Boolean).join(", ") || "in the text";
  }

  drawOthers() {
    const { told, parts } = this, found = others(told), { judged } = told;
    this.othersBox.hidden = !found.length;
    this.othersTitle.textContent = `${told.answer && quoted(told.answer).length ? "Other passages" : "Passages"} (${found.length})`;
    fill(parts.others, found.map(({ segment, text, document, page, line, section, row, quote, chars }) => (
      { segment, text, document, page, line, section, row, quote, chars, judged: judged[segment] ?? null, at: segment === this.at })), (one) => this.passage(one));
  }

  passage(one) {
    const open = button(one.quote ? quotation(one) : one.text || this.where(one), () => this.select(one.segment), "link quoted");
    const [use, ignore] = [["Use", true], ["Ignore", false]].map(([label, accepted]) => {
      const made = button(label, () => this.page.judge(this, one.segment, one.judged === accepted ? null : accepted), "quiet", `${label} this passage`);
      made.setAttribute("aria-pressed", one.judged === accepted);
      return made;
    });
    const made = make("li", { className: "passage" }, open, make("div", { className: "row" }, span(this.where(one), "where"), use, ignore));
    made.classList.toggle("ignored", one.judged === false);
    made.classList.toggle("at", one.at);
    return made;
  }

  drawActs() {
    const { told, acts } = this, busy = isBusy(told), rest = !busy && Boolean(told.answer);
    acts.now.hidden = !busy || Boolean(told.answer) || !["reading", "comparing"].includes(told.phase) || !(told.passages.size || told.nRead > 1);
    acts.stop.hidden = !busy;
    acts.now.disabled = acts.stop.disabled = Boolean(told.stopping);
    acts.stop.textContent = told.answer ? "Stop checking" : "Stop";
    acts.more.hidden = !rest || !told.answer.has_more;
    acts.again.hidden = !rest || !isChanged(told);
    acts.alone.hidden = busy || this.parts.settled.hidden;
    acts.copy.hidden = !told.answer?.text;
    acts.list.hidden = acts.summary.hidden = !rest || told.answer.status === "answered" || Boolean(told.question.options.answer);
  }

  // Go to a passage, which j and k go on from
  select(segment) {
    const one = others(this.told).find((found) => found.segment === segment);
    this.at = segment;
    this.othersBox.open = true;
    this.draw();
    this.page.go(this, one);
  }

  step(by) {
    const found = others(this.told), at = found.findIndex((one) => one.segment === this.at);
    if (found.length) this.select(found[at < 0 ? (by > 0 ? 0 : found.length - 1) : (at + by + found.length) % found.length].segment);
  }

  judgeAt(accepted) {
    if (this.at !== null) this.page.judge(this, this.at, this.told.judged[this.at] === accepted ? null : accepted);
  }

  async copy() {
    await navigator.clipboard.writeText(markdown(this.told));
    this.acts.copy.textContent = "Copied";
    setTimeout(() => (this.acts.copy.textContent = "Copy"), 1500);
  }
}
