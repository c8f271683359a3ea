// A link that contains the code, compressed, in the fragment of the URL, which browsers do not send to any server.
"use strict";
{
  const [NAME, VERSION] = ["play", 1];
  const [LONG, LARGE, SHORT] = [1 << 19, 1 << 20, 10_000]; // limits: characters of a link, bytes of its content, characters of a field

  const toText = (bytes) => {
    let text = "";
    for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
    return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  };
  const toBytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (it) => it.charCodeAt(0));

  // Return a promise of the fragment that contains a program: `{ code, function, arguments, targets, options, look }`.
  const packCode = async (program) => {
    const text = JSON.stringify({ v: VERSION, ...program });
    const packed = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
    return `${NAME}=${toText(new Uint8Array(await new Response(packed).arrayBuffer()))}`;
  };

  // Stop unpacking at the limit, because a short link may unpack to a very large text.
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

  // Keep only the fields with a value of the right type.
  const pick = (told, checks) => Object.fromEntries(Object.entries(checks).filter(([name, check]) => isPlain(told) && check(told[name])).map(([name]) => [name, told[name]]));

  // Return whether a link, or its fragment, contains code.
  const holdsCode = (link) => link.split("#").at(-1).startsWith(`${NAME}=`);

  // Return a promise of the program in a link or its fragment. For an invalid link, the error's message says why.
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
