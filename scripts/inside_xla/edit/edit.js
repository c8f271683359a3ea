// Makes of each place that says how a program is edited an editor, on a page that this machine serves.
"use strict";
{
  const { PageParts, ProgramEditor, make } = globalThis.pageEdits;
  const told = (name) => document.querySelector(`meta[name="${name}"]`)?.content ?? "";
  const TOKEN = told("edit-token");
  const client = crypto.getRandomValues(new Uint32Array(3)).join("-");
  const parts = new PageParts();
  let loading;

  const load = (name) =>
    new Promise((done) => {
      const script = make("script", { src: `/edit/${name}`, async: false, onload: done, onerror: done });
      document.head.append(script);
    });
  // One after the other, since each uses those before it; without the one with colours the plain editor serves.
  const loadEditor = () => (loading ??= told("edit-scripts").split(" ").reduce((before, name) => before.then(() => load(name)), Promise.resolve()));

  const post = (what, body) =>
    fetch(`/edit/${what}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Edit-Token": TOKEN },
      body: JSON.stringify({ client, ...body }),
    });

  // Reads what a run tells, a line an event, and returns the last.
  const follow = async (answer, tell) => {
    if (!answer.ok) return { event: "refused", error: (await answer.json()).error };
    let [rest, last] = ["", {}];
    for await (const chunk of readText(answer.body)) {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop();
      for (const line of lines.filter(Boolean)) {
        last = JSON.parse(line);
        if (last.event === "work") tell(last.text);
      }
    }
    return last;
  };

  async function* readText(body) {
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  }

  let open; // one program of a page is edited at a time

  // An edit outlives that the page is loaded again, as it is where something of the project was edited.
  const draft = (place, ...text) => {
    const key = `edit:${place.dataset.page}:${place.dataset.file}`;
    try {
      if (!text.length) return sessionStorage.getItem(key);
      if (text[0] === null) sessionStorage.removeItem(key);
      else sessionStorage.setItem(key, text[0]);
    } catch {}
    return null;
  };

  const edit = async (place, button, text = null) => {
    open?.close();
    const asked = { page: place.dataset.page, file: place.dataset.file };
    const said = make("span");
    said.setAttribute("role", "status");
    button.after(said);
    said.textContent = " Loading …";
    try {
      const [answer] = await Promise.all([post("open", asked), loadEditor()]);
      const given = await answer.json();
      if (!answer.ok) throw new Error(given.error);
      said.remove();
      button.hidden = true;
      const act = {
        parts,
        run: (text, tell) => post("run", { ...asked, text }).then((reply) => follow(reply, tell)).catch((error) => ({ event: "lost", error: `The server did not answer: ${error.message}` })),
        stop: () => void post("stop", {}).catch(() => {}),
        keep: (typed) => draft(place, typed === given.text ? null : typed),
        close: () => {
          draft(place, null);
          open = undefined;
          button.hidden = false;
          button.focus();
        },
      };
      open = new ProgramEditor(place, given.text, act);
      if (text === null) open.focus();
      else open.take(text);
    } catch (error) {
      said.textContent = ` It did not open: ${error.message}`;
    }
  };

  for (const place of document.querySelectorAll(".program-edit[data-file][data-page]")) {
    const button = make("button", { type: "button", className: "edit-open" }, "Edit");
    button.setAttribute("aria-label", `Edit ${place.dataset.file.split("/").at(-1)} here`);
    button.addEventListener("click", () => edit(place, button));
    place.prepend(button);
    const kept = draft(place);
    if (kept !== null && !open) edit(place, button, kept);
  }
}
