// Match the instructions of one module with those of another.
"use strict";
{
  const OPCODE = /^\s*(?:ROOT )?\S+ = (\(.*?\)|\S+) ([a-z][\w-]*)\(/;
  const layoutless = (shape) => shape.replace(/\{[^{}]*\}/g, "");

  // The keys by which instructions are matched, strictest first.
  const KEYS = [
    ({ place, name, opcode, shape }) => (place || name) && `${place}|${name}|${opcode}|${shape}`,
    ({ place, opcode, shape }) => place && `${place}|${opcode}|${shape}`,
    ({ name, opcode }) => name && `${name}|${opcode}`,
    ({ place, opcode }) => place && `${place}|${opcode}`,
    ({ place, name, opcode, shape }) => !place && !name && `${opcode}|${shape}`,
  ];

  // Return the opcode and shape of a text of a model. Each text is parsed once.
  const readText = (model, number) => {
    model.readTexts ??= new Map();
    if (!model.readTexts.has(number)) {
      const [, shape = "", opcode = ""] = model.data.texts[number].match(OPCODE) ?? [];
      model.readTexts.set(number, { shape: layoutless(shape), opcode });
    }
    return model.readTexts.get(number);
  };

  const describe = (model, state) =>
    model.module(state).flatMap((computation) =>
      computation.rows.map((row) => ({
        number: row.instruction,
        place: model.place(row.place),
        name: row.origin < 0 ? "" : model.data.origins[row.origin][0],
        ...readText(model, row.text),
      })),
    );

  // Match the instructions of two modules by Python line, `op_name`, opcode and shape, then by fewer of these.
  // Instructions with equal keys are matched in program order. `there` maps the first module to the second, `back` maps
  // the second to the first, and `of` gives the number of instructions in each.
  const match = ([model, state], [other, otherState]) => {
    let [left, right] = [describe(model, state), describe(other, otherState)];
    const of = [left.length, right.length];
    const [there, back] = [new Map(), new Map()];
    for (const key of KEYS) {
      const waiting = new Map();
      for (const it of right) {
        const value = key(it);
        if (value) waiting.set(value, [...(waiting.get(value) ?? []), it]);
      }
      for (const it of left) {
        const found = waiting.get(key(it))?.shift();
        if (!found) continue;
        there.set(it.number, found.number);
        back.set(found.number, it.number);
      }
      left = left.filter((it) => !there.has(it.number));
      right = right.filter((it) => !back.has(it.number));
    }
    return { there, back, of };
  };

  Object.assign(globalThis.xlaExplorer, { match });
}
