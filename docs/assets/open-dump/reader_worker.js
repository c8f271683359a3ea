// Run the project's reader, in Python, on files that stay on the user's disk. The worker inherits the page's content
// security policy, so it cannot reach any other host.
const TIMES = 8 // progress messages per second
let started
let files = []
let reader
let used = 0 // bytes read since the start
const say = (told) => postMessage({ told })

// Count the downloaded bytes as they arrive, and report each failed download, because not every caller reports it.
const countBytes = (sizes, fail) => {
  const total = Object.values(sizes).reduce((sum, size) => sum + size, 0)
  const plain = globalThis.fetch
  let [come, last] = [0, 0]
  const count = async (body) => {
    for await (const part of body) {
      come += part.length
      if (performance.now() - last < 1000 / TIMES) continue
      last = performance.now()
      say({ text: "Loading the reader", done: Math.min(come, total), total })
    }
  }
  globalThis.fetch = async (...asked) => {
    const answer = await plain(...asked).catch(() => null)
    if (!answer?.ok) {
      fail(new Error(`${String(asked[0]).split("/").at(-1)} could not be loaded. Check the connection, and try again.`))
      return answer ?? Response.error()
    }
    count(answer.clone().body).catch(() => {})
    return answer
  }
  return () => (globalThis.fetch = plain)
}

const start = async (home, parts) => {
  const { promise: broken, reject } = Promise.withResolvers()
  const stop = countBytes(parts.sizes, reject)
  const python = new URL(`../${parts.python}`, home).href
  const archive = fetch(new URL(parts.reader, home)).then((answer) => answer.arrayBuffer())
  const { loadPyodide } = await import(`${python}pyodide.mjs`)
  const all = Promise.all([loadPyodide({ indexURL: python, packageBaseUrl: python }), archive])
  const [machine, packed] = await Promise.race([all, broken])
  stop()
  say({ text: "Starting the reader" })
  machine.unpackArchive(packed, "zip", { extractDir: "/reader" })
  machine.runPython('import sys; sys.path.insert(0, "/reader")')
  const { DumpReader } = machine.pyimport("inside_xla.dump_reader")
  reader = DumpReader((text) => say({ text }))
}

const readPart = (number, from, to) => {
  used += to - from
  return new Uint8Array(new FileReaderSync().readAsArrayBuffer(files[number].slice(from, to)))
}

// Copy the bytes that Python returned out of its memory.
const take = (proxy) => {
  const held = proxy.getBuffer("u8")
  const bytes = held.data.slice()
  held.release()
  proxy.destroy()
  return bytes.buffer
}

const acts = {
  start: ({ home, parts }) => (started ??= start(home, parts)),
  open: ({ dump }) => {
    files = dump.map(({ file }) => file)
    return JSON.parse(reader.open(JSON.stringify(dump.map(({ name, file }) => [name, file.size])), readPart))
  },
  read: ({ number }) => reader.read(number),
  explorer: () => take(reader.read_explorer()),
  details: () => take(reader.read_details()),
  answer: ({ question }) => JSON.parse(reader.answer(question)),
}

// Describe an error, in the reader's own words if it has any. After any error outside Python, the worker is unusable.
const explain = (error) => {
  const isPython = error?.constructor?.name === "PythonError"
  if (isPython && reader) return JSON.parse(reader.explain())
  return { message: error?.message ?? String(error), isFault: isPython, isFatal: Boolean(reader) }
}

addEventListener("message", async ({ data: { id, act, ...asked } }) => {
  try {
    const answer = await acts[act](asked)
    postMessage({ id, answer, used }, answer instanceof ArrayBuffer ? [answer] : [])
  } catch (error) {
    postMessage({ id, error: explain(error), used })
  }
})
