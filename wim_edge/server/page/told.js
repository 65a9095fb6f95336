// One question's events folded into one state, and what the page says of it. A card is drawn from this alone, so that
// its sentences agree with each other at every moment.

import { many, percent, place, plain } from "./dom.js";

const FEW = 4;  // columns that fit a card
const ENDS = { length: "cut at its longest", repeated: "ended where it repeated itself", early_exit: "stopped early" };

export const begin = (question) => ({
  question, judged: question.judged ?? {}, answeredAs: question.judged ?? {}, phase: "waiting", live: true, before: 0,
  names: new Map(),  // the names of its documents in events -> their numbers, or paths of a library's in the API
  titles: new Map(), read: new Map(), scores: new Map(), passages: new Map(),
  warnings: [], written: "", nRead: 0, samples: [], seconds: 0, secondsBefore: 0, answer: null, provisional: null, plan: null, settled: null, error: null,
});

// Changes the state as an event says. `idOf(name, at)` names a document that an event calls by its name
export function tell(told, event, idOf) {
  switch (event.type) {
    case "queued": Object.assign(told, { phase: "waiting", before: event.before, error: null }); break;
    case "question.settled": told.settled = event; break;
    case "recall.started": Object.assign(told, { phase: "recalling", recall: event }); break;
    case "recall.passages": event.passages.forEach((one) => told.titles.set(one.document, one.title)); break;
    case "reading.started": started(told, event, idOf); break;
    case "segments.embedded": Object.assign(told, { phase: "comparing", compared: event }); break;
    case "reading.progress": progressed(told, event); break;
    case "segment.read": Object.assign(told, { phase: "reading", read: told.read.set(event.segment, event) }); break;
    case "segment.scored":
      told.nRead += 1;
      scored(told, event.segment, event.relevance);
      break;
    case "margin.judged":
      if (event.text) told.passages.set(event.segment, { ...event });
      break;
    case "reading.ranked":
      told.phase = "writing";
      event.ranking.forEach((one) => scored(told, one.segment, one.relevance, one.chosen));
      break;
    case "answer.provisional": if (!told.answer) told.provisional = event; break;
    case "answer.revised": Object.assign(told, { answer: null, written: "", provisional: null }); break;
    case "answer.delta":
      if (told.answer) Object.assign(told, { answer: null, written: "" });
      Object.assign(told, { phase: "writing", written: told.written + event.text });
      break;
    case "warning": told.warnings.push(event.text); break;
    case "answer.finished": Object.assign(told, { answer: event, provisional: null, error: null, written: "", phase: "done", nRead: event.read_segments, answeredAs: told.judged, seconds: told.secondsBefore + event.usage.seconds.total }); break;
    case "error": Object.assign(told, told.answer && event.error === "Cancelled" ? { phase: "done" } : { error: event, phase: "failed" });
  }
}

function started(told, event, idOf) {
  event.documents.forEach((name, at) => told.names.set(name, idOf(name, at)));
  if (!event.read_segments) {  // read anew; of a question that is read on, the answer may stand
    told.read.clear();
    if (!told.readsOn) Object.assign(told, { answer: null, written: "", provisional: null });
    for (const segment of told.passages.keys()) if (!(segment in told.judged)) told.passages.delete(segment);
  }
  Object.assign(told, { plan: event, phase: "reading", nRead: event.read_segments, tokens: null, samples: [], secondsBefore: told.seconds });
}

// What was restored comes at once: the speed is that of the last seconds alone
function progressed(told, { tokens, of }) {
  const at = performance.now(), { samples } = told;
  told.tokens = { tokens, of };
  samples.push({ tokens, at });
  while (samples.length > 2 && at - samples[0].at > 8000) samples.shift();  // ms
}

function scored(told, segment, relevance, chosen) {
  told.scores.set(segment, relevance);
  const passage = told.passages.get(segment);
  if (passage) Object.assign(passage, { relevance }, chosen === undefined ? {} : { relevant: chosen });
}

// It chooses what it reads, so that nobody knows how much that will be
const chooses = ({ plan }) => plan.within === "auto" || plan.read_segments > 0;
export const isChanged = (told) => JSON.stringify(told.judged) !== JSON.stringify(told.answeredAs);
export const isBusy = (told) => told.live && told.phase !== "done";
export const models = ({ model, judge }) => (judge ? `${model}, judged by ${judge}` : model);

