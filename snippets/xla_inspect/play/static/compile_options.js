// The compile options: the targets, the transformations of the function, the mesh of devices, and the options of XLA.
"use strict";
{
  const { element } = globalThis.xlaExplorer;
  const [BATCH, MESH] = [8, "data=8"]; // the initial batch size and mesh
  const FIRST = 3; // the number of targets to select if none is selected

  // Parse options, `name=value` separated by whitespace. Return `{ name: value }` and the words that are no options.
  const readFlags = (text) => {
    const [flags, wrong] = [{}, []];
    for (const line of text.split(/[\n\s]+/).filter((it) => it)) {
      const match = line.match(/^(?:--)?([A-Za-z_]\w*)=(.*)$/);
      if (match) flags[match[1]] = match[2];
      else wrong.push(line);
    }
    return { flags, wrong };
  };

  class CompileOptions {
    // `available` lists `{ target, title, obstacle }`. `known` lists the names of known options by target.
    constructor(available, known, change) {
      Object.assign(this, { available, change });
      const box = (name, label, more = {}) => {
        const input = element("input", { type: "checkbox", name, ...more, on: { change: () => this.edited() } });
        return [input, element("label", { title: more.title }, input, label)];
      };
      this.boxes = new Map();
      const targets = available.map(({ target, title, obstacle }) => {
        const [input, label] = box(target, title, { disabled: Boolean(obstacle), title: obstacle ?? undefined });
        this.boxes.set(target, input);
        return label;
      });
      const missing = available.filter((it) => it.obstacle);
      const why = missing.length ? [element("details", { class: "obstacles" }, element("summary", {}, "Why some cannot be chosen"), ...missing.map((it) => element("p", {}, `${it.title}: ${it.obstacle}`)))] : [];
      const field = (attributes) => element("input", { ...attributes, on: { input: () => this.edited() } });
      const [grad, gradLabel] = box("grad", "grad, by the first argument");
      const [vmap, vmapLabel] = box("vmap", "vmap over a batch of");
      const [mesh, meshLabel] = box("mesh", "over a mesh of");
      this.batch = field({ type: "number", min: 1, value: BATCH, "aria-label": "Examples in the batch" });
      this.axes = field({ type: "text", value: MESH, size: 16, spellcheck: "false", "aria-label": "Axes of the mesh with their sizes" });
      this.text = element("textarea", { rows: 2, spellcheck: "false", "aria-label": "Options of XLA, a line each", placeholder: "xla_gpu_autotune_level=0", on: { input: () => this.edited() } });
      this.wrong = element("p", { class: "wrong", role: "status" });
      Object.assign(this, { grad, vmap, mesh });
      const names = element("select", { "aria-label": "A known option of XLA", on: { change: () => this.add(names) } }, element("option", { value: "" }, "known options …"));
      for (const [target, each] of Object.entries(known ?? {})) {
        const group = element("optgroup", { label: available.find((it) => it.target === target)?.title ?? target });
        group.append(...each.map((name) => element("option", { value: name }, name)));
        names.append(group);
      }
      names.hidden = names.options.length < 2;
      this.said = element("span", { class: "said" });
      this.root = element(
        "details",
        { class: "fold options" },
        element("summary", {}, "Targets", this.said),
        element("div", { class: "targets", role: "group", "aria-label": "Targets" }, ...targets),
        ...why,
        element("div", { class: "transforms", role: "group", "aria-label": "Transformations" }, element("p", {}, gradLabel), element("p", {}, vmapLabel, this.batch), element("p", {}, meshLabel, this.axes)),
        element("p", {}, "Options of XLA ", names),
        this.text,
        this.wrong,
      );
    }

    get targets() {
      return this.available.map((it) => it.target).filter((it) => this.boxes.get(it).checked);
    }

    get value() {
      const { grad, vmap, mesh, batch, axes } = this;
      return { grad: grad.checked, vmap: vmap.checked ? Number(batch.value) || BATCH : 0, mesh: mesh.checked ? axes.value.trim() : null, flags: readFlags(this.text.value).flags };
    }

    // Load options from stored edits, a link or an example. Targets that cannot be compiled for here are ignored.
    take(targets, { grad = false, vmap = 0, mesh = null, flags = {} } = {}) {
      const can = (targets ?? []).filter((it) => this.boxes.has(it) && !this.boxes.get(it).disabled);
      if (can.length) for (const [target, input] of this.boxes) input.checked = can.includes(target);
      if (!this.targets.length) for (const input of [...this.boxes.values()].filter((it) => !it.disabled).slice(0, FIRST)) input.checked = true;
      this.grad.checked = Boolean(grad);
      this.vmap.checked = Boolean(vmap);
      if (Number(vmap) > 0) this.batch.value = vmap === true ? BATCH : Number(vmap);
      this.mesh.checked = Boolean(mesh);
      if (mesh) this.axes.value = mesh;
      this.text.value = Object.entries(flags ?? {}).map(([name, value]) => `${name}=${value}`).join("\n");
      this.summarize();
    }

    add(names) {
      if (!names.value) return;
      this.text.value = `${this.text.value.trimEnd()}${this.text.value.trim() ? "\n" : ""}${names.value}=`;
      names.value = "";
      this.text.focus();
      this.summarize();
    }

    edited() {
      this.summarize();
      this.change();
    }

    summarize() {
      const { flags, wrong } = readFlags(this.text.value);
      const { grad, vmap, mesh } = this.value;
      const titles = this.available.filter((it) => this.boxes.get(it.target).checked).map((it) => it.title);
      const count = Object.keys(flags).length;
      const more = [grad && "grad", vmap && `vmap ${vmap}`, mesh && `mesh ${mesh}`, count && `${count} ${count === 1 ? "option" : "options"} of XLA`];
      this.said.textContent = [titles.join(", ") || "none is chosen", ...more.filter((it) => it)].join(" · ");
      this.wrong.textContent = wrong.length ? `Write an option with its value, such as xla_gpu_autotune_level=0; this is none: ${wrong.join(", ")}` : "";
    }
  }

  Object.assign(globalThis.xlaExplorer, { CompileOptions, readFlags });
}
