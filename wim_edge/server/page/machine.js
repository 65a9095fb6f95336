// What the machine does and holds: the models, and the documents whose reading is cached.

import { api, streamed } from "./api.js";
import { $, alertOf, button, doing, fill, item, make, many, megabytes, span } from "./dom.js";
import { models as named } from "./told.js";

export const options = {};
let fetching = false, redraw = false;

export async function showMachine() {
  const [status, models, readings] = await Promise.all([api("status"), api("models"), api("readings")]);
  $("machine").textContent = status.waiting > 1 ? `busy, ${status.waiting - 1} in line` : status.waiting ? "busy" : "idle";
  const kept = readings.reduce((sum, one) => sum + one.bytes, 0);
  $("machine").title = `${status.model ? named(status) : "no model loaded yet"}; ${megabytes(status.memory_bytes)} of memory are in use, ${megabytes(status.memory_free_bytes)} are free; ${many(readings.length, "cached reading")} on disk (${megabytes(kept)})`;
  if ($("pattern").length === 1) {
    $("keep").checked = status.read_on;
    $("pattern").append(...status.patterns.map((name) => new Option(name)));
  }
  const here = models.filter((one) => one.here && !one.embeds), model = status.model ?? status.settings.model?.value ?? here.filter((one) => one.fits).at(-1)?.name;
  $("able").textContent = here.length ? `Answers come from ${model.split(/[\\/]/).at(-1)}.${here.find((one) => one.name === model)?.writes === false ? " It quotes; one that writes, under “Models”, finds and explains more." : ""}` : "There is no model on this machine yet. Download one under “Models”.";
  const few = recommended(models, here), listOf = (one) => (one.embeds ? "scouts" : few.has(one.name) ? "models" : "models-more");
  const shown = models.map((one) => ({ ...one, asked: one.name === (options.model ?? model), judges: one.name === status.judge }));
  if (!fetching) for (const id of ["models", "models-more", "scouts"]) fill($(id), shown.filter((one) => listOf(one) === id), modelItem, redraw);
  redraw = false;
  const usual = status.settings.judge?.value, { value: judge } = $("judge"), judges = here.map((one) => [one.name, one.name]);
  fill($("judge"), [[`default (${usual && usual !== "self" ? usual : "the model itself"})`, ""], ["the model itself", "self"], ...judges], ([label, value]) => new Option(label, value));
  $("judge").value = judge;
  const forget = (id) => doing(() => api(`readings/${id}`, { method: "DELETE" }).then(showMachine));
  fill($("readings"), readings, ({ id, title, model, tokens, bytes }) =>
    item(`${title} · ${model}, ${tokens.toLocaleString()} tokens, ${megabytes(bytes)}`, button("×", forget(id), "", `Forget ${title}`)));
}

// What a model is good for, in plain words
function goodFor({ writes, parameters }) {
  const billions = parseFloat(parameters) / (/m$/i.test(parameters) ? 1000 : 1);
  if (!writes) return "fast; quotes the document, writes nothing itself";
  return billions < 1 ? "quick; writes short sentences" : billions < 4 ? "slower; writes and explains better" : "slow here; writes best";
}

// What is here, and to make three: the one that quotes, a quick one that writes, and one that writes better
function recommended(models, here) {
  const writes = models.filter((one) => one.fits && one.writes).sort((one, other) => one.bytes - other.bytes);
  const more = [models.find((one) => one.name === "smollm2-135m"), writes[0], writes.find((one) => one.bytes > 2 * writes[0].bytes)].filter((one) => one && !here.includes(one));
  return new Set([...here, ...more.slice(0, Math.max(0, 3 - here.length))].map((one) => one.name));
}

function modelItem(one) {
  const facts = span(`${one.embeds ? "" : `${goodFor(one)} · `}${one.parameters}, ${megabytes(one.bytes)}, ${one.licence}`, "facts");
  if (!one.here) {
    const pull = button("Download", doing(() => fetchModel(one.name, pull)), "", `Download ${one.name}`);
    pull.disabled = !one.fits;
    return item(make("div", {}, one.name, one.fits ? "" : " (does not fit this machine)", facts), pull);
  }
  if (one.embeds) return item(make("div", {}, one.name, facts));
  const radio = make("input", { type: "radio", name: "model", value: one.name, checked: one.asked, onchange: () => (options.model = one.name) });
  return item(make("label", {}, radio, ` ${one.name}${one.loaded ? (one.judges ? " (judges)" : " (in use)") : ""}`, facts));
}

async function fetchModel(name, shown) {
  shown.disabled = fetching = true;
  try {
    for await (const event of streamed(`models/${encodeURIComponent(name)}/pull`)) {
      if (event.type === "pull.progress" && event.of) shown.textContent = `${event.model === name ? "" : `${event.model} `}${Math.floor((100 * event.bytes) / event.of)}%`;
      if (event.type === "warning") alertOf(event.text);
      if (event.type === "error") throw new Error(`${event.message}. ${event.hint}`);
    }
  } finally {
    fetching = false;
    redraw = true;  // also where it failed, its button
    await showMachine();
  }
}