// What came of it; of a question of before, whose events are not loaded yet, as the list of questions has it
export function state({ error, answer, live, question, provisional }) {
  const isBefore = !answer && !live, known = answer ?? (isBefore ? question : undefined);
  if ((error && error.error !== "Cancelled") || (isBefore && !error && question.state === "failed")) return "failed";
  if ((error && !answer) || (answer?.finish_reason === "cancelled" && !answer.short) || (isBefore && question.state === "cancelled")) return "stopped";
  if (known?.status === "answered" && known.support == null && !known.short) return "written";  // nobody judged it
  return answer ? answer.status ?? "answered" : isBefore ? question.status ?? "stopped" : provisional ? "provisional" : "checking";
}

const WORDS = { failed: "Failed", stopped: "Stopped", answered: "Found", written: "In the model’s words", unsure: "Check this", not_found: "Not found", provisional: "So far" };

const isNear = ({ support }) => support >= 0.1;  // it may be there

// The one word of a card
export function word(told) {
  const found = state(told), { answer, phase, question, written, before } = told, { support, has_more: hasMore } = answer ?? question;
  if (["answered", "unsure", "written"].includes(found) && question.options.answer === "summary") return "Summary";
  if (found === "not_found") return answer && isBusy(told) ? "Checking" : isNear({ support }) ? "Perhaps not there" : hasMore ? "Not found so far" : WORDS[found];
  return WORDS[found] ?? (written ? "Writing" : phase === "waiting" ? (before ? "Waiting" : "Starting") : "Checking");
}

// The quiet line below an answer: how much was checked, and how long it took; while it reads, how far it is
export function line(told) {
  const { answer, plan } = told;
  if (told.error || (!told.live && !answer)) return "";
  if (told.live && told.stopping) return told.stopping;
  if (answer && !isBusy(told)) return summed(told);
  const still = answer || told.provisional ? "Still checking" : "Checking";
  switch (told.phase) {
    case "waiting": return told.before ? `Behind ${many(told.before, "other question")}` : "";
    case "recalling": return `Looking through ${many(told.recall.documents, "document")} of ${told.recall.library}`;
    case "comparing": return `Comparing ${told.compared.segments} of ${many(told.compared.of, "passage")}`;
    case "writing": return "Answering";
  }
  if (told.question.options.answer === "summary" && !told.nRead && !told.tokens) return "Summarizing";
  if (told.nRead >= plan.segments && !answer) return "Answering";
  if (chooses(told)) return `${still}${plan.within ? " likely passages first" : ""}: ${Math.max(told.nRead, answer?.read_segments ?? 0)} of ${plan.segments.toLocaleString()}`;
  return told.tokens ? `${still}: ${percent(told.tokens.tokens / told.tokens.of)}${left(told)}` : `${still} ${many(plan.segments, "passage")}`;
}

function summed({ answer, seconds: total }) {
  const { read_segments: read, segments, finish_reason: end } = answer;
  const part = read < segments ? `${read.toLocaleString()} of ${many(segments, "passage")}` : many(segments, "passage");
  return [!read && segments && end === "stop" ? "From the text" : segments ? `Checked ${part}` : "", total < 0.05 ? "at once" : `${total.toFixed(total < 10 ? 1 : 0)} s`, ENDS[end]].filter(Boolean).join(" · ");
}

function left({ samples, tokens: { tokens, of } }) {
  const [first] = samples, seconds = (samples.at(-1).at - first.at) / 1000, rate = (tokens - first.tokens) / seconds;
  if (seconds < 1.5 || !(rate > 0)) return "";
  const rest = (of - tokens) / rate;
  return `, about ${rest < 90 ? `${Math.ceil(rest)} s` : `${Math.ceil(rest / 60)} min`} left`;
}

// How long it has been at work, once that is worth saying
export function elapsed(told) {
  const seconds = Math.floor(Date.now() / 1000 - told.question.asked);
  return isBusy(told) && !told.answer && seconds >= 5 ? `${many(seconds, "second")}` : "";
}

// The share of the bar that is done; null: not known, undefined: there is no bar
export function share(told) {
  return !isBusy(told) ? undefined : told.phase === "reading" && !chooses(told) && told.tokens ? told.tokens.tokens / told.tokens.of : null;
}

// What to make of an answer, besides its word
export function advice({ answer, judged }) {
  if (!answer) return "";
  const { status, short, unsupported = [] } = answer, differ = answer.evidence?.agreed === 0 && !says(own(answer), short), two = !differ && quoted(answer).length > 1 && !items(answer).length;
  return [
    status !== "unsure" || (!short && answer.quotes?.[0]?.header) ? "" : answer.query ? "Worked out from the table. Check the rows." : two ? "Two passages answer differently. Check both." : `${differ ? "The two models disagree" : "Not certain"}. Check the quotation.`,
    status === "not_found" && Object.values(judged).includes(false) ? "Nothing else than what you ignore answers it." : "",
    unsupported.length ? `In no passage: ${unsupported.join(", ")}` : "",
  ].filter(Boolean).join(" ");
}

