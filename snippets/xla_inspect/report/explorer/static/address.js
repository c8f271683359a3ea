// The explorer's state in the URL fragment, so that a link carries the state and Back restores the previous one.
"use strict";
{
  const NAMES = ["program", "target", "view", "pass", "donated"];
  const BESIDE = ["program", "target", "view", "pass"]; // fields of the second pane; in the URL each name ends with 2

  // Return the state in the URL fragment, or null if the fragment does not belong to this explorer.
  const readLink = (id) => {
    const fields = new URLSearchParams(location.hash.slice(1));
    if (fields.get("x") !== id) return null;
    const wanted = Object.fromEntries([...fields].filter(([name]) => NAMES.includes(name)));
    const beside = BESIDE.filter((name) => fields.has(`${name}2`)).map((name) => [name, fields.get(`${name}2`)]);
    const pair = beside.length ? Object.fromEntries(beside) : null;
    return { ...wanted, donated: fields.has("donated"), place: fields.get("line") ?? -1, pair };
  };

  // Return the URL fragment of a state. `place` is `file:line` or an empty string.
  const writeLink = ({ id, program, target, view, pass, donated, pair }, place) => {
    const fields = { x: id, ...(program && { program }), target, view };
    if (view === "passes") fields.pass = pass;
    if (place) fields.line = place;
    if (donated) fields.donated = 1;
    for (const name of pair ? BESIDE : []) if (pair[name] !== "" && (name !== "pass" || pair.view === "passes")) fields[`${name}2`] = pair[name];
    // A fragment may contain unescaped slashes and colons.
    return new URLSearchParams(fields).toString().replaceAll("%2F", "/").replaceAll("%3A", ":");
  };

  // Set the URL fragment, either as a new history entry or by replacing the current one.
  const putLink = (link, isNew) => {
    if (`#${link}` === location.hash) return;
    if (isNew) history.pushState(null, "", `#${link}`);
    else history.replaceState(history.state, "", `#${link}`);
  };

  Object.assign((globalThis.xlaExplorer ??= {}), { readLink, writeLink, putLink });
}
