// Sit between the theme's search and its worker: widen the query that is sent, and sort the results that are shown.

// Words that carry no meaning next to others. Some are also opcodes, so a query of such words alone is still looked up.
const quiet = new Set(
  "a about an and any are as at be between by can could come comes did do does doesn don even every explain for from get gets give happen happens has have how i if in instead into is isn it its jax just like make makes me mean means my need no not of on or our please see should show so some tell than that the their them then there these they this to too use used uses using versus very vs want was way we were what when where which while who whose why will with won would xla you your".split(" "),
)

// The parts of names that do not tell one name from another.
const prefixes = new Set("a at by in jax jnp lax np of on the to xla".split(" "))

// The weight of a word for another that is probably misspelled.
const guess = 0.6

const long = /(?:izations?|izing|iz?ers?|ize[ds]?|ations?|ators?|ating|ate[ds]?|al(?:ly)?|ments?|ences?|ents?|est|ness|ism|acy)$/
const brief = /(?:(?<=c)tions?|ions?|ings?|ers?|ors?|ied|ies|ed|es|ly|[esy])$/

// Keep the results of a function of one word, because the index has each word many times.
function remember(compute) {
  const results = new Map()
  return (word) => {
    if (!results.has(word)) results.set(word, compute(word))
    return results.get(word)
  }
}

// Return the part that a word has in common with its other forms: `fus` for fuse, fused and fusion.
const stem = remember((word) => {
  if (word.length < 4 || /\d/.test(word)) return word
  let cut = word.replace(/is(?=(?:e[drs]?|ing|ers?|ations?)$)/, "iz")
  for (let round = 0; round < 3; round++) {
    let next = cut.replace(long, "")
    if (next === cut || next.length < 4) next = cut.replace(brief, "")
    if (next === cut || next.length < 3 || cut.endsWith("ss")) break
    cut = next
  }
  return cut.replace(/([bdfgklmnprt])\1$/, "$1")
})

// The words of the pages for words that readers use instead.
const meanings = new Map(
  `ad: grad gradient
amp: bfloat16 precision
arg: argument
args: arguments
asm: assembly
async: asynchronous
attn: attention
autocast: bfloat16 precision
autodiff: grad gradient
autograd: grad gradient
backprop: grad gradient
backpropagation: grad gradient
backward: grad gradient
bf16: bfloat16
bench: benchmark
bug: error
comms: collectives
communication: collectives
conv: convolution
conv2d: convolution
crash: error
derivative: grad gradient
deterministic: nondeterministic
determinism: nondeterministic
dtype: type
exception: error
fp16: float16
fp32: float32
fp8: float8
gemm: matmul
ir: HLO StableHLO jaxpr
latency: time
lesson: course
mem: memory
multigpu: devices sharding
multihost: devices sharding
op: operation opcode
operator: operation
ops: operations opcodes
param: parameter
params: parameters
perf: time faster
performance: faster time
ram: memory
reproducible: nondeterministic
speed: faster time
speedup: faster
spmd: sharding GSPMD
swap: offload
tf: TensorFlow
throughput: bandwidth
timing: time
torch: PyTorch
tutorial: course
visualize: explorer
visualization: explorer
vram: memory HBM`
    .split("\n")
    .map((line) => line.split(": "))
    .map(([word, meant]) => [stem(word), meant.split(" ").map((other) => stem(other.toLowerCase()))]),
)

// Return a word with its parts. `all-gather`, `jax.jit`, `xla_dump_to` and `TracerBoolConversionError` have parts, by which
// they are also found, and `whole` lacks the characters between these.
const divide = remember((word) => {
  const parts = word.replace(/(?<=[a-z])(?=[A-Z])/g, "-").toLowerCase().split(/[-._]+/)
  const divided = parts.length > 1 && !/^[\d.]+$/.test(word)
  return { written: word.toLowerCase(), whole: parts.join(""), parts: divided ? parts : [] }
})

