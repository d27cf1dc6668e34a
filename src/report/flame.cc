#include "report/flame.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "export/chart/markup.h"
#include "store/stack_tree.h"

namespace sonde {
namespace {

constexpr size_t kMostPageBoxes = 1500;
constexpr size_t kBoxNameChars = 120;
constexpr int kRowPixels = 18;

constexpr char kFlameLook[] = R"(
.flame-view{max-height:620px;overflow:auto;border:1px solid var(--edge);
border-radius:8px}
.flame,.flame-key{--python:#ffd58a;--native:#a9d1f5;--other:#b8e0b4;
--unknown:#c3c9d0;--frame:#e4e8ec;--hit:#e7b3f5}
.flame{position:relative;min-width:600px}
.flame-key span{border-radius:4px;padding:0 6px}
.flame-tools[hidden]{display:none}
.flame-tools{display:flex;flex-wrap:wrap;gap:12px;align-items:center;margin:8px 0}
.flame-tools input,.flame-tools button{font:inherit;color:inherit;
background:var(--card);border:1px solid var(--edge);border-radius:6px;
padding:2px 8px}
.flame button{position:absolute;height:17px;margin:0;padding:0;border:0;
box-shadow:inset -1px 0 var(--paper);overflow:hidden;white-space:nowrap;
text-overflow:ellipsis;text-align:left;text-indent:3px;color:var(--ink);
cursor:pointer;font:11px/17px ui-monospace,Menlo,Consolas,monospace}
.flame button[hidden]{display:none}
.flame .python,.flame-key .python{background:var(--python)}
.flame .native,.flame-key .native{background:var(--native)}
.flame .other,.flame-key .other{background:var(--other)}
.flame .unknown,.flame-key .unknown{background:var(--unknown)}
.flame .frame{background:var(--frame)}
.flame .above{filter:saturate(.4)}
.flame .hit{background:var(--hit)}
.flame button:hover,.flame button:focus-visible{outline:2px solid var(--link);
outline-offset:-2px;z-index:1}
.flame-told{min-height:1.5em;overflow-wrap:anywhere}
@media (prefers-color-scheme:dark){.flame,.flame-key{--python:#6b4a00;
--native:#1f4e79;--other:#24562a;--unknown:#4a525c;--frame:#2a3038;--hit:#7a2f8f}}
)";

constexpr char kFlameZoom[] = R"(
for (const flame of document.querySelectorAll(".flame")) {
  const boxes = [...flame.children], up = boxes.map(b => Number(b.dataset.p));
  const x = boxes.map(b => parseFloat(b.style.left));
  const w = boxes.map(b => parseFloat(b.style.width));
  const [tools] = flame.parentNode.parentNode.getElementsByClassName("flame-tools");
  const [told] = flame.parentNode.parentNode.getElementsByClassName("flame-told");
  const [find, back, found] = tools.querySelectorAll("input, button, output");
  // Parents come before what is in them.
  const inside = (i, j) => {
    while (i > j) i = up[i];
    return i === j;
  };
  const zoom = at => {
    boxes.forEach((box, i) => {
      const above = i !== at && inside(at, i);
      box.hidden = !above && !inside(i, at);
      box.classList.toggle("above", above);
      box.style.left = above ? "0%" : (x[i] - x[at]) / w[at] * 100 + "%";
      box.style.width = above ? "100%" : w[i] / w[at] * 100 + "%";
    });
    back.hidden = at === 0;
  };
  const go = to => {
    for (const box of boxes) box.tabIndex = -1;
    boxes[to].tabIndex = 0;
    boxes[to].focus();
  };
  const beside = (at, step) => {
    const row = boxes.map((_, i) => i).filter(i =>
      !boxes[i].hidden && boxes[i].style.top === boxes[at].style.top)
      .sort((a, b) => x[a] - x[b]);
    return row[row.indexOf(at) + step];
  };
  const moves = {
    ArrowUp: at => up[at],
    ArrowDown: at => boxes.findIndex((b, i) => i > 0 && up[i] === at && !b.hidden),
    ArrowLeft: at => beside(at, -1),
    ArrowRight: at => beside(at, 1),
  };
  const show = event => {
    if (event.target.title) told.textContent = event.target.title;
  };
  flame.addEventListener("click", event => {
    const at = boxes.indexOf(event.target);
    if (at < 0) return;
    zoom(at);
    go(at);
  });
  flame.addEventListener("keydown", event => {
    const at = boxes.indexOf(event.target);
    if (event.key === "Escape") zoom(0);
    if (at < 0 || !moves[event.key]) return;
    event.preventDefault();
    const to = moves[event.key](at);
    if (to >= 0) go(to);
  });
  flame.addEventListener("focusin", show);
  flame.addEventListener("pointerover", show);
  back.addEventListener("click", () => {
    zoom(0);
    go(0);
  });
  find.addEventListener("input", () => {
    const word = find.value.trim().toLowerCase(), hit = [], under = [];
    let count = 0, share = 0;
    boxes.forEach((box, i) => {
      hit[i] = word !== "" && box.textContent.toLowerCase().includes(word);
      under[i] = i > 0 && (hit[up[i]] || under[up[i]]);
      box.classList.toggle("hit", hit[i]);
      count += hit[i];
      if (hit[i] && !under[i]) share += w[i];
    });
    found.textContent = word === "" ? "" :
      `${count} ${count === 1 ? "box" : "boxes"}, ${share.toFixed(1)} % of the time`;
  });
  tools.hidden = false;
}
)";

}  // namespace

std::string FlameSection(const Store& store,
                         const std::vector<StackSum>& sums) {
  const std::vector<FlameBox> boxes =
      FlameBoxesOf(StackTree(store, sums), kMostPageBoxes, 0);
  uint32_t deepest = 0;
  for (const FlameBox& box : boxes) deepest = std::max(deepest, box.depth);
  std::string out =
      "<section>\n<h2>Where the CPU time went</h2>\n"
      "<p class=\"soft\">From the top: all, processes, threads, functions from "
      "the outermost in. Widths are CPU time; a line is the one with most of "
      "it.</p>\n<p class=\"flame-key\"><span class=\"python\">Python</span> "
      "<span class=\"native\">native</span> <span "
      "class=\"other\">other</span> <span class=\"unknown\">not "
      "known</span></p>\n"
      "<div class=\"flame-tools\" hidden><label>Search <input "
      "type=\"search\" spellcheck=\"false\"></label><button type=\"button\" "
      "hidden>Show all</button><output></output></div>\n"
      "<div class=\"flame-view\">\n";
  fmt::format_to(std::back_inserter(out),
                 "<div class=\"flame\" role=\"group\" aria-label=\"Flame graph "
                 "of the CPU time\" style=\"height:{}px\">\n",
                 kRowPixels * (deepest + 1));
  const double whole =
      static_cast<double>(std::max<uint64_t>(1, boxes[0].ns)) / 100;
  for (size_t i = 0; i < boxes.size(); ++i) {
    const FlameBox& box = boxes[i];
    const std::string name = Escaped(Printable(box.name, kBoxNameChars));
    fmt::format_to(
        std::back_inserter(out),
        "<button type=\"button\" class=\"{}\" data-p=\"{}\" tabindex=\"{}\" "
        "style=\"left:{:.4f}%;width:{:.4f}%;top:{}px\" title=\"{}: "
        "{}\">{}</button>\n",
        NameOf(box.look), box.parent, i == 0 ? 0 : -1,
        static_cast<double>(box.from_ns) / whole,
        static_cast<double>(box.ns) / whole, kRowPixels * box.depth, name,
        FlameBoxText(box, boxes[0]), name);
  }
  return out + "</div></div>\n<p class=\"soft flame-told\"></p>\n</section>\n";
}

std::string FlameStyle() { return kFlameLook; }

std::string FlameScript() { return kFlameZoom; }

}  // namespace sonde
