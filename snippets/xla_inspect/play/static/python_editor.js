// The Python editor: syntax colors, a bar in the gutter for each line with results, and problems marked at their lines.
"use strict";
if (globalThis.codeMirror) {
  const {
    Compartment, Decoration, EditorSelection, EditorState, EditorView, GutterMarker, RangeSet, StateEffect, StateField,
    bracketMatching, classHighlighter, defaultKeymap, gutter, highlightActiveLine, highlightActiveLineGutter, history,
    historyKeymap, indentOnInput, indentUnit, indentWithTab, keymap, lineNumbers, lintGutter, lintKeymap, python, search,
    searchKeymap, setDiagnostics, syntaxHighlighting, unifiedMergeView,
  } = globalThis.codeMirror;

  // A line of the compiled code with its color. Its position follows edits; `line` is its number in the compiled code.
  class Place extends GutterMarker {
    constructor(line, colour) {
      super();
      Object.assign(this, { line, colour });
    }

    eq(other) {
      return other.line === this.line && other.colour === this.colour;
    }

    toDOM() {
      const bar = document.createElement("span");
      bar.className = "place";
      bar.style.background = this.colour;
      return bar;
    }
  }

  const [setPlaces, setLit] = [StateEffect.define(), StateEffect.define()];
  // Create a field of positions. An edit shifts the positions behind it, and an effect replaces them.
  const follow = (effect, make) =>
    StateField.define({
      create: () => RangeSet.empty,
      update: (set, transaction) => {
        const told = transaction.effects.findLast((it) => it.is(effect));
        return told ? make(told.value, transaction.state.doc) : set.map(transaction.changes);
      },
    });
  const places = follow(setPlaces, (colours, doc) => {
    const known = Object.entries(colours).map(([line, colour]) => [Number(line), colour]);
    const inside = known.filter(([line]) => line >= 1 && line <= doc.lines).sort(([a], [b]) => a - b);
    return RangeSet.of(inside.map(([line, colour]) => new Place(line, colour).range(doc.line(line).from)));
  });
  const lit = follow(setLit, (at, doc) => (at === null ? RangeSet.empty : RangeSet.of([Decoration.line({ class: "lit" }).range(doc.lineAt(at).from)])));

  const start = (doc, number) => doc.line(Math.min(Math.max(number, 1), doc.lines));

  // Return the range of a problem in the text. Lines and columns count from 1.
  const diagnose = (doc, { line, column, end_line: last, end_column: until, message, source }) => {
    const first = start(doc, line);
    const from = column > 0 ? Math.min(first.from + column - 1, first.to) : first.from + (first.text.length - first.text.trimStart().length);
    const end = last ? start(doc, last) : first;
    const to = until > 0 && last ? Math.min(end.from + until - 1, end.to) : last && last !== line ? end.to : first.to;
    return { from, to: Math.max(from, to), severity: "error", message, source };
  };

  class PythonEditor {
    // `act` is described in `plain_editor.js`.
    constructor(host, text, act) {
      this.merging = new Compartment();
      this.replacing = false;
      const listener = EditorView.updateListener.of((update) => {
        if (update.docChanged && !this.replacing) act.change();
        if (update.docChanged || !update.selectionSet) return;
        const [was, now] = [update.startState, update.state].map((it) => it.doc.lineAt(it.selection.main.head).number);
        if (was !== now || update.transactions.some((it) => it.isUserEvent("select.pointer"))) act.line(this.compiledLine(now));
      });
      this.options = [
        lineNumbers(),
        gutter({ class: "cm-places", markers: (view) => view.state.field(places) }),
        lintGutter(),
        history(),
        bracketMatching(),
        indentOnInput(),
        indentUnit.of("    "),
        highlightActiveLine(),
        highlightActiveLineGutter(),
        python(),
        syntaxHighlighting(classHighlighter),
        search({ top: true }),
        keymap.of([...searchKeymap, ...historyKeymap, ...lintKeymap, ...defaultKeymap, indentWithTab]),
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ tabindex: "0", "aria-label": "Python", "aria-describedby": "leaving" }),
        places,
        lit,
        EditorView.decorations.from(lit),
        this.merging.of([]),
        listener,
      ];
      this.view = new EditorView({ parent: host, state: EditorState.create({ doc: text, extensions: this.options }) });
    }

    get text() {
      return this.view.state.doc.toString();
    }

    // Replace the program. Undo restores the previous one.
    replace(text) {
      this.replacing = true;
      this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text }, selection: EditorSelection.cursor(0) });
      this.view.dispatch({ effects: [setPlaces.of({}), setLit.of(null)] });
      this.replacing = false;
    }

    // Return the number that a line had in the compiled code, or its current number if the line has no result.
    compiledLine(number) {
      let found = number;
      const { from, to } = this.view.state.doc.line(number);
      this.view.state.field(places).between(from, to, (_, __, place) => void (found = place.line));
      return found;
    }

    // Return the current position of a line of the compiled code, or null.
    position(line) {
      for (const at = this.view.state.field(places).iter(); at.value; at.next()) if (at.value.line === line) return at.from;
      return null;
    }

    go(line) {
      const { from } = start(this.view.state.doc, line);
      this.view.dispatch({ selection: EditorSelection.cursor(from), effects: EditorView.scrollIntoView(from, { y: "center" }) });
      this.view.focus();
    }

    focus() {
      this.view.focus();
    }

    // Mark problems: `{ line, column, end_line, message, source }`. Problems without a line are only in the list.
    mark(faults) {
      const { doc } = this.view.state;
      const found = faults.filter((it) => it.line).map((it) => diagnose(doc, it));
      this.view.dispatch(setDiagnostics(this.view.state, found));
    }

    // Set the color of each line with results, by line number.
    colour(colours) {
      this.view.dispatch({ effects: setPlaces.of(colours) });
    }

    // Highlight a line of the compiled code, or none. Scroll to the line only if the editor does not have the focus.
    light(line) {
      const at = line === null ? null : this.position(line);
      const effects = [setLit.of(at)];
      if (at !== null && !this.view.hasFocus) effects.push(EditorView.scrollIntoView(at));
      this.view.dispatch({ effects });
    }

    // Show the differences from another text in place, or hide them if `text` is null.
    against(text) {
      const shown = text === null ? [] : unifiedMergeView({ original: text, mergeControls: false, highlightChanges: true, gutter: true });
      this.view.dispatch({ effects: this.merging.reconfigure(shown) });
    }
  }

  Object.assign(globalThis.xlaExplorer, { PythonEditor });
}
