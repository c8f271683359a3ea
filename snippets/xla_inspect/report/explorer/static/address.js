// The state of an explorer in the address of the page, so that a link carries it and Back leads to the one before.
"use strict";
{
  const NAMES = ["target", "view", "pass", "donated"];

  // The state that the address asks for, or null where it says nothing of this explorer.
  const readLink = (id) => {
    const fields = new URLSearchParams(location.hash.slice(1));
    if (fields.get("x") !== id) return null;
    const wanted = Object.fromEntries([...fields].filter(([name]) => NAMES.includes(name)));
    return { ...wanted, donated: fields.has("donated"), place: fields.get("line") ?? -1 };
  };

  // `place` is `file:line`, or an empty string.
  const writeLink = ({ id, target, view, pass, donated }, place) => {
    const fields = { x: id, target, view };
    if (view === "passes") fields.pass = pass;
    if (place) fields.line = place;
    if (donated) fields.donated = 1;
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
