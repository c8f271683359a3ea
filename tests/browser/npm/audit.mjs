// Show pages to Lighthouse, one after the other in one browser: node audit.mjs CHROMIUM ADDRESS...
// Prints for each address what does not have full marks: the name of the audit and the first places. Speed is left out,
// and with it most of the waiting.
import { launch } from "chrome-launcher"
import lighthouse from "lighthouse"

const [chromePath, ...addresses] = process.argv.slice(2)
const quiet = ["--disable-background-networking", "--disable-component-update", "--disable-quic"]
const chrome = await launch({ chromePath, chromeFlags: ["--headless=new", "--no-sandbox", ...quiet] })
const settings = {
  port: chrome.port,
  logLevel: "error",
  onlyCategories: ["accessibility", "best-practices", "seo"],
  disableFullPageScreenshot: true,
  pauseAfterFcpMs: 0,
  pauseAfterLoadMs: 0,
  networkQuietThresholdMs: 0,
  cpuQuietThresholdMs: 0,
}
const found = {}
try {
  for (const address of addresses) {
    const { lhr } = await lighthouse(address, settings)
    const counted = Object.values(lhr.categories).flatMap(category => category.auditRefs.filter(audit => audit.weight))
    const audits = [...new Set(counted.map(({ id }) => lhr.audits[id]))]
    const failed = audits.filter(({ score }) => score !== null && score < 1)
    const show = ({ id, details }) => `${id}: ${JSON.stringify(details?.items ?? []).slice(0, 400)}`
    found[address] = lhr.runtimeError ? [lhr.runtimeError.message] : failed.map(show)
  }
} finally {
  chrome.kill()
}
console.log(JSON.stringify(found))
