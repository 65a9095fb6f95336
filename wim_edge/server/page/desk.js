// The document on the desk, as text or as its own pages, and above it the whole of it as a strip: what is read, the
// darker the more it matters, and a tick for each margin. Both views have the same methods.

import { $, make } from "./dom.js";
import { Pages } from "./pages.js";
import { Reader } from "./reader.js";

export class Desk {
  // `turned` is called where the reader wishes to see the other view
  constructor(turned) {
    Object.assign(this, { text: new Reader($("text")), pages: new Pages($("sheets")), spots: new Map(), asText: false });
    this.view = this.text;
    for (const [id, asText] of [["as-pages", false], ["as-text", true]]) {
      $(id).onclick = async () => {
        const { at } = this;
        this.asText = asText;
        await turned();
        if (at) await this.go(at);
      };
    }
  }

  // `document.sheets` are its pages, where they can be shown
  show(document) {
    this.document = document;
    this.anew = false;
    this.at = null;  // what is marked
    this.spots.clear();
    $("map").replaceChildren();
    const asPages = Boolean(document.sheets) && !this.asText;
    this.view = asPages ? this.pages : this.text;
    $("sheets").hidden = !asPages;
    $("text").hidden = asPages;
    $("views").hidden = !document.sheets;
    $("as-pages").setAttribute("aria-pressed", asPages);
    $("as-text").setAttribute("aria-pressed", !asPages);
    this.view.show(document);
  }

  read(event, follow) {
    if (this.anew) this.show(this.document);  // a question answered again without reading keeps all
    if (this.spots.has(event.segment)) return;
    this.view.read(event, follow);
    const [start, end] = event.chars;
    this.spots.set(event.segment, this.spot("i", start, end, () => this.view.reveal(event.segment)));
  }

  // Something in its place on the strip
  spot(tag, start, end, onclick = null) {
    const share = (chars) => `${(100 * chars) / Math.max(1, this.document.chars)}%`;
    const made = make(tag, { onclick });
    made.style.left = share(start);
    if (end > start) made.style.width = share(end - start);
    $("map").append(made);
    return made;
  }

  score(segment, relevance) {
    this.spots.get(segment)?.style.setProperty("--r", relevance.toFixed(3));
    this.view.score(segment, relevance);
  }

  // A tick for characters that matter; once for each segment
  tick(segment, [start]) {
    const spot = this.spots.get(segment);
    if (!spot || spot.tick) return;
    spot.tick = this.spot("b", start, start);
  }

  // Nothing is read any more
  rest() {
    this.view.rest();
  }

  // Scroll to characters, of a segment where one is named, and mark exactly these
  async go(chars, segment) {
    this.at = chars;
    await this.view.go(chars, segment);
  }
}
