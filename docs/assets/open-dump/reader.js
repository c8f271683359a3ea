// The project's reader, which runs in a worker. The worker starts at the first use, and again after it was stopped.
const KEPT = 256 * 2 ** 20 // bytes; beyond it the next dump gets a new worker, because a worker never returns memory

export class Stopped extends Error {}

export class Failure extends Error {
  // `isFault`: true if the reader has a bug, false if it rejected the input.
  constructor({ message, isFault = false, trace = "" }) {
    super(message)
    Object.assign(this, { isFault, trace })
  }
}

export class Reader {
  // `home` is the folder of the scripts; `tell` receives the progress `{ text, done, total }`.
  constructor(home, tell) {
    Object.assign(this, { home, tell, dump: null, worker: null, waiting: new Map(), last: 0, turn: 0 })
  }

  // Load the reader, unless it is loaded.
  start() {
    if (this.started) return this.started
    const started = this.begin().catch((error) => {
      if (this.started === started) this.end(error) // but do not end a newer worker
      throw error
    })
    return (this.started = started)
  }

  async begin() {
    this.parts = await this.unlessStopped(this.readParts())
    if (this.parts.missing) throw new Failure({ message: this.parts.missing })
    // A worker created from a blob inherits the content security policy of this page; a fetched worker would have none.
    const script = new URL("reader_worker.js", this.home).href
    const address = URL.createObjectURL(new Blob([`import ${JSON.stringify(script)}`], { type: "text/javascript" }))
    const worker = new Worker(address, { type: "module" })
    Object.assign(this, { worker, used: 0 })
    worker.addEventListener("message", ({ data }) => this.hear(data))
    worker.addEventListener("error", (event) => {
      event.preventDefault()
      this.end(new Failure({ message: `The reader did not start: ${event.message || "its script could not be loaded"}` }))
    })
    await this.post("start", { home: this.home, parts: this.parts })
    URL.revokeObjectURL(address)
  }

  async readParts() {
    const answer = await fetch(new URL("parts.json", this.home)).catch(() => null)
    if (!answer?.ok) throw new Failure({ message: "The reader could not be loaded. Check the connection, and try again." })
    return answer.json()
  }

  // Read the files of a dump: `[{ name, file }]`.
  async open(dump) {
    if (this.used > KEPT) this.stop()
    this.dump = dump
    await this.unlessStopped(this.start())
    this.opened = this.post("open", { dump })
    return this.opened
  }

  // Ask about the open dump.
  async ask(act, asked = {}) {
    await this.unlessStopped(this.start())
    if (!this.opened && this.dump) await this.open(this.dump)
    return this.post(act, asked)
  }

  // Wait for a promise, and throw if the reader was stopped in the meantime.
  async unlessStopped(promise) {
    const { turn } = this
    const found = await promise
    if (this.turn !== turn) throw new Stopped("stopped")
    return found
  }

  post(act, asked) {
    const id = ++this.last
    return new Promise((done, failed) => {
      this.waiting.set(id, { done, failed })
      this.worker.postMessage({ id, act, ...asked })
    })
  }

  hear({ id, answer, error, told, used }) {
    if (told) return this.tell(told)
    this.used = used ?? this.used
    const waiting = this.waiting.get(id)
    this.waiting.delete(id)
    if (error?.isFatal) this.end(new Failure(error))
    if (error) waiting?.failed(new Failure(error))
    else waiting?.done(answer)
  }

  get isBusy() {
    return this.waiting.size > 0
  }

  // Stop the reader. Python cannot be interrupted, so end its worker; a new one starts when it is needed.
  stop() {
    this.end(new Stopped("stopped"))
  }

  end(error) {
    this.worker?.terminate()
    const waiting = [...this.waiting.values()]
    this.waiting.clear()
    this.turn += 1
    Object.assign(this, { worker: null, started: null, opened: null, used: 0 })
    for (const { failed } of waiting) failed(error)
  }
}
