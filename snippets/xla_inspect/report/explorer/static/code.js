// The code view: each kernel's hardware usage and its texts. A text is fetched when the reader opens it.
"use strict";
{
  const { element, whole, count, percent, row, views, badge, breakable, help, listing, Stages } = globalThis.xlaExplorer;

  const figures = (kernel) =>
    element("dl", { class: "figures" }, ...kernel.figures.flatMap(([name, value, what]) => [
      element("dt", {}, name),
      element("dd", {}, element("b", {}, value), " ", element("small", {}, what)),
    ]));

  const bars = (kernel) =>
    kernel.bars.length
      ? element(
          "figure",
          { class: "shares" },
          element("figcaption", {}, kernel.barred),
          element("dl", {}, ...kernel.bars.flatMap(([name, share, what]) => [
            element("dt", { title: what }, name),
            element("dd", {}, element("i", { style: `width: ${(70 * share).toFixed(1)}%` }), ` ${percent(share)}`),
          ])),
        )
      : "";

  // Create a fold whose content is built when it is first opened.
  const fold = (attributes, summary, fill) => {
    const made = element("details", attributes, element("summary", {}, ...summary));
    made.fill = () => made.children.length === 1 && fill(made);
    made.addEventListener("toggle", () => made.open && made.fill());
    return made;
  };

  const steps = (model, kernel) => {
    if (!kernel.steps.length) return "";
    const sizes = kernel.steps.map(([, instructions]) => instructions).filter((number) => number !== null);
    const said = [
      `${count(kernel.steps.length, "compiler step")} below HLO changed the kernel, ${kernel.unchanged} did not`,
      sizes.length ? `: ${whole(sizes[0])} instructions at first, ${whole(sizes.at(-1))} at last` : "",
    ].join("");
    return fold({ class: "listing" }, [said], (made) =>
      made.append(
        element("ol", { class: "steps" }, ...kernel.steps.map(([at, instructions, bundles]) => {
          const [name, what] = model.data.code.steps[at];
          const size = [instructions === null ? "" : count(instructions, "instruction"), bundles === null ? "" : count(bundles, "bundle")];
          return element("li", {}, element("b", {}, name), ` ${size.filter(Boolean).join(", ")}`, what ? element("small", {}, what) : "");
        })),
      ),
    );
  };

  const piece = (model, name, [title, lines, at, language]) =>
    fold({ class: "listing" }, [title, element("small", {}, ` ${count(lines, "line")}`)], async (made) => {
      const waiting = element("p", { class: "waiting" }, "Loading …");
      made.append(waiting);
      try {
        waiting.replaceWith(listing((await model.details()).code[at], language, `${title} of ${name}`));
        made.querySelector(".failed")?.remove();
      } catch (error) {
        waiting.remove();
        made.open = false;
        made.querySelector(".failed")?.remove();
        made.querySelector("summary").append(element("small", { class: "failed" }, ` did not load: ${error.message}. Check the connection and open the text again.`));
      }
    });

  const lineOf = (model, kernel, place) =>
    element("button", { type: "button", class: "stop place", tabindex: -1, "data-place": place, "aria-label": `${model.place(place)}, ${kernel.name}` }, String(model.data.places[place][1]));

  const kernelOf = (model, kernel, state, rows, isOnly) => {
    const shown = kernel.figures.slice(0, 4).map(([name, value]) => `${name} ${value}`).join(", ");
    const made = fold(
      {
        class: "kernel",
        "data-places": kernel.places.join(" "),
        "data-holds": kernel.holds.join(" "),
      },
      [kernel.sort ? badge(kernel.sort) : "", element("b", {}, ...breakable(kernel.name)), element("small", {}, ` ${shown}`)],
      (it) =>
        it.append(
          element("ol", { class: "code" }, ...kernel.instructions.map((number) => rows.get(number)).filter(Boolean).map((each) => row(model, { ...each, kind: "same" }, state))),
          kernel.places.length ? element("p", { class: "from" }, "Lines of Python: ", ...kernel.places.map((place) => lineOf(model, kernel, place))) : "",
          new Stages(model, kernel, state).root,
          element("div", { class: "taken" }, figures(kernel), bars(kernel)),
          kernel.lines.length ? fold({ class: "listing" }, [`${count(kernel.lines.length, "loop or compiler remark", "loops and compiler remarks")}`], (made) => made.append(element("ul", { class: "remarks" }, ...kernel.lines.map((text) => element("li", {}, text))))) : "",
          steps(model, kernel),
        ),
    );
    // Open the fold if it contains the chosen instruction or line. `pane.js` calls this for each fold.
    made.reveal = (place, chosen) => {
      if (made.open || !(kernel.holds.includes(chosen) || (place >= 0 && chosen === null && kernel.places[0] === place))) return;
      made.fill();
      made.open = true;
    };
    if (isOnly) {
      made.fill();
      made.open = true;
    }
    return made;
  };

  const draw = (model, state) => {
    const { code } = model.data;
    const rows = new Map(model.module(model.last).flatMap((c) => c.rows.map((each) => [each.instruction, each])));
    const linked = Object.values(code.kernels.flatMap((kernel) => kernel.pieces)).some(([, , , language]) => language === "sass");
    const explained = help(
      "this view",
      "The kernels are in launch order. For each kernel, choose one stage, or two stages side by side. The HLO of a kernel is the body of its instruction, and each of its lines belongs to a line of Python.",
      "The code below HLO does not record lines of Python. So the code of a kernel belongs to the lines of all instructions fused in it, and is highlighted when one of these lines is chosen." +
        (linked ? " PTX and SASS are linked line by line through the assembler's line table." : ""),
    );
    return [
      element(
        "div",
        { class: "kernelcode" },
        element("div", { class: "over" }, element("p", { class: "sum" }, code.said), explained.button),
        explained.words,
        code.gap ? element("p", { class: "gap" }, code.gap) : "",
        ...code.kernels.map((kernel) => kernelOf(model, kernel, state, rows, code.kernels.length === 1)),
        ...code.pieces.map((each) => piece(model, "the whole program", each)),
      ),
    ];
  };

  Object.assign(views.code, {
    draw,
    count: (model, place) => model.data.code?.kernels.filter((kernel) => kernel.places.includes(place)).length ?? 0,
  });
}
