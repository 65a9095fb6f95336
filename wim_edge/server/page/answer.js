// The answer in its parts: the short one, the quotation that carries it, what it draws on; and how it leaves the page.

import { $, button, item, make, percent, place, span } from "./dom.js";

const plain = (text) => text.split(/\s+/).join(" ");

// What is said above an answer; `setAside`: the reader has rejected a margin
function verdict({ status, read_segments, segments }, documents, setAside) {
  if (status !== "not_found") return status === "unsure" ? "Unsure" : "";
  if (setAside) return read_segments < segments ? "Nothing else that was read answers it" : "Nothing else answers it than what you set aside";
  return `Not in the document${documents > 1 ? "s" : ""}${read_segments < segments ? ", as far as was read" : ""}`;
}

export class Answer {
  // `go(document, chars, segment)` leads to a place
  constructor(go) {
    this.go = go;
    $("copy").onclick = async () => {
      await navigator.clipboard.writeText(this.markdown());
      $("copy").textContent = "Copied";
      setTimeout(() => ($("copy").textContent = "Copy with citations"), 1500);
    };
    $("save").onclick = () => {
      const data = new Blob([JSON.stringify({ question: this.question, ...this.event }, null, 2)], { type: "application/json" });
      const name = this.question.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").slice(0, 60) || "answer";
      const link = make("a", { href: URL.createObjectURL(data), download: `${name}.json` });
      link.click();
      URL.revokeObjectURL(link.href);
    };
  }

  clear() {
    this.event = null;
    delete $("answer").dataset.status;
    for (const id of ["verdict", "short", "text-of-answer", "status"]) $(id).textContent = "";
    $("text-of-answer").className = "";
    for (const id of ["so-far", "verdict", "short", "status", "quotes-title", "sources-title", "export", "answer"]) $(id).hidden = true;
    $("quotes").replaceChildren();
    $("sources").replaceChildren();
  }

  // The short answer while the reading goes on, until the answer takes its place
  provisional({ short, quote }) {
    $("answer").hidden = $("so-far").hidden = false;
    $("so-far").replaceChildren("So far: ", button(short, () => this.go(quote.document, quote.chars), "link"));
  }

  write(text) {
    $("answer").hidden = false;
    $("so-far").hidden = true;
    $("text-of-answer").textContent += text;
  }

  // Answers of older versions have a text alone
  show(event, question, titles, setAside) {
    this.clear();
    Object.assign(this, { event, question, titles });
    const { text, status = "answered", short = "", quotes = [], unsupported = [], sources = [] } = event;
    $("answer").hidden = !text;
    $("answer").dataset.status = status;
    $("verdict").textContent = verdict(event, titles.size, setAside);
    $("verdict").hidden = !$("verdict").textContent;
    const shown = this.own(), pointed = shown.endsWith(short) || shown === `${short}.`;
    $("text-of-answer").replaceChildren(...(shown === text ? this.cited() : [shown]));
    $("text-of-answer").className = short && pointed && status !== "not_found" ? "short" : "";
    $("short").textContent = short;
    $("short").hidden = !short || pointed || quotes.some((one) => plain(one.text) === plain(short)) || status === "not_found" || shown.includes("\n- ");
    const notes = [
      ...(status === "unsure" ? ["It may be another: see whether the quotation says so."] : []),
      ...(unsupported.length ? [`In no passage: ${unsupported.join(", ")}`] : []),
    ];
    $("status").textContent = notes.join(" ");
    $("status").hidden = !notes.length;
    // Those that the text carries: of a summary there are several
    const found = status === "not_found" ? quotes.slice(0, 3) : quotes.filter((one, at) => !at || this.carries(text, one));
    $("quotes-title").hidden = status !== "not_found" || !found.length;
    $("quotes").replaceChildren(...found.map((one) => {
      const row = this.labelled(one), said = row ?? `“${one.text}”`;
      const made = item(button(said, () => this.go(one.document, one.chars), "link quoted"), span(this.where(one), "where"));
      if (one.header && !row) made.prepend(span(one.header, "where header"));
      return made;
    }));
    const others = sources.filter((one) => !found.some((quote) => plain(quote.text) === plain(one.margin)));
    $("sources-title").hidden = !others.length;
    $("sources-title").textContent = status === "not_found" ? "Looked at" : "Also drawn on";
    $("sources").replaceChildren(...others.map((one) => {
      const open = button(one.quote ? `“${one.margin}”` : one.margin || this.where(one), () => this.go(one.document, one.quote ?? one.chars, one.segment), "link quoted");
      const where = one.margin ? `${this.where(one)} · ` : "";
      const made = item(open, span(`${where}${percent(one.relevance)}`, "where"));
      made.style.counterSet = `source ${1 + sources.indexOf(one)}`;  // the number that the text cites it by
      return made;
    }));
    $("export").hidden = !text;
  }

  // The text without the quotations that stand below it
  own() {
    const { text, quotes = [] } = this.event;
    const carries = (paragraph) => quotes.some((one) => this.carries(paragraph, one) || this.labelled(one) === paragraph);
    return text.split("\n\n").filter((paragraph) => !carries(paragraph)).join("\n\n") || text;
  }

  // The paragraph of the answer that tells a row of a table by its labels, if there is one
  labelled({ text, header }) {
    const cells = header ? text.split(/\s*(?<!\\)\|\s*|\t/).filter(Boolean) : [];
    return cells.length ? this.event.text.split("\n\n").find((one) => one.includes(" · ") && cells.every((cell) => one.includes(cell))) : undefined;
  }

  carries(text, quote) {
    return plain(text).includes(`“${plain(quote.text)}”`);
  }

  // The text, with the number of the source after each sentence that one carries
  cited() {
    const { text, citations = [], sources } = this.event, chars = [...text], made = [];
    let at = 0;
    for (const [end, number] of sources.length > 1 ? citations : []) {
      const one = sources[number], cite = button(String(number + 1), () => this.go(one.document, one.quote ?? one.chars, one.segment), "cite");
      cite.setAttribute("aria-label", `Source ${number + 1}: ${this.where(one)}`);
      made.push(chars.slice(at, end).join(""), cite);
      at = end;
    }
    return [...made, chars.slice(at).join("")];
  }

  where(one) {
    return [this.titles.size > 1 ? this.titles.get(one.document) : "", place(one)].filter(Boolean).join(", ");
  }

  quotation() {
    $("quotes").querySelector("button")?.click();
  }

  markdown() {
    const { text, status, quotes = [], sources = [] } = this.event, isFound = status !== "not_found";
    const cited = [...quotes.map((one) => [one, one.text]), ...sources.map((one) => [one, one.quote && one.margin])].filter(([, said]) => said);
    const seen = new Set(), notes = [];
    for (const [one, said] of cited) {
      if (seen.has(plain(said))) continue;
      seen.add(plain(said));
      notes.push(`${notes.length + 1}. “${plain(said)}” (${[this.titles.get(one.document), place(one)].filter(Boolean).join(", ")})`);
    }
    const own = this.own(), said = isFound && notes.length && own !== text ? `${own} [1]` : own;
    return [`**${this.question}**`, said, isFound || !notes.length ? "" : "Nearest passages:", notes.join("\n")].filter(Boolean).join("\n\n") + "\n";
  }
}