// The figures, for whoever opens them
export function details(told) {
  const { answer, plan, question } = told, from = answer ?? plan, rows = [];
  if (told.settled) rows.push(["Asked as", told.settled.asked_as]);
  if (from) rows.push(["Model", `${models(from)} · ${from.pattern}`]);
  if (answer?.status === "not_found" && answer.support != null) rows.push(["Chance that the text answers this", percent(answer.support)]);
  else if (answer?.confidence != null) rows.push(["Chance that this is right", percent(answer.confidence)]);
  if (answer?.query) rows.push(["Worked out by", answer.query]);
  if (answer) {
    const { prefilled_tokens: read, reused_tokens: known } = answer.usage;
    if (read || known) rows.push(["Tokens read", `${read.toLocaleString()}${known ? `, and ${known.toLocaleString()} kept from earlier questions` : ""}`]);
    const seen = new Set([...told.read.values()].map((one) => one.document)), unseen = [...told.names.keys()].filter((name) => !seen.has(name));
    if (answer.has_more && seen.size && unseen.length) rows.push(["Nothing read of", unseen.slice(0, 3).join(", ") + (unseen.length > 3 ? ` and ${unseen.length - 3} more` : "")]);
  }
  return [...rows, ["Asked", new Date(1000 * question.asked).toLocaleString([], { dateStyle: "short", timeStyle: "short" })]];
}

// The quotations that carry an answer: of a summary and of several documents there are several; of nothing, the nearest
export function quoted({ text, status, support, quotes = [], query }) {
  const isOfEach = text.includes("\n- ") && quotes.some((one) => one.document !== quotes[0].document);
  const found = status === "not_found" ? quotes.slice(0, isNear({ support }) ? 3 : 0) : quotes.filter((one, at) => !at || query || isOfEach || carries(text, one));
  return found.filter((one, at) => found.findIndex((other) => other.document === one.document && plain(other.text) === plain(one.text)) === at);
}

// An item of a list without its place; and the quotation that it holds, or that holds it, of the document that it names
export const bare = (item, { document }) => item.split(` (${document}`)[0].replace(/ \((?:page|line) [^()]*\)$/, "");
export function quoteOf({ quotes = [] }, item) {
  const isOfIt = (one, said = plain(bare(item, one).replace(/ \([^()]*\)$/, "")), quote = plain(one.text)) => quote.includes(said) || said.includes(`“${quote}”`);
  return quotes.find((one) => item.includes(` (${one.document}`) && isOfIt(one)) ?? quotes.find((one) => isOfIt(one));
}

// The items of an answer's list, each with its quotation; whether one of them already says a quotation, or leads to the row
// that it is; and the quotation of the first, if all items stand in one section
const items = (answer) => own(answer).split("\n").filter((one) => one.startsWith("- ")).map((one) => [one.slice(2), quoteOf(answer, one.slice(2))]);
export const isItem = (answer, quote) => items(answer).some(([text, one]) => one === quote && (quote.header || 2 * bare(text, quote).length > quote.text.length));
export function sectionOf(answer) {
  const [first, ...others] = answer ? items(answer).map(([, one]) => one) : [];
  return others.length && first?.section && others.every((one) => one?.section === first.section && one.document === first.document) ? first : null;
}

// What to mark for a quotation, as characters: it first, and with one of a list or of a table the others of its document
export function marks({ answer }, quote) {
  const listed = answer ? items(answer).map(([, one]) => one).filter(Boolean) : [], shown = listed.length || answer?.query ? [...quoted(answer), ...listed] : [];
  const its = shown.filter((one) => one.document === quote.document), chars = quote.quote ?? quote.chars;
  return its.some((one) => one.chars === quote.chars) ? [...new Set([chars, ...its.map((one) => one.chars)])] : [chars];
}

// The short answer, where the answer's own text does not say it
export function headline({ answer }) {
  const { short = "", status, quotes = [] } = answer ?? {}, text = answer ? own(answer) : "";
  return !short || status === "not_found" || says(text, short) || text.includes("\n- ") || quotes.some((one) => plain(one.text) === plain(short)) ? "" : short;
}

// A sentence may begin with the words of a short answer
export const says = (text, short) => plain(text).toLowerCase().includes(plain(short).toLowerCase());

export const carries = (text, quote) => plain(text).includes(`“${plain(quote.text)}”`);

