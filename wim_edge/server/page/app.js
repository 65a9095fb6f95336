// The page: shows what /api tells. One file, no library; everything of a document goes in as text, never as markup.

import { Reader } from "./reader.js";

const $ = (id) => document.getElementById(id);
const state = { documents: [], document: null, question: null, source: null, begun: 0, first: null, options: {} };
const reader = new Reader($("text"), judge);

// ---- Talking to the server

async function api(path, { method = "GET", body, form } = {}) {
  const headers = body === undefined ? {} : { "content-type": "application/json" };
  let response;
  try {
    response = await fetch("api/" + path, { method, headers, body: form ?? (body && JSON.stringify(body)) });
  } catch {
    throw new Error("The server does not answer. Is `wim-edge serve` still running?");
  }
  if (response.status === 204) return null;
  const found = await response.json().catch(() => ({}));
  if (response.ok) return found;
  const error = found.error ?? { message: found.detail?.[0]?.msg ?? response.statusText, hint: "" };
  throw new Error(`${error.message}. ${error.hint}`);
}

function alertOf(error) {
  const close = button("Close", () => ($("alert").hidden = true));
  $("alert").replaceChildren(error.message ?? String(error), close);
  $("alert").hidden = false;
}

// Does something, and shows what goes wrong
const doing = (work) => async (...given) => {
  $("alert").hidden = true;
  try {
    return await work(...given);
  } catch (error) {
    alertOf(error);
  }
};

function button(label, onclick, className = "") {
  const made = document.createElement("button");
  Object.assign(made, { type: "button", textContent: label, onclick, className });
  return made;
}

function item(...children) {
  const made = document.createElement("li");
  made.append(...children);
  return made;
}

const megabytes = (n) => (n < 1e9 ? `${Math.round(n / 1e6)} MB` : `${(n / 1e9).toFixed(1)} GB`);

// ---- Documents

async function listDocuments() {
  state.documents = await api("documents");
  $("documents").replaceChildren(...state.documents.map((one) => {
    const open = button(one.title, doing(() => openDocument(one.id)), "link");
    open.setAttribute("aria-current", one.id === state.document?.id);
    open.title = `${one.chars.toLocaleString()} characters${one.pages ? `, ${one.pages} pages` : ""}`;
    const remove = button("×", doing(async () => {
      await api(`documents/${one.id}`, { method: "DELETE" });
      if (state.document?.id === one.id) leave();
      await listDocuments();
    }));
    remove.setAttribute("aria-label", `Let go of ${one.title}`);
    return item(open, remove);
  }));
}

function leave() {
  unwatch();
  Object.assign(state, { document: null, question: null });
  history.replaceState(null, "", "#");
  for (const id of ["reader", "answer", "progress", "asked-title"]) $(id).hidden = true;
  $("asked").replaceChildren();
  $("go").disabled = true;
}

async function openDocument(id, question = null) {
  unwatch();
  state.document = await api(`documents/${id}`);
  state.question = null;
  reader.show(state.document);
  $("title").textContent = state.document.title;
  $("reader").hidden = false;
  $("answer").hidden = $("progress").hidden = true;
  $("go").disabled = false;
  buttons("idle");
  await Promise.all([listDocuments(), listQuestions()]);
  remember();
  if (question) await openQuestion(question);
}

async function upload(files) {
  for (const file of files) {
    const form = new FormData();
    form.append("file", file);
    $("drop").querySelector("span").textContent = `Reading ${file.name} …`;
    try {
      const given = await api("documents", { method: "POST", form });
      await openDocument(given.id);
      warn(given.notes);
    } finally {
      $("drop").querySelector("span").textContent = "Drop a file here, or choose one";
    }
  }
}

// ---- Questions

async function listQuestions() {
  const found = await api(`questions?document=${state.document.id}`);
  $("asked-title").hidden = !found.length;
  $("asked").replaceChildren(...found.map((one) => {
    const open = button(one.question, doing(() => openQuestion(one.id)), "link");
    open.setAttribute("aria-current", one.id === state.question?.id);
    const remove = button("×", doing(async () => {
      await api(`questions/${one.id}`, { method: "DELETE" });
      if (state.question?.id === one.id) await openDocument(state.document.id);
      else await listQuestions();
    }));
    remove.setAttribute("aria-label", `Let go of the question ${one.question}`);
    return item(open, remove);
  }));
}

async function ask() {
  if (state.asking) return;
  state.asking = true;
  try {
    await enter();
  } catch (error) {
    await listDocuments();  // what is asked may be gone
    throw error;
  } finally {
    state.asking = false;
  }
}

async function enter() {
  const options = { ...state.options };
  const pattern = $("pattern").value;
  if (pattern) options.pattern = pattern;
  const body = { documents: [state.document.id], question: $("question").value, options };
  await watch(await api("questions", { method: "POST", body }));
}

async function openQuestion(id) {
  const question = await api(`questions/${id}`);
  $("question").value = question.question;
  await watch(question);
}

