// The conversation about what is asked: the documents and the library that are ticked, or the document that is open.
// One card a question; those of before are loaded with it. One card is the one whose passages stand on the desk.

import { api, Watch } from "./api.js";
import { Card } from "./card.js";
import { $, alertOf, doing, make, quietly, removable, span } from "./dom.js";

export const SUMMARY = "A summary of the document";
const SHOWN = 50;  // cards of before; all that was found comes with those that are near
const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

export class Thread {
  // `desk` shows what is read: shown(card), go(card, place), told(card, event), idOf(question, name, at), changed(), machine()
  constructor(shelf, desk) {
    Object.assign(this, { shelf, desk, cards: [], current: null, about: null, gone: new Set(), follows: false });
    const near = (seen) => seen.forEach((one) => one.isIntersecting && this.load(this.cards.find((card) => card.element === one.target)));
    this.near = new IntersectionObserver(near, { root: $("thread"), rootMargin: "400px" });
    setInterval(() => this.cards.forEach((card) => card.told.live && card.watch && card.later()), 1000);  // time goes by
    for (const type of ["wheel", "pointerdown", "keydown"]) $("thread").addEventListener(type, () => (this.follows = false), { passive: true });
  }

  // Have the thread be about what is asked now, with the cards of before; `question`: the one to stand at
  async show(question = null) {
    const { documents, library } = this.shelf.asked, about = { documents: [...documents].sort((one, other) => one - other), library };
    if (same(about, this.about) && !question) return;
    this.leave();
    this.about = about;
    if (!documents.length && !library) return this.draw();
    const of = documents.length ? `document=${documents[0]}` : `library=${encodeURIComponent(library)}`;
    const found = await api(`questions?${of}`);
    if (this.about !== about) return;  // somebody was faster
    const isOfThis = (one) => same({ documents: [...one.documents].sort((a, b) => a - b), library: one.library }, about) && !this.gone.has(one.id);
    const asked = found.filter(isOfThis).slice(0, SHOWN).reverse();
    this.cards = asked.map((one) => Object.assign(new Card(one, this.page), { isWhole: false }));
    for (const card of this.cards) { card.told.live = false; card.draw(); }
    this.draw();
    const at = this.cards.find((card) => card.id === question) ?? this.cards.at(-1);
    if (at) this.select(at);
    $("pattern").value = at?.told.question.options.pattern ?? "";
    this.follows = true;  // as those above it grow
    this.toEnd();
  }

  load(card) {
    if (card && !card.isWhole && !card.watch) this.watch(card);
  }

  leave() {
    this.cards.forEach((card) => card.watch?.close());
    this.near.disconnect();
    Object.assign(this, { cards: [], current: null, about: null });
    this.draw();
  }

  draw() {
    $("thread").replaceChildren(...this.cards.map((card) => card.element));
    this.cards.forEach((card) => this.near.observe(card.element));
    this.desk.changed();
  }

  // Put a card where it belongs; the others stay as they are scrolled
  put(card) {
    $("thread").insertBefore(card.element, this.cards[this.cards.indexOf(card) + 1]?.element ?? null);
    this.near.observe(card.element);
  }

  // Have the last card in view, from its question on
  toEnd() {
    const last = $("thread").lastElementChild;
    if (last) $("thread").scrollTop = last.offsetTop - $("thread").offsetTop - 16;
  }

  // What a card's buttons do
  get page() {
    return {
      select: (card) => this.select(card),
      go: quietly(async (card, one) => {
        await this.select(card, false);  // which may show another document
        await this.desk.go(card, one);
      }),
      judge: doing(async (card, segment, accepted) => {
        const question = await api(`questions/${card.id}/margins/${segment}`, { method: "PUT", body: { accepted } });
        card.told.judged = question.judged;
        card.draw();
      }),
      now: doing((card) => this.end(card, "answer-now", "Answering from what was checked")),
      stop: doing((card) => this.end(card, "cancel", "Stopping")),
      more: doing((card) => this.again(card, true)),
      again: doing((card) => this.again(card, false)),
      alone: doing(({ told }) => this.anew(told.question)),
      list: doing(({ told }) => this.anew(told.question, told.settled?.asked_as, "list")),
      summary: doing(({ told }) => this.anew(told.question, told.settled?.asked_as, "summary")),
      remove: (card) => this.remove(card),
      drawn: (card) => this.follows && card === this.cards.at(-1) && this.toEnd(),
    };
  }

  // Have a card be the one whose passages stand on the desk
  async select(card, isShown = true) {
    const isOther = this.current !== card;
    if (isOther) {
      this.current?.element.removeAttribute("aria-current");
      this.current = card;
      card.element.setAttribute("aria-current", "true");
    }
    this.load(card);
    if (isShown) this.desk.changed();
    if (isOther && card.isWhole) await this.desk.shown(card);
  }

