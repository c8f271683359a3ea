// Shows on a served page how much of the site is still running, until all of it is complete.
(() => {
  "use strict";
  const bar = document.createElement("div");
  const words = document.createElement("div");
  bar.setAttribute("role", "progressbar");
  bar.setAttribute("aria-label", "Pages of this site that are there");
  Object.assign(bar.style, {
    position: "fixed", top: "0", left: "0", height: "3px", width: "0", zIndex: "1000",
    background: "var(--md-accent-fg-color, #c60)", transition: "width 0.5s",
  });
  Object.assign(words.style, {
    position: "fixed", bottom: "0", right: "0", padding: "0.2rem 0.5rem", zIndex: "1000", fontSize: "0.6rem",
    color: "var(--md-default-fg-color, #000)", background: "var(--md-default-bg-color, #fff)",
    border: "1px solid var(--md-default-fg-color--lighter, #999)", maxWidth: "100%",
  });
  const look = async () => {
    const said = await (await fetch("/livereload/progress")).json();
    if (said.share >= 1) {
      bar.remove();
      words.remove();
      return;
    }
    if (!bar.isConnected) document.body.append(bar, words);
    bar.style.width = `${100 * said.share}%`;
    bar.setAttribute("aria-valuenow", Math.round(100 * said.share));
    words.textContent = said.text;
    setTimeout(look, 1000);
  };
  look();
})();
