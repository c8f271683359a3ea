// Sit between the theme's search and its worker: change the query that is sent, and the results that are shown.

// Words that carry no meaning next to others. Some are also opcodes, so a single such word is still looked up.
const quiet = new Set(
  "a an and any are as at be by can do does for from get how i if in is it its my no not of on or should so than that the their then there this to was what when where which while why will with you your".split(" "),
)
const short = 3

// Weigh a whole word more than a prefix; a short word must match as a whole.
function weigh(word) {
  if (/[\^~+:*]/.test(word)) return word
  const parts = word.split(/[^\p{L}\p{N}_.]+/u).filter(Boolean)
  return parts.map((part) => (part.length <= short ? `${part}^4` : `${part}^4 ${part}`)).join(" ")
}

// Return the worker's query for the typed text. A phrase in quotes is unchanged.
export function ask(typed) {
  if (typed.includes('"')) return typed
  const words = typed.trim().split(/\s+/).filter(Boolean)
  const telling = words.filter((word) => !quiet.has(word.toLowerCase().replace(/[^a-z]/g, "")))
  return (telling.length ? telling : words).map(weigh).join(" ")
}

// Return the text to show for a result: the sentences that match, or, if only a list of words matches, the beginning of
// the section. `begins` has these beginnings by address.
export function show(item, begins) {
  const text = item.text.replace(/<sub>.*?(<\/sub>|$)/gs, "")
  return { ...item, text: text || begins.get(item.location) || "" }
}

// Return the beginning of each section, by address.
export function learn(docs) {
  return new Map(docs.map(({ location, text }) => [location, /^<p>.*?<\/p>/s.exec(text)?.[0] ?? ""]))
}