// All events of a question, from the first one on: those of the past come at once
async function watch(question) {
  unwatch();
  state.question = question;
  reader.show(state.document, question.judged);
  warn([]);
  $("text-of-answer").textContent = "";
  $("sources").replaceChildren();
  $("sources-title").hidden = $("answer").hidden = true;
  $("progress").hidden = false;
  state.first = null;
  remember();
  listen(`api/questions/${question.id}/events`);
  await listQuestions();
}

const ENDS = ["answer.finished", "reading.finished", "error"];
const EVENTS = ["queued", "reading.started", "reading.progress", "segment.read", "segment.scored", "margin.judged",
  "reading.ranked", "answer.delta", "warning", ...ENDS];

function listen(url) {
  buttons("running");
  let last = "";
  const source = (state.source = new EventSource(url));
  for (const type of EVENTS) {
    source.addEventListener(type, (message) => {
      if (message.data === undefined) return;  // the browser's own "error", below
      last = type;
      state.last = Number(message.lastEventId);
      show(JSON.parse(message.data));
    });
  }
  source.onerror = (message) => {
    if (message.data !== undefined || state.source !== source) return;
    // The server ends the stream after the last event; one that was answered again has several ends in it
    if (ENDS.includes(last)) {
      unwatch();
      buttons("done");
      doing(listQuestions)();
      doing(machine)();
    } else if (source.readyState === EventSource.CLOSED) {
      unwatch();
      buttons("done");
      alertOf("The connection was lost. Reload the page to go on.");
    }
  };
}

function unwatch() {
  state.source?.close();
  state.source = null;
}

function show(event) {
  const told = (text) => ($("told").textContent = text);
  switch (event.type) {
    case "queued":
      $("bar").removeAttribute("value");
      told(event.before ? `waiting behind ${event.before} other${event.before > 1 ? "s" : ""}` : "the model is being loaded");
      break;
    case "reading.started":
      reader.anew = true;
      doing(machine)();
      state.plan = event;
      state.begun = performance.now();
      told(`${event.tokens.toLocaleString()} tokens in ${event.segments} segments; ${event.model}, ${event.pattern}`);
      $("text-of-answer").textContent = "";
      break;
    case "reading.progress": {
      const now = performance.now();
      state.first ??= { tokens: event.tokens, at: now };
      $("bar").max = event.of;
      $("bar").value = event.tokens;
      const seconds = (now - state.first.at) / 1000;
      const rate = (event.tokens - state.first.tokens) / seconds;
      const speed = seconds > 0.5 ? `, ${Math.round(rate)} tokens a second, ${left((event.of - event.tokens) / rate)} left` : "";
      told(`${event.tokens.toLocaleString()} of ${event.of.toLocaleString()} tokens${speed}`);
      break;
    }
    case "segment.read": reader.read(event, $("follow").checked && !state.question.answer); break;
    case "segment.scored": reader.score(event.segment, event.relevance); break;
    case "margin.judged": reader.margin(event); break;
    case "reading.ranked": event.ranking.forEach((one) => reader.score(one.segment, one.relevance)); break;
    case "answer.delta":
      $("answer").hidden = false;
      $("text-of-answer").textContent += event.text;
      break;
    case "warning": warn([event.text], true); break;
    case "answer.finished": finished(event); break;
    case "error":
      told("");
      $("progress").hidden = true;
      alertOf(`${event.message}. ${event.hint}`);
  }
}

function finished(event) {
  const { usage } = event;
  $("answer").hidden = !event.text;
  $("text-of-answer").textContent = event.text;
  $("bar").value = $("bar").max;
  reader.rest();
  const ends = { stop: "answered", length: "answer cut", early_exit: "stopped early, answered", cancelled: "cancelled" };
  const saved = usage.reused_tokens ? `, ${usage.reused_tokens.toLocaleString()} tokens known from an earlier reading` : "";
  $("told").textContent = `${ends[event.finish_reason]} in ${usage.seconds.total.toFixed(1)} s by ${event.model}, ` +
    `${event.pattern}: ${usage.prefilled_tokens.toLocaleString()} tokens read${saved}`;
  $("sources-title").hidden = !event.sources.length;
  $("sources").replaceChildren(...event.sources.map((one) => item(
    button(reader.place(one), () => reader.go(one.segment, one.quote ?? one.chars, one.chars), "link"),
    `${Math.round(one.relevance * 100)}%`,
  )));
}

const left = (seconds) => (!isFinite(seconds) ? "…" : seconds < 90 ? `${Math.ceil(seconds)} s` : `${Math.ceil(seconds / 60)} min`);

function warn(texts, more = false) {
  const made = texts.map((text) => item(text));
  more ? $("warnings").append(...made) : $("warnings").replaceChildren(...made);
}

async function judge(segment, accepted) {
  await doing(async () => {
    const question = await api(`questions/${state.question.id}/margins/${segment}`, { method: "PUT", body: { accepted } });
    reader.judged = question.judged;
    reader.mark(segment);
    if (!state.source) $("again").hidden = false;
  })();
}

