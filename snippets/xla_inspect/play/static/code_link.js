// A link that holds the code: in the fragment, which browsers send to nobody, compressed.
"use strict";
{
  const [NAME, VERSION] = ["play", 1];
  const [LONG, LARGE, SHORT] = [1 << 19, 1 << 20, 10_000]; // characters of a link, bytes of what it holds, characters of a field

  const toText = (bytes) => {
    let text = "";
    for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
    return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  };
  const toBytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (it) => it.charCodeAt(0));

  // The fragment that holds a program: `{ code, function, arguments, targets, options, look }`.
  const packCode = async (program) => {
    const text = JSON.stringify({ v: VERSION, ...program });
    const packed = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
    return `${NAME}=${toText(new Uint8Array(await new Response(packed).arrayBuffer()))}`;
  };

  // Read no more than is allowed, whatever a short link unpacks to.
  const unpack = async (bytes) => {
    const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
    const [parts, decoder] = [[], new TextDecoder("utf-8", { fatal: true })];
    let size = 0;
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return parts.join("") + decoder.decode();
      size += value.length;
      if (size > LARGE) {
        reader.cancel();
        throw new RangeError("large");
      }
      parts.push(decoder.decode(value, { stream: true }));
    }
  };

  const isText = (it) => typeof it === "string";
  const isTexts = (it) => Array.isArray(it) && it.every(isText);
  const isPlain = (it) => it !== null && typeof it === "object" && !Array.isArray(it);
  const isFlag = ([name, value]) => /^[A-Za-z]\w*$/.test(name) && ["string", "number", "boolean"].includes(typeof value);
  const isShort = (it) => isText(it) && it.length <= SHORT;
  const CHECKS = { code: isText, function: isShort, arguments: isShort, targets: isTexts };
  const OPTIONS = { donate: isTexts, static: isTexts, grad: (it) => typeof it === "boolean", vmap: Number.isInteger, mesh: isText };
  const LOOK = { target: isText, view: isText };

  // Of what is told only what is of the kind that it should be of.
  const pick = (told, checks) => Object.fromEntries(Object.entries(checks).filter(([name, check]) => isPlain(told) && check(told[name])).map(([name]) => [name, told[name]]));

  // Whether a link, or its fragment, holds code.
  const holdsCode = (link) => link.split("#").at(-1).startsWith(`${NAME}=`);

  // The program that a link, or its fragment, holds. Throws an Error whose message says what is wrong with it.
  const unpackCode = async (link) => {
    const packed = link.trim().split("#").at(-1).replace(`${NAME}=`, "").split("&")[0];
    if (packed.length > LONG) throw new Error("the link is too long: it holds more than a playground opens");
    let told;
    try {
      told = JSON.parse(await unpack(toBytes(packed)));
    } catch (error) {
      if (error instanceof RangeError) throw new Error("the link holds more than a playground opens");
      throw new Error("the link is damaged: part of it may have been cut off where it was copied");
    }
    if (!isPlain(told)) throw new Error("the link is damaged: it holds no program");
    if (told.v !== VERSION) throw new Error(`the link is of another version of the playground (${String(told.v).slice(0, 20)}): update xla-inspect`);
    const found = { function: "", arguments: "", targets: [], ...pick(told, CHECKS), options: pick(told.options, OPTIONS), look: pick(told.look, LOOK) };
    if (isPlain(told.options?.flags)) found.options.flags = Object.fromEntries(Object.entries(told.options.flags).filter(isFlag));
    if (!found.code) throw new Error("the link holds no code");
    return found;
  };

  Object.assign((globalThis.xlaExplorer ??= {}), { packCode, unpackCode, holdsCode });
}
