// Requests to this server. A refusal is thrown as {status, message, problems}.

const KEY = "tripwright-key";

export function useKey(key) { sessionStorage.setItem(KEY, key); }

export const hasKey = () => Boolean(sessionStorage.getItem(KEY));

async function ask(path, options = {}) {
  const key = sessionStorage.getItem(KEY);
  const headers = {...options.headers, ...(options.body ? {"content-type": "application/json"} : {}), ...(key ? {authorization: `Bearer ${key}`} : {})};
  const response = await fetch(path, {...options, headers}).catch((error) => {
    if (error.name === "AbortError") throw error;
    throw {status: 0, message: "The server cannot be reached. Is it still running?", problems: []};
  });
  if (response.ok) return response;
  const body = await response.json().catch(() => ({}));
  throw {message: `The server answered with status ${response.status}.`, problems: [], ...body.error, status: response.status};
}

export const get = async (path) => (await ask(path)).json();

export async function send(method, path, body) {
  const response = await ask(path, {method, body: body === undefined ? undefined : JSON.stringify(body)});
  return response.status === 204 ? null : response.json();
}

/** [event, data] of a trip until it is done; a connection that breaks is taken up behind the last event. */
export async function* events(id, signal) {
  let last = 0;
  for (let tries = 0; tries < 60; tries++) {
    try {
      const response = await ask(`/v1/trips/${id}/events`, {signal, headers: {"last-event-id": String(last)}});
      for await (const event of streamed(response.body)) {
        tries = 0;
        last = event.id ?? last;
        if (event.event) yield [event.event, JSON.parse(event.data)];
        if (event.event === "done") return;
      }
    } catch (error) {
      if (signal.aborted || error.status >= 400) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
  throw {status: 0, message: "The server cannot be reached. Reload the page when it is back.", problems: []};
}

async function* streamed(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = "";
  for (;;) {
    const {value, done} = await reader.read();
    if (done) return;
    const messages = (waiting + value).replaceAll("\r\n", "\n").split("\n\n");
    waiting = messages.pop();
    for (const message of messages) {
      const event = {};
      for (const line of message.split("\n")) {
        const colon = line.indexOf(":");
        if (colon > 0) event[line.slice(0, colon)] = (event[line.slice(0, colon)] ?? "") + line.slice(colon + 1).replace(/^ /, "");
      }
      yield event;
    }
  }
}
