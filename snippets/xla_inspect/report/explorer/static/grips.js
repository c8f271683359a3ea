// Borders between panes that can be moved, by pointer and by keyboard.
"use strict";
{
  const addGrips = () => ({ update() {} });
  Object.assign(globalThis.xlaExplorer, { addGrips });
}
