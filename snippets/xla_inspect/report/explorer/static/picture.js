// Export the visible content of an element as SVG or PNG. The picture is redrawn from the browser's layout, so that the
// file does not depend on the page.
"use strict";
{
  const { drawn } = globalThis.xlaExplorer;
  const SHAPES = "path, circle, rect, line, polyline, polygon";
  const SCALE = 2; // PNG pixels per CSS pixel

  const isSeen = (colour) => colour && colour !== "none" && !/^rgba\(.*, 0\)$/.test(colour) && colour !== "transparent";

  // Return an SVG shape as the `d` attribute of a path.
  const outline = (shape) => {
    const at = (name) => Number(shape.getAttribute(name) ?? 0);
    if (shape.localName === "path") return shape.getAttribute("d") ?? "";
    if (shape.localName === "line") return `M${at("x1")},${at("y1")}L${at("x2")},${at("y2")}`;
    if (shape.localName === "rect") return `M${at("x")},${at("y")}h${at("width")}v${at("height")}h${-at("width")}z`;
    if (shape.localName === "circle") return `M${at("cx") - at("r")},${at("cy")}a${at("r")},${at("r")} 0 1 0 ${2 * at("r")},0a${at("r")},${at("r")} 0 1 0 ${-2 * at("r")},0z`;
    return `M${shape.getAttribute("points") ?? ""}${shape.localName === "polygon" ? "z" : ""}`;
  };

  // Return the lines of a text node as the browser wraps them: `[text, rectangle]`.
  const readLines = (node) => {
    const range = document.createRange();
    const lines = [];
    let [start, top] = [0, null];
    const flush = (end) => {
      const said = node.data.slice(start, end).trimEnd();
      range.setStart(node, start);
      range.setEnd(node, start + said.length);
      const box = range.getBoundingClientRect();
      if (said.trim() && box.width) lines.push([said, box]);
      start = end;
    };
    for (let at = 0; at < node.length; at++) {
      if (/\s/.test(node.data[at])) continue;
      range.setStart(node, at);
      range.setEnd(node, at + 1);
      const box = range.getBoundingClientRect();
      if (top !== null && Math.abs(box.top - top) > 3) flush(at);
      top = box.top;
    }
    flush(node.length);
    return lines;
  };

  // Collect the visible items to draw, in order: rectangles, lines of text and paths, in pixels from the corner.
  const collect = (root) => {
    const frame = root.getBoundingClientRect();
    const items = [];
    const box = ({ left, top, width, height }) => ({ x: left - frame.left, y: top - frame.top, width, height });
    const isOut = ({ bottom, top, left, right }) => bottom < frame.top || top > frame.bottom || right < frame.left || left > frame.right;
    const visit = (node, clip) => {
      if (node.nodeType === Node.TEXT_NODE) return addText(node, clip);
      if (node.nodeType !== Node.ELEMENT_NODE) return;
      const style = getComputedStyle(node);
      const area = node.getBoundingClientRect();
      if (style.display === "none" || style.visibility === "hidden" || (area.width <= 1 && area.height <= 1 && node.classList.contains("hidden"))) return;
      // Leave controls out of the picture. Draw a menu as the text of its selected option.
      if (node.matches(".head .steps, .grip, .words")) return;
      if (node.matches("select")) return addMenu(node, style, area, clip);
      if (node.matches(SHAPES) && node.ownerSVGElement) return addShape(node, style, clip);
      if (style.overflow !== "visible" && node !== root) {
        if (isOut(area)) return;
        clip = cut(clip, area);
      }
      if (!isOut(area)) addBox(node, style, area, clip);
      for (const child of node.childNodes) visit(child, clip);
    };
    const cut = (a, b) => {
      const [left, top] = [Math.max(a.left, b.left), Math.max(a.top, b.top)];
      const [right, bottom] = [Math.min(a.right, b.right), Math.min(a.bottom, b.bottom)];
      return { left, top, right, bottom, width: right - left, height: bottom - top };
    };
    const addBox = (node, style, area, clip) => {
      const shown = cut(area, clip);
      if (shown.width <= 0 || shown.height <= 0) return;
      if (isSeen(style.backgroundColor)) items.push({ kind: "rect", ...box(shown), fill: style.backgroundColor });
      for (const [side, x, y, width, height] of [
        ["Left", area.left, area.top, parseFloat(style.borderLeftWidth), area.height],
        ["Right", area.right - parseFloat(style.borderRightWidth), area.top, parseFloat(style.borderRightWidth), area.height],
        ["Top", area.left, area.top, area.width, parseFloat(style.borderTopWidth)],
        ["Bottom", area.left, area.bottom - parseFloat(style.borderBottomWidth), area.width, parseFloat(style.borderBottomWidth)],
      ]) {
        const colour = style[`border${side}Color`];
        if (!(width && height) || style[`border${side}Style`] === "none" || !isSeen(colour)) continue;
        const edge = cut({ left: x, top: y, right: x + width, bottom: y + height }, clip);
        if (edge.width > 0 && edge.height > 0) items.push({ kind: "rect", ...box(edge), fill: colour });
      }
      addSign(node, area, clip);
    };
    const addMenu = (node, style, area, clip) => {
      const said = node.selectedOptions[0]?.textContent ?? "";
      const at = { left: area.left, top: area.top + area.height / 2 + parseFloat(style.fontSize) * 0.34, width: 0, height: 0 };
      if (!isOut(area) && area.top >= clip.top - 2) items.push({ kind: "text", text: said, ...box(at), font: fontOf(style), fill: style.color });
    };
    // The sign in the gutter is a pseudo-element, so compute its position: that of the first line of its row.
    const addSign = (node, area, clip) => {
      const sign = getComputedStyle(node, "::before");
      const said = /^"(.+)"$/.exec(sign.content)?.[1]?.trim();
      if (!said || area.top < clip.top - 2) return;
      const style = getComputedStyle(node);
      const size = parseFloat(sign.fontSize);
      const column = style.display === "grid" ? parseFloat(style.gridTemplateColumns) : 0;
      const indent = column ? column - said.length * size * 0.6 : parseFloat(style.textIndent || 0);
      const left = area.left + parseFloat(style.borderLeftWidth) + parseFloat(style.paddingLeft) + indent;
      const down = (column ? parseFloat(sign.paddingTop) : parseFloat(style.paddingTop)) + size * 1.1;
      items.push({ kind: "text", text: said, ...box({ left, top: area.top + down, width: 0, height: 0 }), font: fontOf(sign), fill: sign.color });
    };
    const fontOf = (style) => `${style.fontStyle === "normal" ? "" : `${style.fontStyle} `}${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
    const addText = (node, clip) => {
      if (!node.data.trim() || !node.parentElement) return;
      const style = getComputedStyle(node.parentElement);
      const around = node.parentElement.getBoundingClientRect();
      if (isOut(around) && around.height) return;
      const fill = node.parentElement.ownerSVGElement ? style.fill : style.color;
      for (const [text, area] of readLines(node)) {
        if (isOut(area) || area.bottom > clip.bottom + 2 || area.top < clip.top - 2) continue;
        const size = parseFloat(style.fontSize);
        const baseline = area.top + area.height / 2 + size * 0.34;
        items.push({ kind: "text", text, ...box({ left: area.left, top: baseline, width: area.width, height: 0 }), font: fontOf(style), fill, strike: style.textDecorationLine.includes("line-through") });
      }
    };
    const addShape = (node, style, clip) => {
      const area = node.getBoundingClientRect();
      if (isOut(area) || area.top > clip.bottom || area.bottom < clip.top) return;
      const m = node.getScreenCTM();
      if (!m) return;
      const matrix = [m.a, m.b, m.c, m.d, m.e - frame.left, m.f - frame.top];
      const dash = style.strokeDasharray === "none" ? [] : style.strokeDasharray.split(/[ ,]+/).map(parseFloat);
      items.push({ kind: "path", d: outline(node), matrix, fill: isSeen(style.fill) ? style.fill : "none", alpha: Number(style.fillOpacity), stroke: isSeen(style.stroke) ? style.stroke : "none", width: parseFloat(style.strokeWidth), dash });
    };
    visit(root, frame);
    return { width: Math.ceil(frame.width), height: Math.ceil(frame.height), items };
  };

  const paper = (root) => getComputedStyle(root.getRootNode().host ?? root).backgroundColor;

  // Return the picture as the text of an SVG file.
  const drawSvg = (root) => {
    const { width, height, items } = collect(root);
    const svg = drawn("svg", { xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}` });
    svg.append(drawn("rect", { width, height, fill: paper(root) }));
    for (const it of items) {
      if (it.kind === "rect") svg.append(drawn("rect", { x: it.x, y: it.y, width: it.width, height: it.height, fill: it.fill }));
      else if (it.kind === "text")
        svg.append(drawn("text", { x: it.x, y: it.y, fill: it.fill, style: `font: ${it.font}; white-space: pre`, ...(it.strike && { "text-decoration": "line-through" }), ...(it.width > 0 && { textLength: it.width.toFixed(1), lengthAdjust: "spacingAndGlyphs" }) }, it.text));
      else
        svg.append(drawn("path", { d: it.d, transform: `matrix(${it.matrix.join(" ")})`, fill: it.fill, "fill-opacity": it.alpha, stroke: it.stroke, "stroke-width": it.width, ...(it.dash.length && { "stroke-dasharray": it.dash.join(" ") }) }));
    }
    return new XMLSerializer().serializeToString(svg);
  };

  // Return a promise of the picture as a PNG blob.
  const drawPng = (root) => {
    const { width, height, items } = collect(root);
    const canvas = Object.assign(document.createElement("canvas"), { width: width * SCALE, height: height * SCALE });
    const pen = canvas.getContext("2d");
    const base = () => pen.setTransform(SCALE, 0, 0, SCALE, 0, 0);
    base();
    pen.fillStyle = paper(root);
    pen.fillRect(0, 0, width, height);
    for (const it of items) {
      pen.fillStyle = it.fill;
      if (it.kind === "rect") pen.fillRect(it.x, it.y, it.width, it.height);
      else if (it.kind === "text") {
        pen.font = it.font;
        pen.fillText(it.text, it.x, it.y);
      } else {
        const path = new Path2D(it.d);
        pen.transform(...it.matrix);
        pen.globalAlpha = it.alpha;
        if (it.fill !== "none") pen.fill(path);
        pen.globalAlpha = 1;
        Object.assign(pen, { strokeStyle: it.stroke, lineWidth: it.width });
        pen.setLineDash(it.dash);
        if (it.stroke !== "none" && it.width) pen.stroke(path);
        pen.setLineDash([]);
        base();
      }
    }
    return new Promise((done, failed) => canvas.toBlob((blob) => (blob ? done(blob) : failed(new Error("no picture was made"))), "image/png"));
  };

  Object.assign(globalThis.xlaExplorer, { drawSvg, drawPng });
}
