// Light or dark: as the system has it, until one is chosen; the choice is kept where the browser allows it.

const root = document.documentElement;
const THEMES = {"": "System colours", light: "Light", dark: "Dark"};
const KEY = "tripwright-theme";

function remembered() { try { return localStorage.getItem(KEY) || ""; } catch { return ""; } }
function remember(theme) { try { localStorage.setItem(KEY, theme); } catch { /* a page without storage forgets the choice */ } }

const button = document.createElement("button");
button.type = "button";
button.className = "theme";
function apply(theme) {
  if (theme in THEMES && theme) root.dataset.theme = theme;
  else delete root.dataset.theme;
  button.textContent = THEMES[theme in THEMES ? theme : ""];
  button.setAttribute("aria-label", `Colours: ${button.textContent}. Press to change.`);
}
button.addEventListener("click", () => {
  const names = Object.keys(THEMES);
  const next = names[(names.indexOf(root.dataset.theme || "") + 1) % names.length];
  apply(next);
  remember(next);
});
apply(remembered());
document.querySelector("header").prepend(button);

// A table that is wider than its place says that it scrolls, and the keyboard can scroll it.
for (const box of document.querySelectorAll(".scroll")) {
  const tell = () => {
    const wider = box.scrollWidth > box.clientWidth + 1;
    box.classList.toggle("wider", wider);
    if (wider) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  };
  new ResizeObserver(tell).observe(box);
}