function read(text) {
  const plain = text.replace(/<[^>]*>/g, " ").replace(/&[lg]t;|&quot;|&amp;|['’](?:d|ll|m|re|s|t|ve)\b/g, " ")
  return (plain.match(/[\p{L}\p{N}]+(?:[-._]+[\p{L}\p{N}]+)*/gu) ?? []).map(divide)
}

const isQuiet = ({ whole, parts }) => quiet.has(whole) && !parts.length
const drop = (words, isDropped) => (words.every(isDropped) ? words : words.filter((word) => !isDropped(word)))

// Return the stems of words with the number of their occurrences. For a title, neighbors are also joined.
function count(words, joins = false) {
  const counts = new Map()
  const add = (word) => counts.set(stem(word), (counts.get(stem(word)) ?? 0) + 1)
  words.forEach(({ whole, parts }, i) => {
    for (const word of [whole, ...parts]) add(word)
    if (joins && words[i + 1]) add(whole + words[i + 1].whole)
  })
  return counts
}

// Return the stems of the words of a phrase, and with `joined` the stems that stand for several of them.
function readPhrase(words) {
  const stems = new Set(), joined = new Map()
  drop(words, isQuiet).forEach(({ whole, parts }, i, all) => {
    for (const part of parts.length ? parts : [whole]) stems.add(stem(part))
    if (parts.length) joined.set(stem(whole), parts.length)
    if (all[i + 1]) joined.set(stem(whole + all[i + 1].whole), 2)
  })
  return { stems, joined }
}

// Return what the search knows of the index: the beginning of each section and its words by address, the words of each
// page, by stem the forms of a word, the compound names and the pages, and the terms of each text that was typed.
export function learn(docs) {
  const begins = new Map(), sections = new Map(), pages = new Map(), words = new Map()
  const note = (key, page, kind, form) => {
    let word = words.get(key)
    if (!word) words.set(key, (word = { forms: new Set(), names: new Set(), pages: new Set() }))
    word[kind].add(form)
    word.pages.add(page)
  }
  for (const { location, title, text, tags = [], boost = 1 } of docs) {
    const [page] = location.split("#")
    const [heading, ...phrases] = [title, ...tags].map(read), body = read(text)
    for (const { written, whole, parts } of new Set([heading, ...phrases, body].flat())) {
      note(stem(whole), page, parts.length ? "names" : "forms", written)
      for (const part of parts) note(stem(part), page, "forms", part)
    }
    for (const list of [heading, ...phrases])
      for (let i = 1; i < list.length; i++)
        note(stem(list[i - 1].whole + list[i].whole), page, "names", `${list[i - 1].written}-${list[i].written}`)
    const section = { boost, leads: location === page, title: count(heading, true), text: count(body), phrases: phrases.map(readPhrase) }
    sections.set(location, section)
    begins.set(location, /^<p>.*?<\/p>/s.exec(text)?.[0] ?? "")
    if (!pages.has(page)) pages.set(page, { counts: new Map(), size: 0, named: new Set() })
    const known = pages.get(page)
    for (const [key, times] of section.text) {
      known.counts.set(key, (known.counts.get(key) ?? 0) + times)
      known.size += times
    }
    for (const { stems, joined } of [{ stems: section.title, joined: new Map() }, ...section.phrases])
      for (const key of [...stems.keys(), ...joined.keys()]) known.named.add(key)
  }
  return { begins, sections, pages, words, parsed: new Map() }
}

// Return the number of letters by which two words differ, where two exchanged letters count once; at most `most` + 1.
function measure(first, second, most) {
  if (Math.abs(first.length - second.length) > most) return most + 1
  let earlier = [], last = [...Array(second.length + 1).keys()]
  for (let i = 1; i <= first.length; i++) {
    const row = [i]
    for (let j = 1; j <= second.length; j++) {
      row[j] = Math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (first[i - 1] !== second[j - 1]))
      if (first[i - 1] === second[j - 2] && first[i - 2] === second[j - 1]) row[j] = Math.min(row[j], earlier[j - 2] + 1)
    }
    if (Math.min(...row) > most) return most + 1
    earlier = last
    last = row
  }
  return last[second.length]
}

// Return the stems that are nearest to a word which no page has, in case that it is misspelled.
function correct(word, words) {
  let least = word.length > 7 ? 2 : 1
  let nearest = []
  if (word.length < 5 || /\d/.test(word)) return nearest
  for (const [key, { forms }] of words)
    for (const form of forms) {
      const apart = measure(word, form, least)
      if (apart < least) nearest = []
      if (apart <= least) nearest.push(key)
      least = Math.min(least, apart)
    }
  return nearest
}

// Return the stems of the index that a typed word may mean, each with a weight: its own, those of words that mean the
// same, those of longer words, or, if there is none of these, the nearest ones, which may be wrong.
function widen(word, words, isName = false) {
  const key = stem(word), weights = new Map()
  const add = (other, weight) => words.has(other) && weights.set(other, Math.max(weight, weights.get(other) ?? 0))
  add(key, 1)
  for (const other of meanings.get(key) ?? []) add(other, weights.has(key) ? 0.5 : 0.9)
  const weight = weights.size ? 0.4 : 0.8
  if (word.length > 3)
    for (const [other, { forms }] of words) if (other !== key && other.startsWith(word) && (isName || forms.size)) add(other, weight)
  if (!weights.size && !isName) for (const other of correct(word, words)) add(other, guess)
  return weights
}

// Return the terms of the typed text, without those that no page has: the stems that a word may mean, with weights, how
// much it tells, which is more for a word of fewer pages, and its label if the theme may list it as missing.
function parse(typed, { words, pages, parsed }) {
  if (parsed.has(typed)) return parsed.get(typed)
  const terms = []
  parsed.set(typed, terms)
  const add = (word, { label = "", share = 1, isName = false } = {}) => {
    const stems = widen(word, words, isName)
    const having = new Set()
    for (const [key, weight] of stems) if (weight >= guess) for (const page of words.get(key).pages) having.add(page)
    if (stems.size) terms.push({ label, stems, tells: share * Math.log(1 + pages.size / having.size) })
  }
  drop(read(typed), isQuiet).forEach(({ written, whole, parts }, i, all) => {
    const known = words.has(stem(whole))
    add(whole, { label: written, isName: parts.length > 0 })
    for (const part of parts) if (!prefixes.has(part)) add(part, known ? { share: 0.3 } : { label: part })
    const next = all[i + 1]
    const joined = next && !parts.length && !next.parts.length ? whole + next.whole : ""
    if (joined.length > 5 && words.has(stem(joined))) add(joined, { share: 0.5 })
  })
  return terms
}

// Return the worker's query for the typed text: all words of the index that it may mean. A query that uses the worker's
// own signs, such as a phrase in quotes, is unchanged.
export function ask(typed, learned) {
  if (/"|\w\*(?:\s|$)|\w[~^]\d|(?:^|\s)[+-]\w/.test(typed)) return typed
  const forms = new Set()
  for (const { stems } of parse(typed, learned))
    for (const [key, weight] of stems) {
      const { forms: plain, names } = learned.words.get(key)
      for (const form of weight >= guess ? [...plain, ...names] : plain) forms.add(form)
    }
  if (!forms.size) for (const { whole } of read(typed)) forms.add(whole)
  return [...forms].map((form) => `${form}^1`).join(" ")
}

// Return how well a section answers the terms: readers' words for it count most, then its title, then its text.
function rate(section, terms) {
  let score = 0
  for (const { stems, tells } of terms) {
    let best = 0
    for (const [key, weight] of stems) {
      const title = section.title.has(key) ? (section.leads ? 7 : 2) / section.title.size ** 0.4 : 0
      const times = section.text.get(key) ?? 0
      best = Math.max(best, weight * (title + (0.8 * times) / (times + 1)))
    }
    score += tells * best
  }
  return score + 8 * Math.max(0, ...section.phrases.map((phrase) => compare(phrase, terms)))
}

// Return how much a phrase and the terms tell together; a phrase of which words are missing counts less.
function compare({ stems: phrase, joined }, terms) {
  let told = 0, met = 0
  for (const { stems, tells } of terms) {
    let best = 0, most = 0
    for (const [key, weight] of stems) {
      if (!phrase.has(key) && !joined.has(key)) continue
      best = Math.max(best, weight)
      most = Math.max(most, weight * (joined.get(key) ?? 1))
    }
    told += tells * best
    met += most
  }
  return told * Math.min(1, met / phrase.size) ** 1.5
}

// Return how well a page's whole text answers the terms, and the share of the terms that the page has.
function rateText({ counts, size, named }, terms, averageSize) {
  let score = 0, met = 0
  for (const { stems, tells } of terms) {
    let times = 0, best = 0
    for (const [key, weight] of stems) {
      times += weight * (counts.get(key) ?? 0)
      if (counts.has(key) || named.has(key)) best = Math.max(best, weight)
    }
    score += (tells * times) / (times + 1.4 + (0.6 * size) / averageSize)
    met += tells * best
  }
  return { score, met: met / (terms.reduce((sum, { tells }) => sum + tells, 0) || 1) }
}

// Sort the pages of a result, and the matching sections of each page, and give each section the score and the missing
// words that the theme shows. The rank of a page is that of its best section, of its beginning and of its text; a page
// that lacks a word counts less, and what is called as typed comes first.
export function order(groups, typed, learned) {
  const terms = parse(typed, learned)
  // `The pipeline` is called `pipeline`.
  const name = (text) => drop(read(text), isQuiet).map(({ written }) => written).join(" ")
  const wanted = name(typed)
  const averageSize = [...learned.pages.values()].reduce((sum, { size }) => sum + size, 0) / learned.pages.size || 1
  const rank = (group) => {
    const [page] = group[0].location.split("#")
    for (const item of group) {
      const section = learned.sections.get(item.location)
      const named = name(item.title) === wanted ? 6 : 1
      item.score = rate(section, terms) * named * Math.sqrt(section.boost)
      item.terms = listFound(section, terms)
    }
    const lead = group.find(({ location }) => location === page)?.score ?? 0
    const text = rateText(learned.pages.get(page), terms, averageSize)
    return (Math.max(...group.map(({ score }) => score)) + 0.6 * lead + 1.2 * text.score) * text.met ** 1.5
  }
  return groups
    .map((group) => [rank(group), group.sort((a, b) => b.score - a.score)])
    .sort(([a], [b]) => b - a)
    .map(([, group]) => group)
}

// Return for each typed word whether a section has it, in any form.
function listFound({ title, text, phrases }, terms) {
  const has = (key) => title.has(key) || text.has(key) || phrases.some(({ stems, joined }) => stems.has(key) || joined.has(key))
  return Object.fromEntries(terms.filter(({ label }) => label).map(({ label, stems }) => [label, [...stems.keys()].some(has)]))
}

// Return the text to show for a result: the sentences that match, or, if only a list of words matches, the beginning of
// the section. `begins` has these beginnings by address.
export function show(item, begins) {
  const text = item.text.replace(/<sub>.*?(<\/sub>|$)/gs, "")
  return { ...item, text: text || begins.get(item.location) || "" }
}
