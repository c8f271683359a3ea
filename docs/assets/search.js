// Stands between the theme's search and its worker: what is asked, and what of the answer is shown.

// Words that say nothing beside others. Some are opcodes too: one that stands alone is looked up.
const quiet = new Set(
  "a an and any are as at be by can do does for from get how i if in is it its my no not of on or should so than that the their then there this to was what when where which while why will with you your".split(" "),
)
const short = 3

// A word that is typed whole counts more than one that only begins so; a word of a few letters has to be whole.
function weigh(word) {
  if (/[\^~+:*]/.test(word)) return word
  const parts = word.split(/[^\p{L}\p{N}_.]+/u).filter(Boolean)
  return parts.map((part) => (part.length <= short ? `${part}^4` : `${part}^4 ${part}`)).join(" ")
}

// What the worker is asked for what was typed. A phrase in quotes stays as it is.
export function ask(typed) {
  if (typed.includes('"')) return typed
  const words = typed.trim().split(/\s+/).filter(Boolean)
  const telling = words.filter((word) => !quiet.has(word.toLowerCase().replace(/[^a-z]/g, "")))
  return (telling.length ? telling : words).map(weigh).join(" ")
}

// What is shown of an item: the sentences with what was asked for, and where only a list of words has it, how the
// section begins. `begins` says so by address.
export function show(item, begins) {
  const text = item.text.replace(/<sub>.*?(<\/sub>|$)/gs, "")
  return { ...item, text: text || begins.get(item.location) || "" }
}

// How each section begins, by address.
export function learn(docs) {
  return new Map(docs.map(({ location, text }) => [location, /^<p>.*?<\/p>/s.exec(text)?.[0] ?? ""]))
}
