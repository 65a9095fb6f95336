// Talking to the server.

export async function api(path, { method = "GET", body, form, keepalive = false } = {}) {
  const headers = body === undefined ? {} : { "content-type": "application/json" };
  let response;
  try {
    response = await fetch("api/" + path, { method, headers, keepalive, body: form ?? (body && JSON.stringify(body)) });
  } catch {
    throw new Error("The server does not answer. Is `wim-edge serve` still running?");
  }
  if (response.status === 204) return null;
  const found = await response.json().catch(() => ({}));
  if (response.ok) return found;
  const error = found.error ?? { message: found.detail?.[0]?.msg ?? response.statusText, hint: "" };
  throw new Error(`${error.message}. ${error.hint}`);
}

const EVENTS = ["queued", "question.settled", "recall.started", "recall.passages", "reading.started", "segments.embedded", "reading.progress", "segment.read",
  "segment.scored", "margin.judged", "reading.ranked", "answer.provisional", "answer.revised", "answer.delta", "warning", "answer.finished", "reading.finished", "error"];
const ENDS = ["answer.finished", "reading.finished", "error"];

// A question's events, from number `after` on. `onEnd(true)`: the last one came; false: the connection was lost for good.
export class Watch {
  constructor(question, after, { onEvent, onEnd, onLost }) {
    this.source = new EventSource(`api/questions/${question}/events?after=${after}`);
    let last = "";
    this.source.onopen = () => onLost(false);
    for (const type of EVENTS) {
      this.source.addEventListener(type, (message) => {
        if (message.data === undefined || this.closed) return;  // the browser's own "error", below
        last = type;
        this.last = Number(message.lastEventId);
        onEvent(JSON.parse(message.data));
      });
    }
    this.source.onerror = (message) => {
      if (message.data !== undefined || this.closed) return;
      // The server ends the stream after the last event; one that was answered again has several ends in it
      const ended = ENDS.includes(last);
      if (!ended && this.source.readyState !== EventSource.CLOSED) return onLost(true);  // the browser tries again
      this.close();
      onEnd(ended);
    };
  }

  close() {
    this.closed = true;
    this.source.close();
  }
}

// The events of a response that is a stream
export async function* streamed(path) {
  const response = await fetch("api/" + path, { method: "POST" });
  if (!response.ok) throw new Error((await response.json()).error.message);
  let rest = "";
  const lines = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let part = await lines.read(); !part.done; part = await lines.read()) {
    const events = (rest + part.value).split("\n\n");
    rest = events.pop();
    for (const text of events) {
      const data = text.split("\n").find((line) => line.startsWith("data: "));
      if (data) yield JSON.parse(data.slice(6));
    }
  }
}
