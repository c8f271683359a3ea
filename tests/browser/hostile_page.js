// Attacks that a page of another site can try against a playground on the reader's machine.
// Each attempt returns the text that it could read. A blocked attempt throws an error or returns nothing.
"use strict"
const { play, code } = JSON.parse(document.querySelector("#told").textContent)
const body = JSON.stringify({
  id: "1", client: "evil", code, function: "f", arguments: "x: f32[8]", targets: ["cpu"], options: {},
})
const posted = (how) => ({ method: "POST", body, ...how })
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const added = (name, settings, parent = document.body) =>
  parent.appendChild(Object.assign(document.createElement(name), settings))
const loaded = (node) =>
  new Promise((resolve) => {
    node.onload = () => resolve(true)
    node.onerror = () => resolve(false)
    setTimeout(() => resolve(false), 2000)
  })
const frame = async (settings) => {
  const made = document.createElement("iframe")
  Object.assign(made, settings)
  const done = loaded(made)
  document.body.append(made)
  await done
  return made
}
const form = async (enctype, target, path = "/compile", fields = { [body.slice(0, -1) + ', "x": "']: '"}' }) => {
  const made = added("form", { method: "POST", action: play + path, enctype, target })
  for (const [name, value] of Object.entries(fields)) added("input", { type: "hidden", name, value }, made)
  made.submit()
  await wait(1000)
}

const attempts = {
  fetch: async () => (await fetch(`${play}/start`)).text(),
  fetchPage: async () => (await fetch(`${play}/`)).text(),
  fetchWithCredentials: async () => (await fetch(`${play}/start`, { credentials: "include" })).text(),
  fetchWithToken: async () => (await fetch(`${play}/start`, { headers: { "X-Play-Token": "guess" } })).text(),
  fetchOpaque: async () => (await fetch(`${play}/start`, { mode: "no-cors" })).text(),
  fetchByLocalhost: async () => (await fetch(`${play.replace("127.0.0.1", "localhost")}/start`)).text(),
  postText: async () => (await fetch(`${play}/compile`, posted({ mode: "no-cors" }))).text(),
  postJson: async () =>
    (await fetch(`${play}/compile`, posted({ headers: { "Content-Type": "application/json" } }))).text(),
  postKeptAlive: async () => (await fetch(`${play}/compile`, posted({ mode: "no-cors", keepalive: true }))).text(),
  postWithoutReferrer: async () =>
    (await fetch(`${play}/compile`, posted({ mode: "no-cors", referrerPolicy: "no-referrer" }))).text(),
  getWithCode: async () =>
    (await fetch(`${play}/compile?${new URLSearchParams(JSON.parse(body))}`, { mode: "no-cors" })).text(),
  beacon: async () => {
    navigator.sendBeacon(`${play}/compile`, new Blob([body], { type: "text/plain" }))
    await wait(500)
  },
  request: () =>
    new Promise((resolve, reject) => {
      const sent = new XMLHttpRequest()
      sent.open("POST", `${play}/compile`)
      sent.onload = () => resolve(sent.responseText)
      sent.onerror = reject
      sent.send(body)
    }),
  formAsText: async () => {
    const made = await frame({ name: "one" })
    await form("text/plain", "one")
    return made.contentDocument.documentElement.outerHTML
  },
  formAsFields: async () => {
    const made = await frame({ name: "two" })
    await form("application/x-www-form-urlencoded", "two", "/compile", JSON.parse(body))
    return made.contentDocument.documentElement.outerHTML
  },
  formWithFiles: async () => {
    const made = await frame({ name: "three" })
    await form("multipart/form-data", "three", "/compile", JSON.parse(body))
    return made.contentDocument.documentElement.outerHTML
  },
  formInNewWindow: async () => form("text/plain", "_blank"),
  image: async () => {
    const made = added("img", { src: `${play}/compile?${new URLSearchParams(JSON.parse(body))}` })
    return (await loaded(made)) ? "an image was loaded" : ""
  },
  script: async () => {
    const before = new Set(Object.keys(globalThis))
    await Promise.all(["/start", "/"].map((path) => loaded(added("script", { src: play + path }))))
    return Object.keys(globalThis).filter((name) => !before.has(name)).join()
  },
  module: async () => Object.keys(await import(`${play}/start`)).join(),
  style: async () => {
    const made = added("link", { rel: "stylesheet", href: `${play}/` })
    return (await loaded(made)) ? [...made.sheet.cssRules].map((rule) => rule.cssText).join() : ""
  },
  frame: async () => (await frame({ src: `${play}/` })).contentDocument.documentElement.outerHTML,
  frameShown: async () => {
    // For a page that refuses to be framed, the browser shows its own error page, which has an origin of its own.
    const made = await frame({ src: `${play}/` })
    made.contentWindow.postMessage({ code, compile: true, type: "compile" }, "*")
    await wait(500)
    return made.contentWindow.length ? "frames within" : ""
  },
  framedByNobody: async () => {
    const text = `<script>fetch("${play}/start").then(r => r.text()).then(t => parent.postMessage(t, "*"))
      fetch("${play}/compile", ${JSON.stringify(posted({ mode: "no-cors" }))})<` + `/script>`
    let heard = ""
    addEventListener("message", ({ data }) => (heard = String(data)))
    await frame({ sandbox: "allow-scripts", srcdoc: text })
    await wait(800)
    return heard
  },
  window: async () => {
    const other = open(`${play}/`)
    await wait(1500)
    other.postMessage({ code, compile: true, type: "compile" }, "*")
    const seen = [other.document.documentElement.outerHTML, other.location.href].join()
    other.close()
    return seen
  },
  socket: () =>
    new Promise((resolve, reject) => {
      const made = new WebSocket(`${play.replace("http", "ws")}/compile`)
      made.onmessage = ({ data }) => resolve(String(data))
      made.onopen = () => made.send(body)
      made.onerror = reject
    }),
  eventSource: () =>
    new Promise((resolve, reject) => {
      const made = new EventSource(`${play}/start`)
      made.onmessage = ({ data }) => resolve(data)
      made.onerror = () => reject(made.close())
    }),
  worker: () =>
    new Promise((resolve, reject) => {
      const text = `fetch("${play}/start").then(r => r.text()).then(postMessage, () => postMessage(""))`
      const made = new Worker(URL.createObjectURL(new Blob([text])))
      made.onmessage = ({ data }) => resolve(data)
      made.onerror = reject
    }),
  object: async () => {
    const made = added("object", { data: `${play}/`, type: "text/html" })
    await wait(800)
    return made.contentDocument?.documentElement.outerHTML
  },
  manyAtOnce: async () => {
    const all = Array.from({ length: 100 }, () => fetch(`${play}/compile`, posted({ mode: "no-cors" })))
    await Promise.allSettled(all)
  },
}
globalThis.names = Object.keys(attempts)
globalThis.attempt = async (name) => {
  try {
    return String((await attempts[name]()) ?? "")
  } catch {
    return ""
  }
}
