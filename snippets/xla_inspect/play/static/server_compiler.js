// The compiler behind `xla-inspect play`, on this machine: code is sent to it, and stages come back one by one.
"use strict";
{
  class ServerCompiler {
    // `token` is what the page was served with; the server takes requests with it alone.
    constructor(token) {
      Object.assign(this, { token, client: crypto.randomUUID(), sent: 0 });
    }

    // What the playground begins with: the file, its function and arguments, targets, examples.
    start() {
      return this.ask("start");
    }

    // Programs to begin with: `{ name, title, question, code, function, arguments, options, target, view }`.
    async programs() {
      return (await this.start()).examples;
    }

    // What is in some code, without running it: functions, the chosen one, its arguments as text, faults of syntax.
    describe(code, wanted) {
      return this.ask("describe", { code, function: wanted });
    }

    // A text to copy: `test`, `issue` or `command`.
    async copy(kind, request) {
      return (await this.ask("copy", { kind, ...request })).text;
    }

    // Compile; `tell` gets each event as it comes, with an offer for the explorer where one brings data. What was sent
    // before is superseded. The promise is of all offers.
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

    // One offer for each target, of the most complete data that came.
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
      // A server that was started anew has another token, which its page holds.
      if (answer.status === 403 && !isAgain && (await this.renew())) return this.post(path, body, true);
      if (!answer.ok) throw new Error(await explain(answer));
      return answer;
    }
  }

  // Why the server refused, in its own words where it gave some.
  const explain = async (answer) => {
    const text = await answer.text();
    try {
      const told = JSON.parse(text);
      return told.error ?? told.message ?? text;
    } catch {
      return text || `the server refused (${answer.status})`;
    }
  };

  // The JSON of each line of a stream.
  async function* events(stream) {
    const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
    const parts = []; // of a line that has not ended: they are joined once, however many there are
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
