// A document's text as it was meant: pages, headings, rows of tables. The text stays as it is, so that every offset leads
// to its character.

import { areFigures, make } from "./dom.js";

// -> { text, marks }: what is shown, and [{ start, end, kind, label }] in UTF-16 units, in their order, none in another
export function laidOut(document, unit) {
  const { file = "", marks = [], title, text } = document, isMarkdown = /\.(md|markdown)$/i.test(file), hasItems = isMarkdown || /\.(docx|od[pt]|pptx|x?html?|rtf|epub)$/i.test(file);
  const found = [];
  let page = null, section = null;
  for (const mark of marks) {
    const start = unit(mark.start);
    if (mark.page !== page && mark.page != null) found.push({ start, end: start, kind: "page", label: `page ${mark.page}` });
    if (mark.section !== section && mark.section) {
      const end = lineEnd(text, start), line = text.slice(start, end).trim();
      if (!isMarkdown && line && line === mark.section.trim()) found.push({ start, end, kind: "heading", label: line === title ? "1" : "2" });
      else if (mark.row) found.push({ start, end: start, kind: "page", label: mark.section });  // a sheet
    }
    if (mark.row) found.push({ start, end: start, kind: "rows", label: mark.row });
    ({ page, section } = mark);
  }
  const lines = isMarkdown ? /^(?:(#{1,6}) .+$|\|.*\|[ \t]*(?:\n|$))/gm : /^(?:\| )?[^\n|]+ \| [^\n]*(?:\n|$)/gm;
  for (const line of text.matchAll(lines)) {
    const level = line[1]?.length, end = line.index + line[0].length, isHead = !isMarkdown && line[0].startsWith("|");
    const kind = level ? "heading" : /^[\s|:-]+$/.test(line[0]) ? "hidden" : "row";
    if (kind === "hidden" && found.at(-1)?.kind === "row") found.at(-1).label = "head";
    found.push({ start: line.index, end, kind, label: level ? String(level) : isHead ? "head" : "" });
  }
  if (isMarkdown) found.push(...inline(text));
  if (hasItems) {  // they close up
    for (const { index, 0: sign, 1: before } of text.matchAll(/^([ \t]*)[-*+] (?=\S)/gm)) found.push({ start: index + before.length, end: index + sign.length, kind: "bullet", label: "" });
    for (const { index } of text.matchAll(/(?<=^[ \t]*[-*+] .*\n)\n(?=[ \t]*[-*+] )/gm)) found.push({ start: index, end: index + 1, kind: "hidden", label: "" });
  }
  for (const { end, kind } of [...found]) if (kind === "heading" && text.startsWith("\n\n", end)) found.push({ start: end + 1, end: end + 2, kind: "hidden", label: "" });
  found.sort((one, other) => one.start - other.start || one.end - other.end);
  let last = 0, from = 0, number = null;  // of a sheet's row
  const apart = found.filter((one) => (one.start >= last ? ((last = one.end), true) : false)), rows = [];
  for (const [at, one] of apart.entries()) {
    if (one.kind === "rows") ({ start: from, label: number } = one);
    if (one.kind === "row") {
      if (number) one.number = number += text.slice(from, one.start).split("\n").length - 1;
      from = one.start;
      rows.push(one);
    }
    if (rows.length && apart[at + 1]?.start !== one.end) setColumns(text, rows.splice(0));
  }
  return { text, marks: apart };
}

// The rows of a table have columns that hold their longest words, so that none is broken
function setColumns(text, rows) {
  const cells = rows.map(({ start, end }) => text.slice(start, end).split(SIGNS.row).filter((one, at, all) => one || (at && at < all.length - 1)));
  const columns = Array.from({ length: cells.reduce((most, row) => Math.max(most, row.length), 0) }, (_, at) => {
    const column = cells.map((row) => row[at] ?? ""), longest = (parts, most) => parts.reduce((found, one) => Math.max(found, Math.min(one.length, most)), 3);
    return `minmax(${(0.72 * longest(column.flatMap((cell) => cell.split(/\s+/)), 16) + 0.2).toFixed(1)}em, ${longest(column, 40)}fr)`;
  });
  const { number } = rows.at(-1);
  const figures = columns.map((_, at) => areFigures(cells.map((row) => row[at]).filter((_, row) => rows[row].label !== "head")));
  for (const row of rows) Object.assign(row, { figures }).columns = `${number ? `${0.7 * String(number).length}em ` : ""}${columns.join(" ")}`;
}

// What Markdown sets apart within a text; what stands in a fence or a row before it goes first
function inline(text) {
  const kinds = /^(?<fence>(```|~~~)[^\n]*\n(?:.*\n)*?\2[ \t]*$)|(?<code>(`+)[^`\n]+\4)|(?<link>!?\[[^\]\n]*\]\([^()\s]*\))|(?<strong>\*\*\S(?:[^*\n]*[^\s*])?\*\*)|(?<em>(?<![\w*])\*[^\s*](?:[^*\n]*[^\s*])?\*(?![\w*]))/gm;
  return [...text.matchAll(kinds)].map((one) => {
    const kind = Object.keys(one.groups).find((name) => one.groups[name] !== undefined);
    return { start: one.index, end: one.index + one[0].length, kind, label: "" };
  });
}

// The signs of Markdown, which are put away; a row's are what parts its cells
const SIGNS = {
  heading: /^#{1,6} /, bullet: /^[-*+] $/, row: /\s*(?<!\\)\|\s*|\n/, fence: /^(?:```|~~~)[^\n]*\n|\n(?:```|~~~)[ \t]*$/, code: /^`+|`+$/,
  link: /^!?\[|\]\([^()\s]*\)$/, strong: /^\*\*|\*\*$/, em: /^\*|\*$/,
};

const lineEnd = (text, at) => (text.indexOf("\n", at) + 1 || text.length + 1) - 1;

// What stands in a part, with its signs put away
export function contents(kind, text) {
  const hidden = SIGNS[kind];
  if (!hidden) return [text];
  const parts = text.split(new RegExp(`(${hidden.source})`)), kindOf = (at) => (at % 2 ? "hidden" : kind === "row" ? "cell" : "");
  return parts.flatMap((part, at) => (part || (kind === "row" && at && at < parts.length - 1) ? [make("span", { className: kindOf(at) }, part)] : []));
}
