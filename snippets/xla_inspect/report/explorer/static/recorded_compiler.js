// A compiler that does not compile: it answers from recorded captures and needs no server.
"use strict";
{
  const { fetchData, normalize } = globalThis.xlaExplorer;
  const ELSEWHERE = "run `xla-inspect play` on your own machine to compile it";
  const DEFINITION = /^def\s+(\w+)\s*\(([^)]*)\)/gm;

  class RecordedCompiler {
    // `index` has the `programs`, `{ name, title, function, arguments, file }`, their `captures`, which are
    // `{ program, target, title, src, details, size }`, and the name of the file `codes`. All files are in `home`.
    constructor(index, home) {
      Object.assign(this, { index, home, sent: 0 });
    }

    async programs() {
      return this.index.programs;
    }

    // Return a promise of the code of each program by its name. The code is fetched on first use.
    codes() {
      this.coming ??= fetchData(this.home + this.index.codes);
      this.coming.catch(() => (this.coming = null));
      return this.coming;
    }

    // Return the initial state of a playground.
    async start() {
      const codes = await this.codes();
      const programs = this.index.programs.map((it) => ({ ...it, code: codes[it.name] }));
      const [first] = programs;
      const titles = new Map(this.index.captures.map(({ target, title }) => [target.split(":")[0], title]));
      return {
        ...first,
        targets: [titles.keys().next().value],
        options: {},
        flags: {},
        examples: programs.map((it) => ({ question: "", options: {}, ...it })),
        available: [...titles].map(([target, title]) => ({ target, title, obstacle: null })),
        limits: {},
        versions: {},
      };
    }

    // Return the functions that some code defines, and the arguments that were recorded for it.
    async describe(code, wanted) {
      const functions = [...code.matchAll(DEFINITION)].map((it) => ({
        name: it[1],
        line: code.slice(0, it.index).split("\n").length,
        parameters: it[2].split(",").map((each) => each.split(/[:=]/)[0].trim()).filter(Boolean),
      }));
      const recorded = await this.find({ code, function: wanted });
      const chosen = recorded?.function ?? wanted ?? functions.at(-1)?.name ?? "";
      return { functions, chosen, arguments: recorded?.arguments ?? "", errors: [] };
    }

    async copy(kind, request) {
      if (kind !== "command") throw new Error(`a recorded program cannot be compiled again here: ${ELSEWHERE}`);
      const found = await this.find(request);
      return `xla-inspect play ${found?.file.split("/").at(-1) ?? "FILE.py"}:${found?.function ?? request.function}`;
    }

    // Return the program of a request: the one that it names, else one with the same code and, if given, function.
    // Return undefined if the options or the arguments differ from the recorded ones.
    async find({ name, code, function: wanted, arguments: given = "", options = {} }) {
      const codes = name ? {} : await this.codes();
      const isMeant = (it) => (name ? it.name === name : normalize(codes[it.name]) === normalize(code));
      const isChanged = Object.values(options).some((it) => (Array.isArray(it) ? it.length : typeof it === "object" && it ? Object.keys(it).length : it));
      const same = this.index.programs.filter((it) => isMeant(it) && (!wanted || it.function === wanted));
      const spaceless = (text) => (text ?? "").replace(/\s/g, "");
      return isChanged ? undefined : same.find((it) => !given || !it.arguments || spaceless(it.arguments) === spaceless(given));
    }

    // Return the offers of a request. With `tell`, also fetch the data of each target and report it as an event.
    async send(request, tell) {
      const id = ++this.sent;
      const found = await this.find(request);
      const isWanted = ({ target }) => !request.targets?.length || request.targets.some((it) => [target, target.split(":")[0]].includes(it));
      const captures = found ? this.index.captures.filter((it) => it.program === found.name && isWanted(it)) : [];
      const offers = captures.map((it) => this.offer(found, it));
      if (!tell) return offers;
      tell({ event: "started", id });
      if (!captures.length) {
        const message = found ? "this target was not recorded" : "this page shows recorded compilations of its unchanged programs, and this program is not one of them";
        tell({ event: "failed", target: null, failure: { kind: "limit", message, line: null, column: null, hint: ELSEWHERE } });
      }
      await Promise.all(offers.map((offer) => this.tellOf(offer, tell, id)));
      if (id === this.sent) tell({ event: "done", id, seconds: 0 });
      return offers;
    }

    async tellOf(offer, tell, id) {
      const { target } = offer;
      try {
        const data = await offer.load();
        if (id === this.sent) tell({ event: "data", target, part: "whole", data, seconds: {}, offer });
      } catch (error) {
        const failure = { kind: "limit", message: `the data did not load: ${error.message}`, line: null, column: null, hint: "Check the connection" };
        if (id === this.sent) tell({ event: "failed", target, failure });
      }
    }

    // Stop reporting events of earlier requests.
    async stop() {
      this.sent += 1;
    }

    offer({ name, title: programTitle }, { target, title, src, details, size }) {
      return {
        program: name,
        programTitle,
        target,
        title,
        load: (tell) => fetchData(this.home + src, { title, size, tell }),
        loadDetails: details ? () => fetchData(this.home + details) : null,
      };
    }
  }

  Object.assign(globalThis.xlaExplorer, { RecordedCompiler });
}