  // All events of a question from the first one on, or from `last`: those of the past come at once
  watch(card, last = -1) {
    const { told } = card;
    if (last < 0) told.live = told.question.state === "waiting" || told.question.state === "running";
    const isNew = told.live;
    card.watch = new Watch(card.id, last, {
      onEvent: (event) => {
        card.tell(event, (name, at) => this.desk.idOf(told.question, name, at));
        if (card === this.current) this.desk.told(card, event);
        if (event.type === "reading.started" && isNew) this.desk.machine();
      },
      onLost: (lost) => ($("lost").hidden = !lost),
      onEnd: (ended) => {
        Object.assign(told, { live: false, stopping: "" });
        card.last = card.watch.last ?? last;
        Object.assign(card, { watch: null, isWhole: true });
        card.draw();
        this.desk.changed();
        if (isNew) this.desk.machine();
        else if (this.follows) this.toEnd();
        if (!ended) alertOf("The connection was lost. Reload the page to go on.");
      },
    });
  }

  // Ask what is typed, which stands there at once; the question before may be what it refers to
  async ask(body, before = this.cards.at(-1)) {
    const { about } = this, running = this.cards.find((card) => card.told.live && card.watch);
    const sent = make("li", { className: "card" }, make("div", { className: "head" }, span(body.question, "asked")));
    $("thread").append(sent);
    this.follows = true;
    this.toEnd();
    try {
      if (running?.told.answer) await api(`questions/${running.id}/cancel`, { method: "POST" });  // it checks on in the background
      const question = await api("questions", { method: "POST", body: { ...body, ...(before ? { follows: before.id } : {}) } });
      if (this.about !== about) return;  // another thread is shown, and this one will show it
      this.cards.push(new Card(question, this.page));
    } finally {
      sent.remove();
    }
    const card = this.cards.at(-1);
    this.put(card);
    this.select(card);
    this.desk.machine();
    this.toEnd();
  }

  // Ask a question once more, not as a follow-up
  anew({ documents, library, question, options }, asked = question, answer = options.answer) {
    return this.ask({ documents, library, question: asked, options: { ...options, answer } }, null);
  }

  async end(card, how, stopping) {
    const say = (text) => Object.assign(card.told, { stopping: text }) && card.draw();
    say(stopping);
    await api(`questions/${card.id}/${how}`, { method: "POST" }).catch((error) => {
      say("");
      throw error;
    });
  }

  // Answer once more: as passages are judged now, or after checking on
  async again(card, readOn) {
    if (card.watch) card.last = card.watch.last;
    card.watch?.close();
    const toTheEnd = readOn && ($("keep").checked || card.told.answer?.status === "not_found"), how = `read_on=${readOn}&to_the_end=${toTheEnd}`;
    const question = await api(`questions/${card.id}/again?${how}`, { method: "POST" });
    Object.assign(card.told, { question: { ...question, state: "running" }, live: true, readsOn: readOn, phase: "waiting", before: 0, warnings: [], error: null });
    if (!readOn) Object.assign(card.told, { answer: null, written: "" });
    this.select(card);
    this.watch(card, card.last);
    card.draw();
  }

  remove(card) {
    const at = this.cards.indexOf(card), { about } = this;
    this.gone.add(card.id);
    card.watch?.close();
    card.watch = null;
    this.cards = this.cards.filter((one) => one !== card);
    if (this.current === card) {
      this.current = null;
      if (this.cards.length) this.select(this.cards.at(-1));
      else this.desk.shown(null);
    }
    card.element.remove();
    this.desk.changed();
    removable(`“${card.told.question.question}”`, () => {
      this.gone.delete(card.id);
      if (this.about !== about) return;
      this.cards.splice(at, 0, card);
      this.put(card);
      this.select(card);
      card.element.scrollIntoView({ block: "nearest" });
    }, () => api(`questions/${card.id}`, { method: "DELETE", keepalive: true }));
  }
}

// Questions that a document's own headings and tables offer; of a row, the last figure: more likely asked than a word
export function offered({ text = "", marks = [], title = "" }) {
  const sections = [...new Set(marks.map((one) => one.section).filter((one) => one && one !== title && one.length < 60))];
  const third = Math.max(1, Math.floor(sections.length / 3)), found = sections.filter((_, at) => at && at % third === 0).slice(0, 2);
  const table = /^\|(.+)\n(?:\|[\s|:-]+\n)?(.*\|.*)/m.exec(text)?.slice(1) ?? ["", ""];
  const [labels, cells] = table.map((row) => row.replace(/^\s*\||\|\s*$/g, "").split("|").map((cell) => cell.trim()));
  const named = cells.findIndex((cell) => /^\p{L}/u.test(cell)), asked = labels.findLastIndex((label, at) => at !== named && label && /\d/.test(cells[at]));
  const ofTable = named >= 0 && asked >= 0 ? [{ question: `What is the “${labels[asked]}” of “${cells[named]}”?` }] : [];
  const [first, ...others] = [SUMMARY, ...found.map((section) => `A summary of “${section}”`)].map((question) => ({ question, kind: "summary" }));
  return [first, ...ofTable, ...others].slice(0, 3);
}