async function again() {
  const question = await api(`questions/${state.question.id}/again`, { method: "POST" });
  $("text-of-answer").textContent = "";
  warn([]);
  state.question = question;
  state.first = null;
  listen(`api/questions/${question.id}/events?after=${state.last}`);
}

function buttons(which) {
  $("go").hidden = which === "running";
  $("now").hidden = $("cancel").hidden = $("follow-label").hidden = which !== "running";
  $("again").hidden = which !== "done" || !Object.keys(reader.judged).length;
}

// ---- The machine

async function machine() {
  const [status, models, readings] = await Promise.all([api("status"), api("models"), api("readings")]);
  const busy = status.waiting ? `${status.waiting} in line` : "idle";
  const kept = readings.reduce((sum, one) => sum + one.bytes, 0);
  $("machine").textContent = `${status.model ?? "no model loaded yet"} · ${megabytes(status.memory_bytes)} held, ` +
    `${megabytes(status.memory_free_bytes)} free · ${readings.length} readings kept (${megabytes(kept)}) · ${busy}`;
  if ($("pattern").length === 1) $("pattern").append(...status.patterns.map((name) => new Option(name)));
  $("named").hidden = !status.folders.length;
  $("folders").textContent = status.folders.join(", ");
  $("models").replaceChildren(...models.map(modelItem));
  $("readings").replaceChildren(...readings.map((one) => {
    const remove = button("×", doing(async () => {
      await api(`readings/${one.id}`, { method: "DELETE" });
      await machine();
    }));
    remove.setAttribute("aria-label", `Let go of the reading of ${one.title}`);
    return item(`${one.title} · ${one.model}, ${one.tokens.toLocaleString()} tokens, ${megabytes(one.bytes)}`, remove);
  }));
}

function modelItem(one) {
  if (!one.here) {
    const pull = button(`Fetch (${megabytes(one.bytes)})`, doing(() => fetchModel(one.name, pull)));
    pull.disabled = !one.fits;
    return item(`${one.name} · ${one.parameters}, ${one.licence}${one.fits ? "" : ", does not fit this machine"}`, pull);
  }
  const label = document.createElement("label");
  const radio = Object.assign(document.createElement("input"), { type: "radio", name: "model", value: one.name });
  radio.checked = state.options.model === one.name || (!state.options.model && one.loaded);
  radio.onchange = () => (state.options.model = one.name);
  label.append(radio, ` ${one.name} · ${one.parameters}, ${one.licence}${one.loaded ? ", loaded" : ""}`);
  return item(label);
}

async function fetchModel(name, shown) {
  shown.disabled = true;
  const response = await fetch(`api/models/${encodeURIComponent(name)}/pull`, { method: "POST" });
  if (!response.ok) throw new Error((await response.json()).error.message);
  let rest = "";
  const lines = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let part = await lines.read(); !part.done; part = await lines.read()) {
    const events = (rest + part.value).split("\n\n");
    rest = events.pop();
    for (const text of events) {
      const data = text.split("\n").find((line) => line.startsWith("data: "));
      if (!data) continue;
      const event = JSON.parse(data.slice(6));
      if (event.type === "pull.progress" && event.of) shown.textContent = `${Math.floor((100 * event.bytes) / event.of)}%`;
      if (event.type === "error") throw new Error(`${event.message}. ${event.hint}`);
    }
  }
  await machine();
}

// ---- The state is in the address, so that a reload keeps it

function remember() {
  const found = new URLSearchParams();
  if (state.document) found.set("document", state.document.id);
  if (state.question) found.set("question", state.question.id);
  history.replaceState(null, "", "#" + found);
}

$("ask").onsubmit = (event) => {
  event.preventDefault();
  if (state.document && !state.source) doing(ask)();
};
$("question").onkeydown = (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    $("ask").requestSubmit();
  }
};
$("now").onclick = doing(() => api(`questions/${state.question.id}/answer-now`, { method: "POST" }));
$("cancel").onclick = doing(() => api(`questions/${state.question.id}/cancel`, { method: "POST" }));
$("again").onclick = doing(again);
$("file").onchange = doing(async () => {
  await upload([...$("file").files]);
  $("file").value = "";
});
$("named").onsubmit = (event) => {
  event.preventDefault();
  doing(async () => {
    const given = await api("documents/named", { method: "POST", body: { path: $("path").value } });
    await openDocument(given.id);
    warn(given.notes);
  })();
};
for (const type of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(type, (event) => {
    event.preventDefault();
    $("drop").classList.toggle("over", type === "dragover");
    if (type === "drop") doing(upload)([...event.dataTransfer.files]);
  });
}

doing(async () => {
  await Promise.all([machine(), listDocuments()]);
  const found = new URLSearchParams(location.hash.slice(1));
  if (found.has("document")) await openDocument(Number(found.get("document")), found.get("question"));
})();
setInterval(() => !document.hidden && machine().catch(() => {}), 10_000);