// A row of a table as pairs of label and cell; and as "label: cell · label: cell"; undefined for other text
export function pairs({ text, header }) {
  const [labels, cells] = [header, text].map((one) => (one ?? "").replace(/^\s*\||\|\s*$/g, "").split(/(?<!\\)\||\t/).map((cell) => cell.trim()));
  if (header) return cells.map((cell, at) => [labels[at] ?? "", cell]);
}
export const labelled = (one) => pairs(one)?.filter(([, cell]) => cell).map(([label, cell]) => (label ? `${label}: ${cell}` : cell)).join(" · ");

// Quotations, the rows of a table together if they fit; and the columns to show of these: the first, and those that the query names
export const together = (quotes, query) => quotes.reduce((groups, one) => {
  const [last] = groups.at(-1) ?? [], isNext = last && one.header && one.header === last.header && one.document === last.document && columns(one, query).length <= FEW;
  return isNext ? [...groups.slice(0, -1), [...groups.at(-1), one]] : [...groups, [one]];
}, []);
export function columns(row, query = "") {
  const names = pairs(row).map(([label]) => label.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "_").replace(/^_|_$/g, ""));
  const found = [...names.keys()].filter((at) => !at || (names[at] && query.toLowerCase().includes(names[at])));
  return found.length > 1 ? found : [...names.keys()];
}

// A quotation as it is shown: a row with its labels, a list on one line
export const quotation = (one) => labelled(one) ?? `“${one.text.replace(/^(?:[-*•–] |\| )| ?\|$/g, "").replace(/(\*{1,2})(\S(?:[^*]*\S)?)\1/g, "$2").replace(/\s*\n\s*[-*•–] | \| /g, " · ")}”`;

// The text of an answer without the quotations at its end, which are shown below it; a sentence that holds one stays
export function own(answer) {
  const { text, quotes = [], status, query } = answer;
  const parts = text.replace(/^Perhaps: (?!(?:Yes|No)\.(?:\n|$))/, "").split("\n\n");  // a verdict alone would look sure
  const beside = (part) => quotes.reduce((left, one) => left.replaceAll(`“${plain(one.text)}”`, ""), plain(part)).replace(/\([^()]*\)|\s/g, "");
  const isRow = (part, one) => labelled(one) && part.includes(" · ") && labelled(one).split(" · ").every((cell) => part.includes(cell));
  while (parts.length && quotes.some((one) => (carries(parts.at(-1), one) && (status === "not_found" || !beside(parts.at(-1)))) || isRow(parts.at(-1), one))) parts.pop();
  return query ? parts[0] : parts.join("\n\n");
}

// The passages besides those that are quoted already, in the document's order
export function others({ answer, passages }) {
  const shown = new Set(answer ? quoted(answer).map((one) => plain(one.text)) : []);
  const found = new Map([...(answer?.sources ?? []).map((one) => [one.segment, { ...one, text: one.margin }]), ...passages]);
  return [...found.values()].filter((one) => !shown.has(plain(one.text))).sort((one, other) => one.segment - other.segment);
}

// The answer as Markdown, with a number behind each part that a note below quotes
export function markdown(told) {
  const { answer, question, titles } = told, isFound = answer.status !== "not_found", notes = [], numbers = new Map();
  const shown = quoted(answer), lines = [headline(told), ...own(answer).split("\n")].filter((one, at) => at || one);
  const numberOf = (one) => {
    const said = plain(one.text ?? one.margin);
    if (!numbers.has(said)) numbers.set(said, notes.push(`${notes.length + 1}. ${plain(quotation({ ...one, text: one.text ?? one.margin }))} (${[titles.get(one.document) ?? one.document, place(one)].filter(Boolean).join(", ")})`));
    return numbers.get(said);
  };
  const said = lines.map((line) => {
    const quote = isFound && (line.startsWith("- ") ? quoteOf(answer, line.slice(2)) : shown.find((one) => carries(line, one)));
    return quote ? `${line} [${numberOf(quote)}]` : line;
  });
  if (isFound && shown.length && !numbers.size && said[0]) said[0] += ` [${numberOf(shown[0])}]`;
  if (answer.status === "unsure" && !/^Perhaps/.test(said[0])) said[0] = `Perhaps: ${said[0]}`;
  [...shown, ...(answer.citations?.length ? answer.sources.filter((one) => one.quote && one.margin) : [])].forEach(numberOf);
  return [`**${question.question}**`, said.join("\n"), isFound || !notes.length ? "" : "Nearest passages:", notes.join("\n")].filter(Boolean).join("\n\n") + "\n";
}
