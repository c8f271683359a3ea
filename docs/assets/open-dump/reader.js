// The project's reader, which runs in a worker: begun when it is first needed, and again after it was stopped.
const KEPT = 256 * 2 ** 20 // bytes read from which on the next dump gets a worker of its own, since none gives memory back

export class Stopped extends Error {}

export class Failure extends Error {
  // `isFault`: whether the reader failed, and did not refuse.
  constructor({ message, isFault = false, trace = "" }) {
    super(message)
    Object.assign(this, { isFault, trace })
  }
}

export class Reader {
  // `home` is where the scripts lie; `tell` hears how far it is: `{ text, done, total }`.
  constructor(home, tell) {
    Object.assign(this, { home, tell, dump: null, worker: null, waiting: new Map(), last: 0, turn: 0 })
  }

  // Load it, where that was not done yet.
  start() {
    if (this.started) return this.started
    const started = this.begin().catch((error) => {
      if (this.started === started) this.end(error) // and not one that was begun since
      throw error
    })
    return (this.started = started)
  }

  async begin() {
    this.parts = await this.unlessStopped(this.readParts())
    if (this.parts.missing) throw new Failure({ message: this.parts.missing })
    // A worker that is made of a text is under the policy of this page; one that is fetched would be under none.
    const script = new URL("reader_worker.js", this.home).href
    const address = URL.createObjectURL(new Blob([`import ${JSON.stringify(script)}`], { type: "text/javascript" }))
    const worker = new Worker(address, { type: "module" })
    Object.assign(this, { worker, used: 0 })
    worker.addEventListener("message", ({ data }) => this.hear(data))
    worker.addEventListener("error", (event) => {
      event.preventDefault()
      this.end(new Failure({ message: `The reader did not start: ${event.message || "its script did not come"}` }))
    })
    await this.post("start", { home: this.home, parts: this.parts })
    URL.revokeObjectURL(address)
  }

  async readParts() {
    const answer = await fetch(new URL("parts.json", this.home)).catch(() => null)
    if (!answer?.ok) throw new Failure({ message: "The reader did not come. Check the connection, and try again." })
    return answer.json()
  }

  // Read what is in a dump: `[{ name, file }]`.
  async open(dump) {
    if (this.used > KEPT) this.stop()
    this.dump = dump
    await this.unlessStopped(this.start())
    this.opened = this.post("open", { dump })
    return this.opened
  }

  // Ask about the dump that is open.
  async ask(act, asked = {}) {
    await this.unlessStopped(this.start())
    if (!this.opened && this.dump) await this.open(this.dump)
    return this.post(act, asked)
  }

  // Wait for something, and do not go on where it was stopped meanwhile.
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

  // Stop whatever it does: Python cannot be interrupted, so its worker ends, and another one begins when it is needed.
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
