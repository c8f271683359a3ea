// The playground: it compiles the code after a pause in typing, and shows the stages as they arrive.
"use strict";
{
  const X = globalThis.xlaExplorer;
  const { Explorer, Problems, ArgumentList, CompileOptions, RunLine, Counterparts, PlayMenus, Notices, Drafts } = X;
  const { Sharing, holdsCode, when, EDIT } = X;
  const PAUSE = 400; // milliseconds without an edit before it compiles
  const EARLY = ["jaxpr", "stablehlo"]; // views whose data is ready before compilation

  class Playground {
    // `compiler` is a `ServerCompiler` or has the same interface. `told` is the answer of its `start()`.
    constructor(compiler, told) {
      Object.assign(this, { compiler, told, chosen: told.function, explorer: null, run: null, held: false, look: {} });
      const find = (id) => document.getElementById(id);
      this.titles = (target) => told.available.find((it) => it.target === target)?.title ?? target;
      this.root = find("explorer");
      this.result = find("result");
      this.notices = new Notices(find("notices"));
      this.drafts = new Drafts(told.file || "new");
      this.sharing = new Sharing(this);
      const Editor = X.PythonEditor ?? X.PlainEditor;
      this.editor = new Editor(find("editor"), told.code, { change: () => this.edited(), line: (line) => this.lightLine(line) });
      this.problems = new Problems(find("problems"), this.titles, (line) => this.editor.go(line));
      this.args = new ArgumentList(() => this.edited());
      this.options = new CompileOptions(told.available, told.flags, () => this.edited());
      find("folds").replaceChildren(this.args.root, this.options.root);
      this.line = new RunLine(this.titles, () => this.stop());
      this.counterparts = new Counterparts(() => this.compare());
      find("run").replaceChildren(this.line.root, this.counterparts.root);
      this.menus = new PlayMenus(find("menus"), told.examples ?? [], told.file, this.actions());
      find("subject").textContent = told.file;
      document.title = `${told.file || "XLA"} · playground`;
      this.root.addEventListener("explorer:shown", (event) => this.follow(event.detail));
      document.addEventListener("keydown", (event) => this.onKey(event));
      window.addEventListener("hashchange", () => holdsCode(location.hash) && this.sharing.open(location.hash));
      window.addEventListener("pagehide", () => this.isEdited && this.keep());
    }

    actions() {
      return {
        start: (it) => this.begin(it, it),
        file: () => this.begin(this.told),
        restore: (it) => this.begin(it),
        earlier: () => this.drafts.read().earlier,
        choose: (name) => this.choose(name),
        open: (link) => this.sharing.open(link),
        link: () => this.sharing.copyLink(),
        copy: (kind) => this.sharing.copyText(kind),
        download: () => this.sharing.download(),
      };
    }

    // Show the code of a link, else the reader's stored edits, else the file.
    async start() {
      const { now } = this.drafts.read();
      const own = this.told.examples?.find((it) => it.code === this.told.code);
      this.ask(own);
      this.options.take(this.told.targets, this.told.options);
      this.args.take({ arguments: this.told.arguments, ...this.told.options });
      if (holdsCode(location.hash)) return this.sharing.open(location.hash);
      if (now && now.code !== this.told.code) {
        this.put(now);
        const back = ["Show the file's", () => this.begin(this.told)];
        this.notices.say("kept", `These are your edits of ${when(now.kept)}; the file holds another text.`, [back]);
      }
      await this.compile();
    }

    // The request that a compilation would send now.
    get request() {
      const { donate, static: fixed, arguments: shapes } = this.args.value;
      const options = { donate, static: fixed, ...this.options.value };
      return { code: this.editor.text, function: this.chosen ?? "", arguments: shapes, targets: this.options.targets, options };
    }

    // Load a program into the editor: `{ code, function, arguments, targets, options }`.
    put(it) {
      this.editor.replace(it.code);
      this.chosen = it.function || null;
      this.args.take({ arguments: it.arguments, ...it.options });
      this.options.take(it.targets?.length ? it.targets : this.options.targets, it.options);
    }

    // Switch to the program that the reader chose, and store the previous one among the earlier edits.
    begin(it, example) {
      this.drafts.keep(this.request);
      this.held = false;
      this.notices.clear("held");
      this.counterparts.forget();
      this.ask(example);
      const { look } = this;
      this.put(it);
      this.drafts.keep(this.request, true);
      if (look.target && !this.options.targets.includes(look.target)) this.options.take([...this.options.targets, look.target], it.options);
      if (this.explorer && look.view) this.explorer.show({ view: look.view, pair: null });
      this.compile();
      this.editor.focus();
    }

    // Show the question of an example, and note the target and view of its answer.
    ask(example) {
      this.look = example ? { target: example.target, view: example.view } : {};
      document.getElementById("question").textContent = example?.question ?? "";
    }

    choose(name) {
      this.chosen = name;
      this.edited();
    }

    edited() {
      this.isEdited = true;
      this.keep();
      if (this.run) this.age();
      if (this.held) return;
      clearTimeout(this.pause);
      this.pause = setTimeout(() => this.compile(), PAUSE);
    }

    // Do not store code from a link before the reader runs it, because stored code runs when the page is opened again.
    keep() {
      if (this.held || this.drafts.keep(this.request) || this.isTold) return;
      this.isTold = true;
      this.notices.say("lost", "This browser keeps nothing for this page: download what you want to keep.");
    }

    async compile() {
      clearTimeout(this.pause);
      if (this.held) return;
      const { code } = this.request;
      const isCurrent = () => code === this.editor.text && !this.held;
      try {
        const isReady = await this.describe(code);
        if (!isCurrent() || !isReady) return;
        await this.send();
      } catch (error) {
        this.fail(error);
      }
    }

    // Ask for the functions and arguments in the code, and report syntax errors. Return whether it can be compiled.
    async describe(code) {
      const told = await this.compiler.describe(code, this.chosen ?? "");
      if (code !== this.editor.text) return false;
      const isOther = this.described !== undefined && this.described !== told.chosen;
      if (told.functions.length) this.menus.list(told.functions, told.chosen);
      const own = told.functions.find((it) => it.name === told.chosen);
      if (own) {
        this.args.describe(own.parameters, told.arguments ?? "", isOther);
        Object.assign(this, { described: told.chosen, chosen: told.chosen });
      }
      if (!told.errors.length) return true;
      if (this.line.isRunning) this.compiler.stop().catch(() => {});
      this.problems.clear();
      for (const it of told.errors) this.problems.add(null, { kind: "syntax", ...it });
      this.isFresh = false; // the end of the previous run must not clear these problems
      this.editor.mark(this.problems.faults);
      this.age();
      return false;
    }

    async send() {
      const request = this.request;
      if (!request.targets.length) return this.line.age("choose a target");
      const run = { request, key: JSON.stringify(request), offers: new Map(), early: new Set(), isDone: false };
      this.run = run;
      this.counterparts.begin(run);
      this.line.start(request.targets);
      this.isFresh = true; // the problems shown now belong to the previous run
      this.age();
      await this.compiler.send(request, (event) => run === this.run && this.hear(run, event));
      if (run === this.run && this.line.isRunning) this.end(run);
    }

    hear(run, told) {
      // The returned target may include the number of its devices.
      const target = run.request.targets.includes(told.target) ? told.target : told.target?.split(":")[0];
      const event = { ...told, target };
      if (event.event === "traced") this.line.tell(target, "compiling");
      else if (event.event === "data") this.receive(run, event);
      else if (event.event === "failed") this.refuse(run, target, event.failure);
      else if (event.event === "output") (this.refresh(), this.problems.print(event.text));
      else if (event.event === "done" || event.event === "superseded") this.end(run);
    }

    // Clear the problems of the previous run when the new run reports its first problem.
    refresh() {
      if (this.isFresh) this.problems.clear();
      this.isFresh = false;
    }

    receive(run, { target, part, offer, data, seconds }) {
      const isWhole = part === "whole";
      this.line.tell(target, isWhole ? "done" : "compiling", isWhole ? total(seconds) : undefined);
      if (!isWhole && !this.wants(run, target)) return;
      const isKnown = run.early.has(target);
      run.offers.set(target, Object.assign(offer, { code: run.request.code }));
      if (!isWhole) run.early.add(target);
      const shown = isWhole && isKnown ? this.explorer.refresh(offer.target, data) : this.show(offer.target);
      shown.then(() => isWhole && this.arrive(target, offer.target));
      this.age();
    }

    // Return whether to show the stages before compilation. They do not replace a complete result, unless the reader is
    // looking at one of these stages.
    wants(run, target) {
      const { target: shown, view } = this.explorer?.state ?? {};
      return !run.older.has(target) || (shown === target && EARLY.includes(view));
    }

    // Pass the available results to the explorer.
    async show(target) {
      const offers = this.counterparts.offers();
      document.getElementById("waiting").hidden = true;
      document.body.classList.add("has-result");
      if (this.explorer) return this.explorer.offer(offers, { current: { program: EDIT } });
      const style = document.getElementById("style").content.firstElementChild.cloneNode(true);
      this.explorer = new Explorer(this.root, "play", offers, style, { noSource: true, subject: `${this.told.file}:${this.chosen}` });
      this.opening = X.readLink("play") ?? { view: this.look.view ?? "passes" };
      this.started = this.explorer.start({ program: EDIT, target, view: this.opening.view });
      await this.started;
      this.opened = this.explorer.state.view;
    }

    // A target is complete. Show the target and view that an example or a link names. Otherwise the first result opens
    // on the pass that fuses most, unless the reader has already chosen a view.
    async arrive(asked, target) {
      await this.started;
      const { explorer, look, opening, opened } = this;
      const isMeant = [asked, target].includes(look.target);
      if (!isMeant && (!opening || look.target || explorer.state.target !== target)) return;
      Object.assign(this, { opening: null, look: isMeant ? {} : look });
      if (!isMeant && (!opened || explorer.state.view !== opened)) return;
      const view = isMeant ? look.view : opening.view;
      await explorer.show({ program: EDIT, target, ...(view && { view }) });
      if (opening && view === "passes" && !opening.pass) await explorer.show({ pass: explorer.first.findFusion() });
    }

    refuse(run, target, failure) {
      this.refresh();
      this.problems.add(target, failure);
      this.editor.mark(this.problems.faults);
      for (const each of target ? [target] : run.request.targets) this.line.tell(each, "failed");
      this.age();
    }

    end(run) {
      run.isDone = true;
      this.line.end();
      if (this.isFresh) this.refresh();
      this.editor.mark(this.problems.faults);
      this.counterparts.update();
      this.age();
    }

    stop() {
      this.compiler.stop().catch((error) => this.fail(error));
      if (this.run) this.end(this.run);
      this.run = null;
    }

    fail(error) {
      this.line.end("failed");
      this.refresh();
      this.problems.add(null, { kind: "server", message: error.message });
      this.age();
    }

    // Mark the result as old if it belongs to other code than the editor's.
    age() {
      const { run, explorer } = this;
      const isNow = run?.key === JSON.stringify(this.request) && [...run.offers.values()].some((it) => it.target === explorer?.state.target);
      const isOld = Boolean(explorer) && !isNow;
      this.result.classList.toggle("old", isOld);
      this.line.age(isOld ? "the result is of older code" : "");
    }

    compare() {
      this.editor.against(this.counterparts.text);
      document.body.classList.toggle("beside", Boolean(this.counterparts.beside.value));
      if (!this.explorer) return;
      const { target, view, pass } = this.explorer.state;
      const program = this.counterparts.beside.value;
      this.explorer.offers.replace(this.counterparts.offers());
      this.explorer.show({ pair: program ? { program, target, view, pass } : null });
    }

    // The explorer changed: update the colors and the highlighted line of the editor.
    follow({ place, colours }) {
      const { model, offer } = this.explorer.first;
      const file = model.data.sources[0]?.[0];
      if (offer.code === this.editor.text) this.editor.colour(colours[file] ?? {});
      const line = place?.startsWith(`${file}:`) ? Number(place.slice(file.length + 1)) : null;
      this.editor.light(line);
      this.age();
    }

    lightLine(line) {
      const file = this.explorer?.first.model?.data.sources[0]?.[0];
      if (file) this.explorer.light(`${file}:${line}`);
    }

    onKey(event) {
      if (!(event.ctrlKey || event.metaKey)) return;
      if (event.key === "Enter") this.compile();
      else if (event.key === "s") this.notices.say("saved", "Your edits are kept in this browser. The file is never written: Download gives it as it is here.", [["Download", () => this.sharing.download()]]);
      else return;
      event.preventDefault();
    }
  }

  const total = (seconds = {}) => Object.values(seconds).reduce((sum, it) => sum + (Number(it) || 0), 0);

  // Start the page with the server that served it, or with another compiler.
  const startPlayground = async (compiler) => {
    try {
      const page = new Playground(compiler, await compiler.start());
      globalThis.xlaExplorer.playground = page;
      await page.start();
    } catch (error) {
      new Notices(document.getElementById("notices")).say("broken", `The playground did not start: ${error.message}`);
    }
  };

  Object.assign(X, { Playground, startPlayground });
  const token = document.querySelector('meta[name="play-token"]').content;
  startPlayground(X.compiler ?? new X.ServerCompiler(token));
}
