#include "report/page.h"

#include <fmt/format.h>

#include "export/chart/markup.h"
#include "export/chart/svg.h"
#include "report/flame.h"

namespace sonde {
namespace {

constexpr char kStyle[] = R"(
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#57606a;--paper:#fff;
--card:#f6f8fa;--edge:#d0d7de;--link:#0a58a8;--warn:#8a4600;--crit:#a40e26;
--info:#0a58a8}
@media (prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#a3adb8;
--paper:#14171c;--card:#1c2128;--edge:#373e47;--link:#79b8ff;--warn:#f0a04b;
--crit:#ff7b86;--info:#79b8ff}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1080px;padding:20px;color:var(--ink);
background:var(--paper);font:15px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif}
h1{font-size:1.5rem;line-height:1.3;margin:.2em 0}
h2{font-size:1.15rem;margin:2em 0 .5em}
h3{font-size:1rem;margin:0}
p{margin:.4em 0}
code,.command{font-family:ui-monospace,Menlo,Consolas,monospace;font-size:.9em;
overflow-wrap:anywhere}
.soft{color:var(--soft)}
.card{background:var(--card);border:1px solid var(--edge);border-radius:8px;
padding:12px 16px;margin:12px 0;overflow-wrap:anywhere}
.card h2{margin-top:0}
.lost{border-left:6px solid var(--crit)}
.verdict{border-left:6px solid var(--info)}
.verdict.warning{border-left-color:var(--warn)}
.verdict.critical{border-left-color:var(--crit)}
.badge{display:inline-block;border:1px solid currentColor;border-radius:10px;
padding:0 8px;font-size:.8rem}
.badge.warning{color:var(--warn)}.badge.critical{color:var(--crit)}
.badge.info{color:var(--info)}
dl.tiles{display:grid;grid-template-columns:repeat(auto-fill,minmax(150px,1fr));
gap:10px;margin:12px 0}
dl.tiles div{background:var(--card);border:1px solid var(--edge);
border-radius:8px;padding:8px 12px}
dl.tiles dt{color:var(--soft);font-size:.8rem}
dl.tiles dd{margin:0;font-size:1.15rem;font-weight:600}
svg.sonde-chart{display:block;width:100%;height:auto;margin:14px 0}
.table{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums;
font-size:.9rem}
th,td{padding:4px 8px;border-bottom:1px solid var(--edge);text-align:right;
white-space:nowrap}
th:first-child,td:first-child{text-align:left;white-space:normal;
overflow-wrap:anywhere;min-width:14em}
th button{font:inherit;font-weight:600;color:inherit;background:none;border:0;
padding:0;cursor:pointer}
th button:hover,th button:focus-visible{text-decoration:underline}
th[aria-sort=descending] button::after{content:" \2193"}
th[aria-sort=ascending] button::after{content:" \2191"}
tbody tr:hover{background:var(--card)}
summary{cursor:pointer;font-weight:600;margin:1em 0 .5em}
table.source td,table.source th{text-align:right;padding:0 8px;border:0}
table.source td:first-child,table.source th:first-child{min-width:0;
text-align:right;white-space:nowrap;overflow-wrap:normal;color:var(--soft)}
table.source td:last-child,table.source th:last-child{text-align:left;
width:100%;white-space:pre}
table.source .hot td:nth-child(2){font-weight:700}
table.source .hot{background:var(--card)}
footer{margin:3em 0 1em;color:var(--soft);font-size:.85rem}
@media print{body{max-width:none}details{display:block}}
)";

constexpr char kScript[] = R"(
for (const button of document.querySelectorAll("th button"))
  button.addEventListener("click", () => {
    const th = button.parentNode, body = th.closest("table").tBodies[0];
    const at = th.cellIndex, down = th.ariaSort !== "descending";
    for (const other of th.parentNode.cells) other.removeAttribute("aria-sort");
    th.setAttribute("aria-sort", down ? "descending" : "ascending");
    const value = row => {
      const cell = row.cells[at], number = cell.dataset.v;
      return number === undefined ? cell.textContent : Number(number);
    };
    const order = (a, b) => a < b ? -1 : a > b ? 1 : 0;
    [...body.rows].sort((a, b) => order(value(a), value(b)) * (down ? -1 : 1))
      .forEach(row => body.append(row));
  });
)";

// Of kScript and FlameScript(). tests/e2e/pictures_test.py says which one it
// must be.
constexpr char kScriptHash[] = "VYSdeyriKsIEr8/3eOaydKmAKpu3GVd33ewdPJeLsAw=";

}  // namespace

std::string PageHead(const std::string& title) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
      "'none'; style-src 'unsafe-inline'; script-src 'sha256-{}'; base-uri "
      "'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<title>{}</title>\n<style>{}{}{}</style>\n</head>\n<body>\n",
      kScriptHash, Escaped(title), kStyle, SvgStyle(), FlameStyle());
}

std::string PageScript() {
  return fmt::format("<script>{}{}</script>\n", kScript, FlameScript());
}

}  // namespace sonde
