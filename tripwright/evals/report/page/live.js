// The body is drawn on the server; the page only asks for a new one when there is one. No library, nothing from elsewhere.

let seen = "";
const main = document.querySelector("main"), state = document.querySelector("header p.muted");
async function look() {
  try {
    const asked = new URLSearchParams(location.search);
    asked.set("seen", seen);
    const answer = await fetch("now?" + asked, {cache: "no-store"});
    if (answer.status === 200) {
      const body = await answer.text();
      main.innerHTML = body;
      seen = answer.headers.get("X-Seen") || "";
    }
    state.textContent = "Looked at " + new Date().toLocaleTimeString() + ".";
  } catch (error) {
    state.textContent = "The server has stopped. What is shown is the last it sent.";
  }
  setTimeout(look, 3000);
}
look();
