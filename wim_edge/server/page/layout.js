// A document's text as it was meant: pages, headings, rows of tables, and lines that a PDF broke joined again. The text
// keeps its length, so that every offset still leads to its character.

const SOFT_HYPHEN = "\u00ad", NO_BREAK = "\u200b";
const LIST = /^\s*(?:[-*•‣◦–]|\(?\d{1,3}[.)]|\d{1,3}(?:\.\d{1,3})+[.)]?|\(?[a-z][.)])\s/;
const OF_CONTENTS = /(?:\.\s?){4,}\s*(?:\d+|[ivxl]+)\s*$/;

// -> { text, marks }: what is shown, and [{ start, end, kind, label }] in UTF-16 units, in their order, none in another
export function laidOut(document, unit) {
  const { file = "", marks = [] } = document, isMarkdown = /\.(md|markdown)$/i.test(file);
  const text = document.pages != null ? joined(document.text) : document.text;
  const found = [];
  let page = null, section = null;
  for (const mark of marks) {
    const start = unit(mark.start);
    if (mark.page !== page && mark.page != null) found.push({ start, end: start, kind: "page", label: `page ${mark.page}` });
    if (mark.section !== section && mark.section) {
      const end = lineEnd(text, start), line = text.slice(start, end).trim();
      if (!isMarkdown && line && line === mark.section.trim()) found.push({ start, end, kind: "heading", label: "2" });
    }
    ({ page, section } = mark);
  }
  const lines = isMarkdown ? /^(?:(#{1,6}) .+$|\|.*\|[ \t]*(?:\n|$))/gm : /^(?:\| )?[^\n|]+ \| [^\n]*(?:\n|$)/gm;
  for (const line of text.matchAll(lines)) {
    const level = line[1]?.length, end = line.index + line[0].length, isHead = !isMarkdown && line[0].startsWith("|");
    const kind = level ? "heading" : /^[\s|:-]+$/.test(line[0]) ? "hidden" : "row";
    found.push({ start: line.index, end, kind, label: level ? String(level) : isHead ? "head" : "" });
  }
  found.sort((one, other) => one.start - other.start || one.end - other.end);
  let last = 0;
  return { text, marks: found.filter((one) => (one.start >= last ? ((last = one.end), true) : false)) };
}

const lineEnd = (text, at) => {
  const end = text.indexOf("\n", at);
  return end < 0 ? text.length : end;
};

// What stands in a part, with the signs of Markdown put away: a heading's #, and what parts the cells of a row
export function contents(kind, text) {
  const hidden = kind === "heading" ? /^#{1,6} / : kind === "row" ? /\s*\|\s*|\n/ : null;
  if (!hidden) return [text];
  const found = [];
  for (const part of text.split(new RegExp(`(${hidden.source})`))) {
    if (!part) continue;
    const made = window.document.createElement("span");
    made.className = hidden.test(part) ? "hidden" : kind === "row" ? "cell" : "";
    made.textContent = part;
    found.push(made);
  }
  return found;
}

// A line of a list of contents, or a row of a table: of its words half have a digit
const isRow = (line) => {
  const words = line.trim().split(/\s+/);
  return OF_CONTENTS.test(line) || (words.length > 2 && words.filter((word) => /\d/.test(word)).length >= words.length / 2);
};

// A line that is about as wide as the page goes on in the next one, where neither is a line by itself
function joined(text) {
  const lines = text.split("\n"), widths = lines.map((line) => line.trimEnd().length).filter((width) => width > 20);
  if (widths.length < 5) return text;
  widths.sort((one, other) => one - other);
  const full = widths[Math.floor(0.8 * (widths.length - 1))];
  let shown = "";
  lines.forEach((line, number) => {
    const next = lines[number + 1];
    if (next === undefined) return void (shown += line);
    const isParagraph = line.trimEnd().length >= 0.7 * full && next.trim() && !LIST.test(next) && !isRow(line) && !isRow(next);
    if (!isParagraph) return void (shown += line + "\n");
    const isHyphenated = /\p{Ll}-$/u.test(line) && /^\p{Ll}/u.test(next);
    shown += isHyphenated ? line.slice(0, -1) + SOFT_HYPHEN + NO_BREAK : line + " ";
  });
  return shown;
}
