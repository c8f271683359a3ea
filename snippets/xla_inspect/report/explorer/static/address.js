// The state of an explorer in the address of the page, so that a link carries it and Back leads to the one before.
"use strict";
{
  const NAMES = ["program", "target", "view", "pass", "donated"];
  const BESIDE = ["program", "target", "view", "pass"]; // of the second pane, with a 2 behind the name

  // The state that the address asks for, or null where it says nothing of this explorer.
  const readLink = (id) => {
    const fields = new URLSearchParams(location.hash.slice(1));
    if (fields.get("x") !== id) return null;
    const wanted = Object.fromEntries([...fields].filter(([name]) => NAMES.includes(name)));
    const beside = BESIDE.filter((name) => fields.has(`${name}2`)).map((name) => [name, fields.get(`${name}2`)]);
    const pair = beside.length ? Object.fromEntries(beside) : null;
    return { ...wanted, donated: fields.has("donated"), place: fields.get("line") ?? -1, pair };
  };

  // `place` is `file:line`, or an empty string.
  const writeLink = ({ id, program, target, view, pass, donated, pair }, place) => {
    const fields = { x: id, ...(program && { program }), target, view };
    if (view === "passes") fields.pass = pass;
    if (place) fields.line = place;
    if (donated) fields.donated = 1;
    for (const name of pair ? BESIDE : []) if (pair[name] !== "" && (name !== "pass" || pair.view === "passes")) fields[`${name}2`] = pair[name];
    // A slash and a colon may stand in a fragment as they are.
    return new URLSearchParams(fields).toString().replaceAll("%2F", "/").replaceAll("%3A", ":");
  };

  // Put a link into the address: as a new entry of the history, or in place of the last one.
  const putLink = (link, isNew) => {
    if (`#${link}` === location.hash) return;
    if (isNew) history.pushState(null, "", `#${link}`);
    else history.replaceState(history.state, "", `#${link}`);
  };

  Object.assign((globalThis.xlaExplorer ??= {}), { readLink, writeLink, putLink });
}
