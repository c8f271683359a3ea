// The compiler of `xla-inspect play`: the page sends code to a server on this machine, which streams the stages back.
"use strict";
{
  class ServerCompiler {
    // `token` is the token that the page was served with. The server accepts only requests with this token.
    constructor(token) {
      Object.assign(this, { token, client: crypto.randomUUID(), sent: 0 });
    }

    // Return the initial state of the playground: the file, its function and arguments, the targets and the examples.
    start() {
      return this.ask("start");
    }

    // Return the example programs: `{ name, title, question, code, function, arguments, options, target, view }`.
    async programs() {
      return (await this.start()).examples;
    }

    // Analyze code without running it: its functions, the chosen one, its arguments as text, and syntax errors.
    describe(code, wanted) {
      return this.ask("describe", { code, function: wanted });
    }

    // Return a text to copy. `kind` is `test`, `issue` or `command`.
    async copy(kind, request) {
      return (await this.ask("copy", { kind, ...request })).text;
    }

    // Compile. `tell` receives each event as it arrives; an event with data also has an offer for the explorer. A new
    // request supersedes the previous one. Return a promise of all offers.
    async send(request, tell) {
      const id = `${this.client}-${++this.sent}`;
      const offers = new Map();
      const answer = await this.post("compile", { id, client: this.client, ...request });
      for await (const event of events(answer.body)) {
        if (event.event === "data") tell({ ...event, offer: this.offer(id, event, offers) });
        else tell(event);
      }
      return [...offers.values()];
    }

    stop() {
      return this.ask("stop", { client: this.client });
    }

    // Return the offer of a target. Each target has one offer, which holds the most complete data so far.
    offer(id, { target, data }, offers) {
      if (!offers.has(target)) {
        const load = async () => offers.get(target).data;
        const loadDetails = () => this.ask("details", { id, target });
        offers.set(target, { target, title: data.title, load, loadDetails });
      }
      return Object.assign(offers.get(target), { data });
    }

    async renew() {
      const page = new DOMParser().parseFromString(await (await fetch("./")).text(), "text/html");
      const token = page.querySelector('meta[name="play-token"]')?.content;
      const isOther = Boolean(token) && token !== this.token;
      if (isOther) this.token = token;
      return isOther;
    }

    async ask(path, body) {
      return (await this.post(path, body)).json();
    }

    async post(path, body, isAgain = false) {
      const headers = { "X-Play-Token": this.token, "Content-Type": "application/json" };
      const options = body === undefined ? { headers } : { method: "POST", headers, body: JSON.stringify(body) };
      let answer;
      try {
        answer = await fetch(path, options);
      } catch {
        throw new Error("the server does not answer: is `xla-inspect play` still running? Your edits are kept in this browser");
      }
      // A restarted server has a new token, which is in the page that it serves.
      if (answer.status === 403 && !isAgain && (await this.renew())) return this.post(path, body, true);
      if (!answer.ok) throw new Error(await explain(answer));
      return answer;
    }
  }

  // Return why the server refused a request, in the server's own words if it gave any.
  const explain = async (answer) => {
    const text = await answer.text();
    try {
      const told = JSON.parse(text);
      return told.error ?? told.message ?? text;
    } catch {
      return text || `the server refused (${answer.status})`;
    }
  };

  // Yield the JSON value of each line of a stream.
  async function* events(stream) {
    const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
    const parts = []; // parts of an incomplete line, joined only once, when the line is complete
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      const [first, ...others] = value.split("\n");
      parts.push(first);
      for (const next of others) {
        const line = parts.splice(0).join("");
        if (line.trim()) yield JSON.parse(line);
        parts.push(next);
      }
    }
    const rest = parts.join("");
    if (rest.trim()) yield JSON.parse(rest);
  }

  Object.assign((globalThis.xlaExplorer ??= {}), { ServerCompiler });
}
